package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"cdc/deploy/local/stack"
)

const demoHelp = `Starts a real Postgres, stand-ins for Pub/Sub and BigQuery, cdc-publisher and
cdc-sink; changes rows in three tables; kills each service once while at least
100 changes are in flight; compares BigQuery's tables with Postgres'.
The last line is the verdict, "demo: ok …" (exit 0) or "demo: FAILED …" (exit 1).`

// pipeline runs the whole pipeline and checks it.
type pipeline struct{ stack.Options }

// demoFlags are the flags that make no sense with --only.
var demoFlags = []string{"seed", "sabotage", "bin"}

func (p *pipeline) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Uint64Var(&p.Seed, "seed", rand.Uint64N(1_000_000), "seed of the workload: which rows are changed, and how")
	f.Lookup("seed").DefValue = "random"
	f.StringVar(&p.Sabotage, "sabotage", "", "break one message inside the Pub/Sub stand-in, which the verdict must notice: "+strings.Join(stack.Sabotages, " or "))
	f.StringVar(&p.Bin, "bin", "", "use the services in this folder instead of building them")
}

func (p *pipeline) check() error {
	if !stack.KnownSabotage(p.Sabotage) {
		return fmt.Errorf("--sabotage %q: want one of %s", p.Sabotage, strings.Join(stack.Sabotages, ", "))
	}
	if p.Bin != "" {
		if err := stack.CheckBin(p.Bin); err != nil {
			return fmt.Errorf("--bin: %w", err)
		}
	}
	return nil
}

// run returns the exit code. The verdict is the last line on stdout; progress
// goes to stderr. Without a verdict that line says why there is none.
func (p *pipeline) run(ctx context.Context, stdout, stderr io.Writer) int {
	p.Progress = stderr
	fmt.Fprintf(stderr, "demo: seed %d (repeat this run with --seed %d)\n", p.Seed, p.Seed)
	verdict, err := stack.Run(ctx, p.Options)
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if err != nil {
		first, more, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		if fix := fixOf(err); fix != "" && !strings.Contains(err.Error(), fix) {
			fmt.Fprintf(stderr, "demo: %s\n", fix)
		}
		if more != "" {
			fmt.Fprintf(stderr, "%s\n%s\n", first, more)
		}
		fmt.Fprintf(stdout, "demo: FAILED %s\n", first)
		return codeOf(err)
	}
	fmt.Fprintln(stdout, verdict)
	if !verdict.OK() {
		return exitFailed
	}
	return exitDone
}
