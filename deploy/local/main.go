// Command local runs the whole pipeline on this machine and checks it: a real
// Postgres, stand-ins for Pub/Sub and BigQuery, and both services as separate
// processes, which are killed while they work. It ends with a verdict line.
// With --only it serves the stand-ins alone.
//
//	go run ./deploy/local
//	go run ./deploy/local --only pubsub,bigquery
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
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

// mode is one of the two things that the command does.
type mode interface {
	check() error
	run(ctx context.Context, stdout, stderr io.Writer) (code int)
}

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	var whole pipeline
	var standIns alone
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run the whole pipeline on this machine and check it, or serve the stand-ins alone",
		Long:  demoHelp + "\n\n" + aloneHelp,
		Example: `  go run ./deploy/local
  go run ./deploy/local --seed 7
  go run ./deploy/local --sabotage drop   # must end FAILED
  go run ./deploy/local --only pubsub,bigquery
  go run ./deploy/local --only bigquery --ports bigquery=9100,bigquery-storage=0`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var mode mode = &whole
			if cmd.Flags().Changed("only") {
				mode = &standIns
			}
			if err := errors.Join(onlyWith(cmd), mode.check()); err != nil {
				return err
			}
			code = mode.run(cmd.Context(), stdout, stderr)
			return nil
		},
	}
	whole.flags(cmd)
	standIns.flags(cmd)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "local: %v\nSee --help.\n", err)
		return exitUsage
	}
	return code
}

// fixOf is what a person can do about an error, or "".
func fixOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Fix() string
	}](err); ok {
		return e.Fix()
	}
	return ""
}

// codeOf is the exit code of a run that ended with an error.
func codeOf(err error) int {
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		return e.ExitCode() // of the machine's set-up
	}
	return exitFailed
}
