package cdc

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A technology is a group of packages from outside, named by the prefixes of their paths. A package that is in no group is
// refused: whoever brings it says here what it is and below who may use it.
var technologies = map[string][]string{
	"pgx":        {"github.com/jackc/"},
	"pubsub":     {"cloud.google.com/go/pubsub"},
	"bigquery":   {"cloud.google.com/go/bigquery", "google.golang.org/api/bigquery", "cloud.google.com/go/civil", "github.com/apache/arrow"},
	"google":     {"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto", "google.golang.org/api/", "cloud.google.com/go/iam"},
	"backoff":    {"github.com/googleapis/gax-go"},
	"x":          {"golang.org/x/sync", "golang.org/x/time"},
	"cobra":      {"github.com/spf13/"},
	"yaml":       {"github.com/goccy/go-yaml"},
	"jsonschema": {"github.com/invopop/jsonschema", "github.com/santhosh-tekuri/jsonschema"},
	"terminal":   {"golang.org/x/term", "github.com/vbauerster/mpb"},
	"cmp":        {"github.com/google/go-cmp"},
}

// A row says what a package may import besides the standard library. Its tests may import more: see testsMay.
type row struct {
	own  string // packages of this module, relative to it; "room/..." is a package and all below it
	tech string // technologies
}

// arrows is the whole architecture: every package of the module has a row, every row has a package. See ARCHITECTURE.md.
var arrows = map[string]row{
	".": {}, // the module's root: this test

	"schema":            {},
	"schema/schematest": {own: "schema"},

	"capture":          {own: "schema capture/pgoutput capture/confirm capture/catalog capture/state", tech: "pgx backoff x"},
	"capture/pgoutput": {own: "schema"},
	"capture/confirm":  {own: "schema"},
	"capture/catalog":  {own: "schema", tech: "pgx"},
	"capture/state":    {own: "schema", tech: "pgx"},

	"publish":       {own: "schema publish/queue", tech: "pubsub google backoff x"},
	"publish/queue": {},

	"sink":              {own: "schema sink/pull sink/storagewrite sink/tables sink/deadletter", tech: "bigquery google backoff x"},
	"sink/pull":         {own: "schema", tech: "pubsub google backoff x"},
	"sink/storagewrite": {own: "schema", tech: "bigquery google backoff x"},
	"sink/tables":       {own: "schema", tech: "bigquery google backoff x"},
	"sink/deadletter":   {own: "schema", tech: "pubsub google backoff x"},

	// Stand-ins know nothing of us: they follow the services' documentation.
	"capture/postgrestest": {tech: "pgx"},
	"publish/pubsubtest":   {own: "deploy/local/control", tech: "pubsub google"},
	"sink/bigquerytest":    {own: "deploy/local/control", tech: "bigquery google"},
	// The control endpoint that both serve. It knows nothing of us either; it stands here because the top level is fixed.
	"deploy/local/control": {tech: "google"},

	// Tests only: Pub/Sub's documents against several servers, and our two ends on each of them.
	"publish/pubsubtest/conformance": {own: "publish sink/pull"},

	"sink/bigquerytest/conformance": {}, // tests only

	"cmd/internal/config":  {own: "schema", tech: "yaml jsonschema"},
	"cmd/internal/service": {own: "cmd/internal/config", tech: "cobra terminal x"},
	// Which endpoint and credentials: options of the transport, no client.
	"cmd/cdc-publisher": {own: "schema capture/... publish cmd/internal/...", tech: "cobra google x"},
	"cmd/cdc-sink":      {own: "schema sink/... publish cmd/internal/...", tech: "cobra google x"},

	// It runs benchmarks of others; it imports none of them.
	"deploy/figures": {tech: "cobra"},

	// The demo looks at the services from outside: as processes.
	"deploy/local":       {own: "deploy/local/stack deploy/local/alone", tech: "cobra terminal x"},
	"deploy/local/alone": {own: standIns, tech: "x"},
	"deploy/local/stack": {own: "schema " + standIns, tech: everything},

	// The simulation drives the pure machines; sink/pull brings its client along.
	"deploy/sim": {own: "schema schema/schematest capture/confirm publish/queue sink/pull", tech: "cobra"},
}

const (
	standIns   = "schema/schematest capture/postgrestest publish/pubsubtest sink/bigquerytest"
	everything = "pgx pubsub bigquery google backoff x"
)

// testsMay is what tests may import besides their package and its row: the stand-ins, and each technology, to look from
// outside. schema's tests stay out of all that: its contract must be testable without any of them.
func testsMay(name string, r row) row {
	if name == "schema" {
		return row{own: "schema schema/schematest", tech: "cmp"}
	}
	own, tech := r.own+" "+name+" schema deploy/local/control "+standIns, r.tech+" cmp "+everything
	if strings.HasPrefix(name, "deploy/") {
		own += " deploy/local/stack deploy/local/alone"
	}
	if strings.HasPrefix(name, "cmd/") {
		tech += " jsonschema"
	}
	return row{own: own, tech: tech}
}

