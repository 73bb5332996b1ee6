package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests compare with: golden files, deploy/CONFIG.md, deploy/config.schema.json")

// noEnv is an empty environment.
func noEnv(string) (string, bool) { return "", false }

// vars is an environment of names and values in turn.
func vars(pairs ...string) Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

const examplePath = "../../../deploy/config.example.yaml"

// golden compares got with the file at path, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./cmd/internal/config -update writes it):\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return names
}

// TestBad holds each bad file to its findings: all at once, in the order of the
// lines, each with its place and what to do.
func TestBad(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse("cdc.yaml", data, noEnv)
			if err == nil {
				t.Fatal("accepted")
			}
			findings, ok := err.(Findings)
			if !ok {
				t.Fatalf("not Findings: %T", err)
			}
			for _, f := range findings {
				if f.Problem == "" || f.Do == "" || f.Code() == "" || f.Fix() == "" {
					t.Errorf("finding isn't complete: %+v", f)
				}
				if strings.Contains(f.Error(), "hunter2") {
					t.Errorf("finding holds the secret: %v", f)
				}
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", []byte(err.Error()+"\n"))
		})
	}
}

// TestGood decodes the files that show every notation.
func TestGood(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.yaml") {
		c, err := Load(path, noEnv)
		if err != nil {
			t.Errorf("%s:\n%v", path, err)
			continue
		}
		golden(t, strings.TrimSuffix(path, ".yaml")+".golden", dump(c))
	}
}

// dump writes all fields, one a line.
func dump(c *Config) []byte {
	var b bytes.Buffer
	eachLeaf(c, func(path, value string) { fmt.Fprintf(&b, "%s: %s\n", path, value) })
	return b.Bytes()
}

