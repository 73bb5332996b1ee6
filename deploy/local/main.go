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
			if opts.Bin != "" {
				if err := stack.CheckBin(opts.Bin); err != nil {
					return fmt.Errorf("--bin: %w", err)
				}
			}
			started = true
			opts.Progress = stderr
			fmt.Fprintf(stderr, "demo: seed %d (repeat this run with --seed %d)\n", opts.Seed, opts.Seed)
			verdict, err = stack.Run(cmd.Context(), opts)
			return err
		},
	}
	cmd.Flags().Uint64Var(&opts.Seed, "seed", rand.Uint64N(1_000_000), "seed of the workload: which rows are changed, and how")
	cmd.Flags().Lookup("seed").DefValue = "random"
	cmd.Flags().StringVar(&opts.Sabotage, "sabotage", "", "break one message inside the Pub/Sub stand-in, which the verdict must notice: "+strings.Join(stack.Sabotages, " or "))
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
		return noVerdict(err, stdout, stderr)
	case !started: // --help
		return exitDone
	}
	fmt.Fprintln(stdout, verdict)
	if !verdict.OK() {
		return exitFailed
	}
	return exitDone
}

// noVerdict says why there is none: everything on stderr, one line on stdout.
func noVerdict(err error, stdout, stderr io.Writer) (code int) {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if fixer, ok := errors.AsType[interface {
		error
		Fix() string
	}](err); ok && !strings.Contains(err.Error(), fixer.Fix()) {
		fmt.Fprintf(stderr, "demo: %s\n", fixer.Fix())
	}
	first, more, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	if more != "" {
		fmt.Fprintf(stderr, "%s\n%s\n", first, more)
	}
	fmt.Fprintf(stdout, "demo: FAILED %s\n", first)
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		return e.ExitCode() // of the machine's set-up
	}
	return exitFailed
}
