package pubsubtest

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write RULES.md anew")

// TestRulesHaveTests: each rule's id is used once, and its test exists.
func TestRulesHaveTests(t *testing.T) {
	tests := testNames(t)
	seen := map[RuleID]bool{}
	for _, r := range Rules {
		if seen[r.ID] {
			t.Errorf("rule %q stands twice in the table", r.ID)
		}
		seen[r.ID] = true
		if r.Page == "" || r.Text == "" {
			t.Errorf("rule %q has no page or no text", r.ID)
		}
		if !tests[r.Test] {
			t.Errorf("rule %q names the test %q, which doesn't exist", r.ID, r.Test)
		}
	}
}

// TestRefusalsAreRules: every Rule… constant that the code refuses with is in
// the table.
func TestRefusalsAreRules(t *testing.T) {
	listed := map[string]bool{}
	for _, f := range parseDir(t, "rules.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && len(lit.Elts) == 4 {
				if id, ok := lit.Elts[0].(*ast.Ident); ok {
					listed[id.Name] = true
				}
			}
			return true
		})
	}
	used := map[string]bool{}
	for name, f := range parseDir(t, "*.go") {
		if name == "rules.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "Rule") && id.Name != "RuleID" {
				used[id.Name] = true
			}
			return true
		})
	}
	for name := range used {
		if !listed[name] {
			t.Errorf("%s refuses requests but is not in Rules", name)
		}
	}
	for name := range listed {
		if !used[name] {
			t.Errorf("%s is in Rules but refuses nothing", name)
		}
	}
}

// TestRulesDocument: RULES.md is what the table says.
func TestRulesDocument(t *testing.T) {
	var want bytes.Buffer
	want.WriteString("# Rules of pubsubtest\n\nGenerated from `rules.go` by `go test ./publish/pubsubtest -run TestRulesDocument -update`; don't edit.\n\n")
	want.WriteString("| rule | what the service does | page | test |\n|---|---|---|---|\n")
	for _, r := range Rules {
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", r.ID, r.Text, r.Page, r.Test)
	}
	if *update {
		if err := os.WriteFile("RULES.md", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("RULES.md is not what Rules says: run the test with -update")
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, f := range parseDir(t, "*_test.go") {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

func parseDir(t *testing.T, pattern string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	out := map[string]*ast.File{}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = f
	}
	return out
}