// A pkg is what the checker needs to know of one package.
type pkg struct {
	name               string // relative to the module
	doc                bool   // has a package comment
	onlyTests          bool
	imports, inItsTest []string
}

// findings returns every import that no arrow allows, every package without a row or comment, every row without a package.
func findings(table map[string]row, pkgs []pkg) []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for _, p := range pkgs {
		seen[p.name] = true
		if !p.doc && !p.onlyTests {
			say("%s has no package comment", p.name)
		}
		r, ok := table[p.name]
		if !ok {
			say("%s is not in the table of arrows", p.name)
			continue
		}
		for _, path := range p.imports {
			if why := refused(r, path); why != "" {
				say("%s imports %s: %s", p.name, path, why)
			}
		}
		for _, path := range p.inItsTest {
			if why := refused(testsMay(p.name, r), path); why != "" {
				say("a test of %s imports %s: %s", p.name, path, why)
			}
		}
	}
	for name := range table {
		if !seen[name] {
			say("%s is in the table of arrows, but there is no such package", name)
		}
	}
	slices.Sort(found)
	return found
}

// refused says why the row doesn't allow the import; "" when it does.
func refused(r row, imported string) string {
	if first, rest, _ := strings.Cut(imported, "/"); first == "cdc" {
		if slices.ContainsFunc(strings.Fields(r.own), func(allowed string) bool {
			room, below := strings.CutSuffix(allowed, "/...")
			return rest == room || below && strings.HasPrefix(rest, room+"/") && !slices.Contains(strings.Fields(standIns), rest)
		}) {
			return ""
		}
		return "no arrow"
	} else if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for name, prefixes := range technologies {
		if slices.ContainsFunc(prefixes, func(prefix string) bool {
			return strings.HasPrefix(imported, prefix) && !moreSpecific(prefix, imported)
		}) {
			if slices.Contains(strings.Fields(r.tech), name) {
				return ""
			}
			return "no use of " + name + " here"
		}
	}
	return "belongs to no technology of the table"
}

// moreSpecific says whether a longer prefix of another technology fits: google.golang.org/api/bigquery is BigQuery's client.
func moreSpecific(prefix, imported string) bool {
	for _, prefixes := range technologies {
		for _, other := range prefixes {
			if len(other) > len(prefix) && strings.HasPrefix(imported, other) {
				return true
			}
		}
	}
	return false
}

// packages reads every Go file of the module, also those for other systems. Folders with a go.mod of their own aren't ours.
func packages(root string) ([]pkg, error) {
	byName := map[string]*pkg{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file == root {
				return nil
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil || name == "testdata" || name[0] == '.' || name[0] == '_' {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		return addFile(byName, path.Dir(filepath.ToSlash(rel)), file)
	})
	var pkgs []pkg
	for _, p := range byName {
		pkgs = append(pkgs, *p)
	}
	return pkgs, err
}

func addFile(byName map[string]*pkg, name, file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	p := byName[name]
	if p == nil {
		p = &pkg{name: name, onlyTests: true}
		byName[name] = p
	}
	var imports []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		imports = append(imports, imported)
	}
	if strings.HasSuffix(file, "_test.go") {
		p.inItsTest = append(p.inItsTest, imports...)
		return nil
	}
	p.onlyTests = false
	p.doc = p.doc || strings.TrimSpace(parsed.Doc.Text()) != ""
	p.imports = append(p.imports, imports...)
	return nil
}

