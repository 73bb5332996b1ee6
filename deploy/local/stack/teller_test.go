package stack

import (
	"strings"
	"testing"
)

func TestTeller(t *testing.T) {
	for _, tt := range []struct {
		terminal bool
		want     string
	}{
		{false, "demo: start\ndemo: 1 of 2\ndemo: 2 of 2\ndemo: done\ndemo: last\n"},
		{true, "demo: start\ndemo: 1 of 2" + clearLine + "demo: 2 of 2" + clearLine + "demo: done\ndemo: last\n"},
	} {
		var out strings.Builder
		say := newTeller(&out)
		say.terminal = tt.terminal
		say.line("start")
		say.progress("%d of 2", 1)
		say.progress("%d of 2", 2)
		say.line("done")
		say.progress("last")
		say.end()
		say.end()
		if out.String() != tt.want {
			t.Errorf("terminal %t: %q, want %q", tt.terminal, out.String(), tt.want)
		}
	}
}
