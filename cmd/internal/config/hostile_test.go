package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func minimal(t testing.TB) string {
	data, err := os.ReadFile("testdata/good/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHostile feeds what isn't meant as a configuration; each is refused with
// one finding that has its place, quickly.
func TestHostile(t *testing.T) {
	good := minimal(t)
	var bomb strings.Builder
	bomb.WriteString("a: &a [x, x, x, x, x, x, x, x, x]\n")
	for i := 'b'; i <= 'z'; i++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s*%c]\n", i, i, strings.Repeat(fmt.Sprintf("*%c, ", i-1), 8), i-1)
	}
	for _, tt := range []struct{ name, data, want string }{
		{"empty", "", "cdc.yaml: the file is empty; start from deploy/config.example.yaml"},
		{"only comments", "# nothing\n---\n# here\n", "cdc.yaml: the file is empty; start from deploy/config.example.yaml"},
		{"a word", "version", "cdc.yaml:1:1: wrong type: this is a text; write keys and values here"},
		{"huge", good + strings.Repeat("#", maxFileBytes), "cdc.yaml: the file is larger than 512KiB; match many tables by one pattern"},
		{"open brackets", strings.Repeat("[", 200_000), "cdc.yaml:1:33: nested deeper than 32; see deploy/CONFIG.md for the form of the file"},
		{"dashes", strings.Repeat("- ", 200_000), "cdc.yaml:1:67: nested deeper than 32; see deploy/CONFIG.md for the form of the file"},
		{"deep keys", func() string {
			var b strings.Builder
			for i := range 100 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}(), "cdc.yaml:67:67: nested deeper than 32; see deploy/CONFIG.md for the form of the file"},
		{"tab", "version: 1\nsource:\n\tdsn: x\n", "cdc.yaml:3:1: this isn't YAML"},
		{"not UTF-8", "version: 1\ndatabase: sh\xffop\n", "cdc.yaml:2:13: this byte isn't UTF-8; save the file as UTF-8"},
		{"UTF-16", "\xff\xfev\x00e\x00", "cdc.yaml:1:1: this byte isn't UTF-8; save the file as UTF-8"},
		{"zero byte", "version: 1\x00\n", "cdc.yaml:1:11: control character U+0000; take it out"},
		{"escape", "version: \x1b[31m\n", "cdc.yaml:1:10: control character U+001B; take it out"},
		{"two documents", good + "---\n" + good, "cdc.yaml:10:1: there is a second document; keep one database a file"},
		{"directive", "%YAML 1.2\n---\n" + good, "cdc.yaml:1:1: tags and directives aren't read; write the value without it"},
		{"unclosed", "source: {dsn: 'x\n", "cdc.yaml:1:15: this isn't YAML"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("cdc.yaml", []byte(tt.data), noEnv)
			if err == nil {
				t.Fatal("accepted")
			}
			if got := err.Error(); !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
	t.Run("alias bomb", func(t *testing.T) {
		_, err := Parse("cdc.yaml", []byte(bomb.String()), noEnv)
		if findings, ok := errors.AsType[Findings](err); !ok || len(findings) > 40 {
			t.Errorf("got %v", err)
		}
	})
}

// TestOtherEditors takes the good file as other systems save it.
func TestOtherEditors(t *testing.T) {
	good := minimal(t)
	for name, data := range map[string]string{
		"CRLF":           strings.ReplaceAll(good, "\n", "\r\n"),
		"BOM":            "\xEF\xBB\xBF" + good,
		"document marks": "---\n" + good + "...\n",
		"far comments":   strings.ReplaceAll(good, "\n", "\n"+strings.Repeat(" ", 90)+"# [{[{ \n"),
		"no newline":     strings.TrimSuffix(good, "\n"),
	} {
		c, err := Parse("cdc.yaml", []byte(data), noEnv)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.Database != "shop" || c.BigQuery.MaxStaleness.Interval != 15*time.Minute || c.PubSub.Ordered.Topic != "cdc-shop" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	// A place doesn't move with the line ends.
	_, err := Parse("cdc.yaml", []byte("version: 1\r\ndatabase: shop\r\nextra: 1\r\n"), noEnv)
	if findings, ok := errors.AsType[Findings](err); !ok || findings[len(findings)-1].Line != 3 {
		t.Errorf("got %v", err)
	}
}

// TestManyTables reads the largest file that is allowed in a bounded time.
func TestManyTables(t *testing.T) {
	var b strings.Builder
	good := strings.Split(minimal(t), "tables:")[0]
	b.WriteString(good + "tables:\n")
	for i := 0; b.Len() < 300_000; i++ {
		fmt.Fprintf(&b, "  - match: public.t%d\n    columns: {email: {exclude: true}}\n", i)
	}
	start := time.Now()
	c, err := Parse("cdc.yaml", []byte(b.String()), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tables, %d bytes in %s", len(c.Tables), b.Len(), time.Since(start))
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %s", d)
	}
}

func TestUnreadable(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none.yaml"), t.TempDir()} {
		_, err := Load(path, noEnv)
		if e, ok := errors.AsType[interface {
			error
			Code() string
		}](err); !ok || e.Code() != "config_unreadable" {
			t.Errorf("got %v", err)
		}
	}
}

// FuzzParse looks for panics, for errors that aren't Findings, and for a file
// that is accepted with a value out of its range.
func FuzzParse(f *testing.F) {
	for _, glob := range []string{"testdata/*/*.yaml", examplePath} {
		names, _ := filepath.Glob(glob)
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte("? a\n: b\n"))
	f.Add([]byte("{a: , }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("cdc.yaml", data, noEnv)
		if err != nil {
			findings, ok := errors.AsType[Findings](err)
			if !ok || len(findings) == 0 {
				t.Fatalf("not Findings: %T", err)
			}
			return
		}
		for _, s := range []Service{Publisher, Sink} {
			if err := c.NotYet(s, "cdc.yaml"); err != nil && err.Error() == "" {
				t.Fatal("an empty refusal")
			}
		}
		if h := c.PubSub.Unordered.Hedging; !h.Off && (h.Delay < 100*time.Millisecond || h.Delay > 10*time.Second || !(h.RefillRatio >= 0.001 && h.RefillRatio <= 0.2)) {
			t.Fatalf("hedging out of range: %+v", h)
		}
		if c.Version != 1 || !forms["slot"].ok(c.Source.Slot) || len(c.Tables) == 0 || c.Source.DSN.IsZero() {
			t.Fatal("accepted without what it must have")
		}
		for _, tb := range c.Tables {
			if tb.Match.String() == "" {
				t.Fatal("a table without a match")
			}
		}
	})
}
