package bigquerytest

import (
	"flag"
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write RULES.md anew")

// rulesDocument is RULES.md as the table of rules makes it.
func rulesDocument(rules []Rule) string {
	var b strings.Builder
	b.WriteString("# Rules of bigquerytest\n\nMade from the table in rulelist.go by `go test ./sink/bigquerytest -run TestRulesDocument -update`. Don't edit. The texts of answers are ours, unless a row names a report of the service's.\n\n| id | rule | page | test |\n|---|---|---|---|\n")
	for _, r := range rules {
		text := strings.ReplaceAll(r.Text, "|", "\\|")
		b.WriteString("| " + r.ID + " | " + text + " | " + r.Page + " | " + r.Test + " |\n")
	}
	return b.String()
}

func TestRulesDocument(t *testing.T) {
	want := rulesDocument(Rules)
	if *update {
		if err := os.WriteFile("RULES.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatal("RULES.md isn't what rulelist.go makes: run this test with -update")
	}
}

// checkRules returns what is wrong with a table of rules.
func checkRules(rules []Rule, tests map[string]bool) []string {
	var wrong []string
	seen := map[string]bool{}
	for _, r := range rules {
		switch {
		case seen[r.ID]:
			wrong = append(wrong, r.ID+" is there twice")
		case !strings.HasPrefix(r.Page, "https://"):
			wrong = append(wrong, r.ID+" has no page")
		case r.Text == "" || !strings.HasSuffix(r.Text, ".") && !strings.HasSuffix(r.Text, ")"):
			wrong = append(wrong, r.ID+" has no whole sentence")
		case !tests[r.Test]:
			wrong = append(wrong, r.ID+" names a test that isn't there: "+r.Test)
		}
		seen[r.ID] = true
	}
	return wrong
}

func TestRulesNameTheirTests(t *testing.T) {
	tests := testNames(t)
	for _, w := range checkRules(Rules, tests) {
		t.Error(w)
	}
	ids := map[string]bool{}
	for _, r := range Rules {
		ids[r.ID] = true
	}
	for id := range ruleConstants(t) {
		if !ids[id] {
			t.Errorf("rule %s is used and not in the table", id)
		}
	}
}

func TestRulesCheckerFindsPlantedBugs(t *testing.T) {
	good := Rule{"a", "https://x", "A rule.", "TestA"}
	tests := map[string]bool{"TestA": true}
	if w := checkRules([]Rule{good}, tests); len(w) > 0 {
		t.Fatal(w)
	}
	for _, bad := range []Rule{
		{"b", "", "A rule.", "TestA"}, {"b", "https://x", "", "TestA"}, {"b", "https://x", "A rule.", "TestB"}, good,
	} {
		if len(checkRules([]Rule{good, bad}, tests)) == 0 {
			t.Errorf("%+v was not found", bad)
		}
	}
}

// testNames parses this package's test files.
func testNames(t *testing.T) map[string]bool {
	out := map[string]bool{}
	for _, f := range parseFiles(t, "*_test.go") {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out[fn.Name.Name] = true
			}
		}
	}
	return out
}

// ruleConstants are the values of the constants rule… in rules.go.
func ruleConstants(t *testing.T) map[string]bool {
	out := map[string]bool{}
	for _, f := range parseFiles(t, "rules.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "rule") {
				for _, value := range v.Values {
					if lit, ok := value.(*ast.BasicLit); ok {
						out[strings.Trim(lit.Value, `"`)] = true
					}
				}
			}
			return true
		})
	}
	return out
}

func parseFiles(t *testing.T, pattern string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var out []*ast.File
	for _, name := range names {
		f, err := goparser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}