// TestExample decodes the copy of the example in deploy, and finds every key of
// the file form in it.
func TestExample(t *testing.T) {
	c, err := Load(examplePath, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/example.golden", dump(c))
	for path := range allKeys() {
		switch {
		case c.Sets(path):
		case strings.HasPrefix(path, "tables[]"):
		default:
			t.Errorf("the example doesn't show %s", path)
		}
	}
}

// TestNotYet shows what each service refuses of the example when it runs.
func TestNotYet(t *testing.T) {
	c, err := Load(examplePath, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Service{Publisher, Sink} {
		golden(t, "testdata/notyet-"+string(s)+".golden", []byte(c.NotYet(s, "cdc.yaml").Error()+"\n"))
	}
	for _, s := range []Service{Publisher, Sink} {
		c, err := Load("testdata/good/minimal.yaml", noEnv)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.NotYet(s, "cdc.yaml"); err != nil {
			t.Errorf("%s refuses the minimal file: %v", s, err)
		}
	}
}

// acted are the keys that this version acts on, with the service that does.
var acted = map[string]string{
	"version": "both", "database": "both",
	"source.dsn": "publisher", "source.slot": "publisher", "source.publication.name": "publisher",
	"source.state": "publisher", "source.window": "publisher",
	"pubsub.project": "both", "pubsub.region": "both", "pubsub.retention": "publisher",
	"pubsub.ordered.topic": "both", "pubsub.ordered.subscription": "both",
	"pubsub.ordered.attempt_timeout": "publisher", "pubsub.ordered.max_in_flight": "publisher",
	"pubsub.dead_letter.topic": "both", "pubsub.dead_letter.subscription": "publisher",
	"pubsub.max_outstanding.messages": "sink", "pubsub.max_outstanding.bytes": "sink",
	"pubsub.lease.min": "sink", "pubsub.lease.max": "sink",
	"bigquery.project": "sink", "bigquery.location": "sink", "bigquery.dataset": "sink",
	"bigquery.table": "sink", "bigquery.max_staleness": "sink",
	"bigquery.batch.rows": "sink", "bigquery.batch.bytes": "sink",
	"tables[].match":   "publisher",
	"health.publisher": "publisher", "health.sink": "sink",
	"log.level": "both", "log.progress": "both",
}

// TestNoKeyIsIgnored holds every key of the file form to one of two lists: acted
// on, or refused by NotYet.
func TestNoKeyIsIgnored(t *testing.T) {
	refused := func(path string) bool {
		for _, l := range laters {
			if path == l.key || strings.HasPrefix(path, l.key+".") {
				return true
			}
		}
		for _, l := range laterOptions {
			for _, under := range []string{"defaults.", "tables[]."} {
				if path == under+l.key || strings.HasPrefix(path, under+l.key+".") {
					return true
				}
			}
		}
		return false
	}
	for path := range allKeys() {
		_, ok := acted[path]
		if ok == refused(path) {
			t.Errorf("%s: acted on: %v, refused: %v; want one of the two", path, ok, refused(path))
		}
	}
}

func TestMatch(t *testing.T) {
	c, err := Load(examplePath, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	orders, ok := c.Match("public", "orders")
	if !ok || orders.Mode != ModeBoth || orders.Ordering.Kind != OrderPrimaryKey || orders.BadValue != "dead_letter" {
		t.Errorf("public.orders: %v %+v", ok, orders)
	}
	events, ok := c.Match("audit", "events")
	if !ok || events.Snapshot != "none" || events.Mode != ModeCurrent {
		t.Errorf("audit.events: %v %+v", ok, events)
	}
	if _, ok := c.Match("public", "secrets"); ok {
		t.Error("public.secrets matched")
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, schema, name string
		want                  bool
	}{
		{"public.orders", "public", "orders", true},
		{"public.orders", "public", "orders2", false},
		{"*.*", "a", "b", true},
		{"public.*", "publi", "x", false},
		{"public.a*c*", "public", "abcd", true},
		{"public.a*a", "public", "a", false},
		{"public.*_20*", "public", "events_2026", true},
		{`"a.b"."*"`, "a.b", "*", true},
		{`"a.b"."*"`, "a.b", "c", false},
		{`x."q""q"`, "x", `q"q`, true},
		{"public.Orders", "public", "orders", false},
	} {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
		} else if got := p.Matches(tt.schema, tt.name); got != tt.want {
			t.Errorf("%s matches %s.%s: %v", tt.pattern, tt.schema, tt.name, got)
		}
	}
	for pattern, want := range map[string]string{"public.a*": "public.a*", `"public"."Orders"`: "public.Orders", `"a.b".c`: "", `a."*"`: ""} {
		if got, ok := must(ParsePattern(pattern)).Plain(); ok != (want != "") || ok && got != want {
			t.Errorf("%s without quotes is %s, %v", pattern, got, ok)
		}
	}
	if p := (Pattern{}); p.Matches("", "") {
		t.Error("the zero Pattern matches")
	}
}

func TestTableName(t *testing.T) {
	for _, tt := range []struct{ template, schema, name, want string }{
		{"{table}", "public", "orders", "orders"},
		{"{table}", "audit", "events", "audit_events"},
		{"cdc_{table}", "audit", "events", "cdc_audit_events"},
		{"{schema}-{table}", "public", "orders", "public-orders"},
		{"{table}", "public", "{schema}", "{schema}"},
	} {
		if got := (&BigQuery{Table: tt.template}).TableName(tt.schema, tt.name); got != tt.want {
			t.Errorf("%s of %s.%s is %s, want %s", tt.template, tt.schema, tt.name, got, tt.want)
		}
	}
}

func TestNotations(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Bytes
	}{{"8MiB", 8 << 20}, {"9MB", 9e6}, {"1.5GiB", 3 << 29}, {"0B", 0}, {"10KB", 10_000}} {
		if got, err := parseBytes(tt.text); err != nil || got != tt.want {
			t.Errorf("%s: %d %v", tt.text, got, err)
		}
		if got, err := parseBytes(tt.want.String()); err != nil || got != tt.want {
			t.Errorf("%s → %s → %d %v", tt.text, tt.want, got, err)
		}
	}
	for _, bad := range []string{"", "MiB", "8", "-1B", "8 MiB", "0.1B", "1e3B", "0x1B", "9000PiB", "NaNB", "InfB", "1_0B"} {
		if v, err := parseBytes(bad); err == nil {
			t.Errorf("size %q accepted as %d", bad, v)
		}
	}
	for _, bad := range []string{"", "0", "10", "d", "-1d", "1.5d", "200000000d", "1y"} {
		if v, err := parseDuration(bad); err == nil {
			t.Errorf("duration %q accepted as %s", bad, v)
		}
	}
}
