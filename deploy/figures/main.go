// Command figures measures what the project claims of its speed and prints one
// line a claim, so that anyone can repeat and compare it:
//
//	figure: NAME VALUE UNIT goal=… min=… max=… runs=…
//
// VALUE is the median of the runs. A figure is a benchmark in the code (see
// list.go) that this command runs with go test; a figure that misses its goal is
// printed like any other, and the exit code says only whether all could be
// measured.
//
//	go run ./deploy/figures
//	go run ./deploy/figures --runs 1 pubsubtest-publish
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, figures, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code. Figures go to stdout, what is running to stderr.
func run(ctx context.Context, list []figure, args []string, stdout, stderr io.Writer) int {
	m := measurement{runs: 5, benchtime: "1s"}
	started := false
	cmd := &cobra.Command{
		Use:   "figures [NAME…]",
		Short: "measure what the project claims of its speed; without a name all of it",
		Long: "Measures what the project claims of its speed and prints one line a claim:\n" +
			"figure: NAME VALUE UNIT goal=… min=… max=… runs=… (VALUE is the median).\n\nNames: " + strings.Join(names(list), ", "),
		Example:       "  go run ./deploy/figures\n  go run ./deploy/figures --runs 1 " + names(list)[0],
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.runs < 1 {
				return fmt.Errorf("--runs %d: want 1 or more", m.runs)
			}
			if err := checkBenchtime(m.benchtime); err != nil {
				return err
			}
			for _, name := range args {
				if !slices.Contains(names(list), name) {
					return fmt.Errorf("no figure %q: want one of %s", name, strings.Join(names(list), ", "))
				}
			}
			started = true
			for _, f := range list {
				if len(args) > 0 && !slices.Contains(args, f.name) {
					continue
				}
				fmt.Fprintf(stderr, "figures: measuring %s, %d runs of %s\n", f.name, m.runs, m.benchtime)
				values, err := m.measure(cmd.Context(), f)
				if err != nil {
					return fmt.Errorf("measure %s: %w", f.name, err)
				}
				fmt.Fprintln(stdout, line(f, values))
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&m.runs, "runs", m.runs, "runs of each benchmark; the median is the figure")
	cmd.Flags().StringVar(&m.benchtime, "benchtime", m.benchtime, "of each run: a time, or a number of times such as 100x")
	cmd.SetArgs(append([]string{}, args...)) // cobra takes nil for the process's own
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	switch err := cmd.ExecuteContext(ctx); {
	case err != nil && !started:
		fmt.Fprintf(stderr, "figures: %v\nSee --help.\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(stderr, "figures: %v\n", err)
		return exitFailed
	}
	return exitDone
}