func TestArrows(t *testing.T) {
	pkgs, err := packages(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings(arrows, pkgs) {
		t.Error(finding)
	}
}

// The checker finds what it is for.
func TestArrowsFindsBreaches(t *testing.T) {
	table := map[string]row{
		"schema": arrows["schema"], "capture": arrows["capture"], "capture/confirm": arrows["capture/confirm"],
		"publish": arrows["publish"], "sink/pull": arrows["sink/pull"], "cmd/cdc-sink": arrows["cmd/cdc-sink"],
	}
	sound := func() map[string]*pkg {
		pkgs := map[string]*pkg{}
		for name := range table {
			pkgs[name] = &pkg{name: name, doc: true, imports: []string{"context", "go/ast"}}
		}
		pkgs["capture"].imports = append(pkgs["capture"].imports, "cdc/schema", "cdc/capture/confirm", "github.com/jackc/pgx/v5/pgconn")
		pkgs["sink/pull"].imports = append(pkgs["sink/pull"].imports, "cloud.google.com/go/pubsub/v2/apiv1", "google.golang.org/api/option")
		pkgs["cmd/cdc-sink"].imports = append(pkgs["cmd/cdc-sink"].imports, "cdc/sink", "cdc/sink/pull", "cdc/cmd/internal/config", "cdc/publish")
		pkgs["publish"].inItsTest = []string{"cdc/publish", "cdc/publish/pubsubtest", "cdc/schema/schematest", "github.com/google/go-cmp/cmp"}
		return pkgs
	}
	run := func(pkgs map[string]*pkg) []string {
		var list []pkg
		for _, p := range pkgs {
			list = append(list, *p)
		}
		return findings(table, list)
	}
	if got := run(sound()); len(got) > 0 {
		t.Fatalf("found in a sound module: %q", got)
	}
	imports := func(name, path string) func(map[string]*pkg) {
		return func(pkgs map[string]*pkg) { pkgs[name].imports = append(pkgs[name].imports, path) }
	}
	tests := func(name, path string) func(map[string]*pkg) {
		return func(pkgs map[string]*pkg) { pkgs[name].inItsTest = append(pkgs[name].inItsTest, path) }
	}
	for want, plant := range map[string]func(map[string]*pkg){
		"schema imports github.com/google/uuid: belongs to no technology of the table": imports("schema", "github.com/google/uuid"),
		"schema imports golang.org/x/sync/errgroup: no use of x here":                  imports("schema", "golang.org/x/sync/errgroup"),
		"schema imports cdc/capture: no arrow":                                         imports("schema", "cdc/capture"),
		"capture imports cdc/publish: no arrow":                                        imports("capture", "cdc/publish"),
		"capture imports cdc/capture/postgrestest: no arrow":                           imports("capture", "cdc/capture/postgrestest"),
		"capture imports cloud.google.com/go/pubsub/v2: no use of pubsub here":         imports("capture", "cloud.google.com/go/pubsub/v2"),
		"capture/confirm imports cdc/capture: no arrow":                                imports("capture/confirm", "cdc/capture"),
		"capture/confirm imports github.com/jackc/pglogrepl: no use of pgx here":       imports("capture/confirm", "github.com/jackc/pglogrepl"),
		"publish imports github.com/jackc/pgx/v5: no use of pgx here":                  imports("publish", "github.com/jackc/pgx/v5"),
		"sink/pull imports cdc/sink/tables: no arrow":                                  imports("sink/pull", "cdc/sink/tables"),
		"sink/pull imports google.golang.org/api/bigquery/v2: no use of bigquery here": imports("sink/pull", "google.golang.org/api/bigquery/v2"),
		"sink/pull imports github.com/spf13/cobra: no use of cobra here":               imports("sink/pull", "github.com/spf13/cobra"),
		"cmd/cdc-sink imports cdc/capture: no arrow":                                   imports("cmd/cdc-sink", "cdc/capture"),
		"cmd/cdc-sink imports cdc/sink/bigquerytest: no arrow":                         imports("cmd/cdc-sink", "cdc/sink/bigquerytest"),
		"cmd/cdc-sink imports cdc/sinkhole: no arrow":                                  imports("cmd/cdc-sink", "cdc/sinkhole"),
		"a test of publish imports cdc/capture: no arrow":                              tests("publish", "cdc/capture"),
		"a test of schema imports cdc/capture/postgrestest: no arrow":                  tests("schema", "cdc/capture/postgrestest"),
		"capture has no package comment":                                               func(pkgs map[string]*pkg) { pkgs["capture"].doc = false },
		"capture/confirm is in the table of arrows, but there is no such package":      func(pkgs map[string]*pkg) { delete(pkgs, "capture/confirm") },
		"util is not in the table of arrows":                                           func(pkgs map[string]*pkg) { pkgs["util"] = &pkg{name: "util", doc: true} },
	} {
		pkgs := sound()
		plant(pkgs)
		if got := run(pkgs); len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The reader sees the files: all systems, tests, comments, and not another module's.
func TestPackagesReadsFiles(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"a/a.go":          "package a\n\nimport \"context\"\n",
		"a/a_plan9.go":    "// Package a is for Plan 9.\npackage a\n\nimport \"cdc/schema\"\n",
		"a/a_test.go":     "package a_test\n\nimport \"testing\"\n",
		"b/b_test.go":     "package b\n",
		"tools/go.mod":    "module tools\n",
		"tools/t.go":      "package tools\n",
		"a/testdata/x.go": "not Go",
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := packages(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(pkgs, func(a, b pkg) int { return strings.Compare(a.name, b.name) })
	want := "[{a true false [context cdc/schema] [testing]} {b false true [] []}]"
	if got := fmt.Sprint(pkgs); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
