package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	update       = flag.Bool("update", false, "write testdata/differences.txt anew")
	realProject  = flag.String("project", "", "run against BigQuery in this project")
	realLocation = flag.String("location", "EU", "of the datasets there")
)

const differencesFile = "testdata/differences.txt"

// outcome is how one case went: "" if it held.
type outcome struct {
	Case
	problem string
}

// TestConformance runs every case against the stand-in, or against BigQuery
// with -project.
func TestConformance(t *testing.T) {
	if *realProject != "" {
		if err := answers(t, *realProject); err != nil {
			t.Fatalf("no case was run: %v", err)
		}
	}
	var mu sync.Mutex
	var outcomes []outcome
	run := fmt.Sprintf("%x", time.Now().UnixMilli())
	t.Run("case", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				problem := ""
				if err := runCase(t, c, run); err != nil {
					problem = syntaxError.ReplaceAllString(err.Error(), "Syntax error")
				}
				mu.Lock()
				defer mu.Unlock()
				outcomes = append(outcomes, outcome{c, problem})
			})
		}
	})
	slices.SortFunc(outcomes, func(a, b outcome) int { return strings.Compare(a.ID, b.ID) })
	if *realProject != "" {
		for _, o := range outcomes {
			if o.problem != "" {
				t.Errorf("%s: %s\n  the page: %s (%s)", o.ID, o.problem, o.Says, o.document())
			}
		}
		return
	}
	if *update && len(outcomes) == len(cases) {
		if err := os.WriteFile(differencesFile, []byte(differences(outcomes)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range compare(string(golden), outcomes, cases) {
		t.Error(problem)
	}
	t.Logf("%d cases, %d differences", len(outcomes), strings.Count(string(golden), "\ncase "))
}

// syntaxError is how the stand-in's small parser puts what it doesn't know.
var syntaxError = regexp.MustCompile(`(?s)Syntax error: .*`)

var notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

func runCase(t *testing.T, c Case, run string) error {
	name := notInNames.ReplaceAllString(c.ID, "_")
	var g *target
	if *realProject != "" {
		g = &target{project: *realProject, location: *realLocation}
		name = "cdc_conformance_" + run + "_" + name
	} else {
		g = standIn(t)
	}
	e := &env{clients: g.open(t), dataset: name, ctx: t.Context()}
	defer func() {
		for _, f := range slices.Backward(e.closing) {
			f()
		}
	}()
	if err := e.makeDataset(); err != nil {
		return err
	}
	defer e.dropDataset(t)
	return c.Run(e)
}

// dropDataset deletes what the case made, however it ended.
func (e *env) dropDataset(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), time.Minute)
	defer cancel()
	if err := e.query.Dataset(e.dataset).DeleteWithContents(ctx); err != nil {
		t.Errorf("dataset %s of project %s is left behind: %v", e.dataset, e.project, err)
	}
}
