package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestSeeds runs the same seeds every time, so that a change of the code alone
// makes it fail; make sim looks at new ones.
func TestSeeds(t *testing.T) {
	all, found := runSeeds(t.Context(), 1, 500, nil, t.Output())
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
		want       string // the start of a line
	}{
		{"seeds", "", []string{"--seeds=20", "--first=7"}, exitDone, "sim: seeds=20 first=7 steps="},
		{"verdict", "", []string{"--seeds=20", "--first=7"}, exitDone, "sim: nothing found"},
		{"one seed", "", []string{"--seed=3"}, exitDone, "sim: seed=3 steps="},
		{"one seed by environment", "4", nil, exitDone, "sim: seed=4 steps="},
		{"a flag before the environment", "4", []string{"--seed=5"}, exitDone, "sim: seed=5 steps="},
		{"help", "", []string{"--help"}, exitDone, "Usage:"},
		{"no number", "x", nil, exitUsage, `sim: SEED="x": want a number`},
		{"no number in the flag", "", []string{"--seed=x"}, exitUsage, `sim: invalid argument "x"`},
		{"one and many", "", []string{"--seed=3", "--seeds=20"}, exitUsage, "sim: --seeds can't go with --seed"},
		{"one by environment and a first", "4", []string{"--first=20"}, exitUsage, "sim: --first can't go with SEED"},
		{"no seeds", "", []string{"--seeds=0"}, exitUsage, "sim: --seeds 0: want at least one seed"},
		{"unknown flag", "", []string{"--seedling"}, exitUsage, "sim: unknown flag"},
		{"argument", "", []string{"7"}, exitUsage, "sim: unknown command"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			code := run(t.Context(), test.args, test.seed, &out, &out)
			if code != test.code || !strings.Contains("\n"+out.String(), "\n"+test.want) {
				t.Errorf("exit %d, want %d with %q:\n%s", code, test.code, test.want, out.String())
			}
		})
	}
}

// What was interrupted is no success, however little it found.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if code := run(ctx, nil, "", &out, &out); code != exitFailed || !strings.Contains(out.String(), "interrupted: 0 of 10000 seeds ran") {
		t.Errorf("exit %d:\n%s", code, out.String())
	}
}
