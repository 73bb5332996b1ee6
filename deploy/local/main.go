// Command local runs the whole pipeline on this machine and checks it: a real
// Postgres, stand-ins for Pub/Sub and BigQuery, and both services as separate
// processes, which are killed while they work. It ends with a verdict line.
//
//	go run ./deploy/local
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cdc/deploy/local/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// run returns the exit code. The verdict is the last line on stdout; progress
// goes to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var opts stack.Options
	started := false
	var verdict stack.Verdict
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run the whole pipeline on this machine and check it",
		Long: `Starts a real Postgres, stand-ins for Pub/Sub and BigQuery, cdc-publisher and
cdc-sink; changes rows in three tables; kills each service once while at least
100 changes are in flight; compares BigQuery's tables with Postgres'.
The last line is the verdict, "demo: ok …" (exit 0) or "demo: FAILED …" (exit 1).`,
		Example: `  go run ./deploy/local
  go run ./deploy/local --seed 7
  go run ./deploy/local --sabotage drop   # must end FAILED`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if !stack.KnownSabotage(opts.Sabotage) {
				return fmt.Errorf("--sabotage %q: want one of %s", opts.Sabotage, strings.Join(stack.Sabotages, ", "))
			}
			started = true
			opts.Progress = stderr
			fmt.Fprintf(stderr, "demo: seed %d (repeat this run with --seed %d)\n", opts.Seed, opts.Seed)
			verdict, err = stack.Run(cmd.Context(), opts)
			return err
		},
	}
	cmd.Flags().Uint64Var(&opts.Seed, "seed", rand.Uint64N(1_000_000), "seed of the workload; a random one if not given")
	cmd.Flags().StringVar(&opts.Sabotage, "sabotage", "", "break one message inside the Pub/Sub stand-in: "+strings.Join(stack.Sabotages, " or "))
	cmd.Flags().StringVar(&opts.Bin, "bin", "", "use the services in this folder instead of building them")
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)

	err := cmd.ExecuteContext(ctx)
	switch {
	case err != nil && !started:
		fmt.Fprintf(stderr, "%v\nSee --help.\n", err)
		return exitUsage
	case err != nil:
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		var fixer interface{ Fix() string }
		if errors.As(err, &fixer) {
			fmt.Fprintf(stderr, "demo: %s\n", fixer.Fix())
		}
		fmt.Fprintf(stdout, "demo: FAILED %v\n", err)
		return exitFailed
	case !started: // --help
		return exitDone
	}
	fmt.Fprintln(stdout, verdict)
	if !verdict.OK() {
		return exitFailed
	}
	return exitDone
}
