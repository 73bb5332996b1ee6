package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestSeeds runs the same seeds every time, so that a change of the code alone
// makes it fail; make sim looks at new ones.
func TestSeeds(t *testing.T) {
	all, found := runSeeds(1, 500, nil)
	if found != nil {
		t.Fatal(story(repeat(found.seed, nil)))
	}
	t.Logf("%d steps\n%s", all.total(), all.String())
	if idle := all.idle(); len(idle) > 0 {
		t.Errorf("never happened: %s", strings.Join(idle, ", "))
	}
}

// A seed is the whole run: the second one is the first, word by word.
func TestSeedRepeats(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		first := newWorld(seed, nil)
		first.run()
		a, b := repeat(seed, nil), repeat(seed, nil)
		if story(a) != story(b) || a.counts.String() != b.counts.String() {
			t.Errorf("seed %d: two stories", seed)
		}
		if first.step != a.step || first.counts.String() != a.counts.String() {
			t.Errorf("seed %d: the trace changes the run", seed)
		}
	}
}

func TestCommand(t *testing.T) {
	for _, test := range []struct {
		name, seed string
		args       []string
		code       int
		want       string
	}{
		{"seeds", "", []string{"-seeds=20", "-first=7"}, 0, "sim: seeds=20 first=7 steps="},
		{"one seed", "", []string{"-seed=3"}, 0, "sim: seed=3 steps="},
		{"one seed by environment", "4", nil, 0, "sim: seed=4 steps="},
		{"no number", "x", nil, 2, "want a number"},
		{"no seeds", "", []string{"-seeds=0"}, 2, "at least one seed"},
		{"unknown flag", "", []string{"-seedling"}, 2, "not defined"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := run(test.args, test.seed, &out, &out); code != test.code || !strings.Contains(out.String(), test.want) {
				t.Errorf("exit %d, want %d with %q:\n%s", code, test.code, test.want, out.String())
			}
		})
	}
}
