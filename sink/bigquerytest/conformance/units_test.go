package conformance

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var pageFile = flag.String("page", "", "a copy of the change-data-capture page, Markdown, to check coverage.txt against")

// unit is one part of the page that may show or state something: a heading's
// text, or its nth code block, table, picture or bullet ("bullet 4.2" is the
// second one below the fourth).
type unit struct{ heading, part string }

// pageUnits takes a page apart.
func pageUnits(markdown string) []unit {
	var out []unit
	heading, inCode := "", false
	count := map[string]int{}
	add := func(kind string) {
		count[kind]++
		out = append(out, unit{heading, fmt.Sprintf("%s %d", kind, count[kind])})
	}
	last := ""
	for line := range strings.Lines(markdown) {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(text, "```"):
			if inCode = !inCode; inCode && text != "```" {
				add("code")
			} else if inCode {
				add("result")
			}
		case inCode:
		case strings.HasPrefix(text, "#"):
			heading, count = strings.TrimLeft(text, "# "), map[string]int{}
			out = append(out, unit{heading, "text"})
		case strings.HasPrefix(text, "|") && !strings.HasPrefix(last, "|"):
			add("table")
		case strings.HasPrefix(text, "!["):
			add("picture")
		case strings.HasPrefix(text, "- ") && indent == 0:
			add("bullet")
			count["below"] = 0
		case strings.HasPrefix(text, "- "):
			count["below"]++
			out = append(out, unit{heading, fmt.Sprintf("bullet %d.%d", count["bullet"], count["below"])})
		}
		last = text
	}
	return out
}

// covered is one line of the list: a unit with its cases, or why there is none.
type covered struct {
	unit
	cases []string
	why   string
}

// parseCoverage reads lines "HEADING | PART | CASES" or "HEADING | PART | - WHY".
func parseCoverage(text string) ([]covered, error) {
	var out []covered
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "//") {
			continue
		}
		parts := strings.SplitN(line, "|", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("line %q", line)
		}
		c := covered{unit: unit{strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])}}
		rest := strings.TrimSpace(parts[2])
		if why, ok := strings.CutPrefix(rest, "- "); ok {
			c.why = why
		} else {
			c.cases = strings.Fields(rest)
		}
		out = append(out, c)
	}
	return out, nil
}

// checkCoverage says what is wrong between the list and the cases.
func checkCoverage(list []covered, all []Case) []string {
	var out []string
	ids := map[string]bool{}
	for _, c := range all {
		if ids[c.ID] {
			out = append(out, "case "+c.ID+" is there twice")
		}
		ids[c.ID] = true
	}
	named := map[string]bool{}
	seen := map[unit]bool{}
	for _, c := range list {
		if seen[c.unit] {
			out = append(out, fmt.Sprintf("%v is listed twice", c.unit))
		}
		seen[c.unit] = true
		if len(c.cases) == 0 && c.why == "" {
			out = append(out, fmt.Sprintf("%v has neither a case nor a reason", c.unit))
		}
		for _, id := range c.cases {
			named[id] = true
			if !ids[id] {
				out = append(out, fmt.Sprintf("%v names no case: %s", c.unit, id))
			}
		}
	}
	for id := range ids {
		if strings.HasPrefix(id, "cdc/") && !named[id] {
			out = append(out, "case "+id+" stands for no part of the page")
		}
	}
	return out
}

// missingUnits says which parts of a page the list leaves out or invents.
func missingUnits(list []covered, page []unit) []string {
	out, listed := []string{}, []unit{}
	for _, c := range list {
		listed = append(listed, c.unit)
		if !slices.Contains(page, c.unit) {
			out = append(out, fmt.Sprintf("the page has no %v", c.unit))
		}
	}
	for _, u := range page {
		if !slices.Contains(listed, u) {
			out = append(out, fmt.Sprintf("%v isn't listed", u))
		}
	}
	return out
}

func readCoverage(t *testing.T) []covered {
	t.Helper()
	text, err := os.ReadFile("testdata/coverage.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseCoverage(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCoverage(t *testing.T) {
	for _, problem := range checkCoverage(readCoverage(t), cases) {
		t.Error(problem)
	}
	for _, c := range cases {
		if page, _, _ := strings.Cut(c.ID, "/"); pages[page] == "" || c.Section == "" || c.Says == "" {
			t.Errorf("case %s has no page, section or text", c.ID)
		}
	}
}

const smallPage = "# Page\n\ntext\n\n## Part\n\n| a |\n|---|\n| b |\n\n```googlesql\nSELECT 1\n- not a bullet\n```\n\n- one\n- two\n  - below\n\n![p](x)\n"

// TestPageUnits checks the list against the page, where there is a copy of it,
// and against a small one always.
func TestPageUnits(t *testing.T) {
	list, err := parseCoverage("Page | text | - none\nPart | text | - none\nPart | table 1 | cdc/a\nPart | code 1 | cdc/a\nPart | bullet 1 | cdc/a\nPart | bullet 2 | cdc/a\nPart | bullet 2.1 | cdc/a\nPart | picture 1 | cdc/a\n")
	if err != nil {
		t.Fatal(err)
	}
	if p := missingUnits(list, pageUnits(smallPage)); len(p) != 0 {
		t.Fatal(p)
	}
	if *pageFile == "" {
		return
	}
	page, err := os.ReadFile(*pageFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range missingUnits(readCoverage(t), pageUnits(string(page))) {
		t.Error(problem)
	}
}

func TestCoverageFindsPlantedBugs(t *testing.T) {
	a := Case{ID: "cdc/a"}
	one := covered{unit: unit{"Part", "bullet 1"}, cases: []string{"cdc/a"}}
	if p := checkCoverage([]covered{one}, []Case{a}); len(p) != 0 {
		t.Fatal(p)
	}
	for what, bad := range map[string]struct {
		list []covered
		all  []Case
	}{
		"listed twice":   {[]covered{one, one}, []Case{a}},
		"no case":        {[]covered{one, {unit: unit{"Part", "bullet 2"}, cases: []string{"cdc/b"}}}, []Case{a}},
		"no reason":      {[]covered{one, {unit: unit{"Part", "bullet 2"}}}, []Case{a}},
		"case unlisted":  {[]covered{one}, []Case{a, {ID: "cdc/b"}}},
		"case twice":     {[]covered{one}, []Case{a, a}},
		"all unlisted":   {nil, []Case{a}},
		"reason instead": {[]covered{{unit: unit{"Part", "bullet 1"}, why: "none"}}, []Case{a}},
	} {
		if p := checkCoverage(bad.list, bad.all); len(p) != 1 {
			t.Errorf("%s: %q", what, p)
		}
	}
	page := pageUnits(smallPage)
	list := make([]covered, len(page))
	for i, u := range page {
		list[i] = covered{unit: u, why: "none"}
	}
	if p := missingUnits(list[1:], page); len(p) != 1 {
		t.Errorf("left out: %q", p)
	}
	if p := missingUnits(list, page[1:]); len(p) != 1 {
		t.Errorf("invented: %q", p)
	}
}
