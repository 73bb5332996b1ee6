package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	os.Exit(run(ctx, os.Args[1:], os.Getenv("SEED"), os.Stdout, os.Stderr))
}

// options are what the command was asked for.
type options struct {
	seeds, first, seed uint64
	one                bool // seed alone
}

// run returns the exit code: 0 nothing found, 1 a finding, 2 wrong use. seed is
// the environment's SEED.
func run(ctx context.Context, args []string, seed string, stdout, stderr io.Writer) (code int) {
	o := options{seeds: 10_000, first: uint64(time.Now().UnixMilli())}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Simulate the product's state machines until something breaks",
		Long: `Runs the product's state machines in a made-up world that loses, repeats, delays
and crashes, until a check fails: then it prints the last steps of the lowest
seed that was found (exit 1). go doc ./deploy/sim says what is checked.`,
		Example: `  go run ./deploy/sim
  go run ./deploy/sim --seeds 100000
  go run ./deploy/sim --seed 7   # the same as SEED=7 go run ./deploy/sim`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd, seed); err != nil {
				return err
			}
			code = o.run(cmd.Context(), stdout, stderr)
			return nil
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&o.seeds, "seeds", o.seeds, "how many seeds to run")
	f.Uint64Var(&o.first, "first", o.first, "the first seed")
	f.Lookup("first").DefValue = "the clock's time, so that every run looks at new ones"
	f.Uint64Var(&o.seed, "seed", 0, "run this seed alone and print its last steps (default the environment's SEED)")
	cmd.SetArgs(append([]string{}, args...)) // cobra takes nil for the process's own
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "sim: %v\nSee --help.\n", err)
		return exitUsage
	}
	return code
}

// complete takes SEED in and refuses what can't be run.
func (o *options) complete(cmd *cobra.Command, seed string) error {
	name := "--seed"
	o.one = cmd.Flags().Changed("seed")
	if !o.one && seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return fmt.Errorf("SEED=%q: want a number", seed)
		}
		o.seed, o.one, name = n, true, "SEED"
	}
	for _, other := range []string{"seeds", "first"} {
		if o.one && cmd.Flags().Changed(other) {
			return fmt.Errorf("--%s can't go with %s", other, name)
		}
	}
	if o.seeds == 0 {
		return errors.New("--seeds 0: want at least one seed")
	}
	return nil
}

func (o *options) run(ctx context.Context, stdout, stderr io.Writer) (code int) {
	if o.one {
		w := repeat(o.seed, nil)
		fmt.Fprint(stdout, story(w))
		if w.finding != "" {
			return exitFailed
		}
		return exitDone
	}
	begin := time.Now()
	all, found := runSeeds(ctx, o.first, o.seeds, nil, stderr)
	fmt.Fprintf(stdout, "sim: seeds=%d first=%d steps=%d took=%s\n", all.runs, o.first, all.total(), time.Since(begin).Round(time.Millisecond))
	if all.runs > 0 {
		fmt.Fprint(stdout, all.String())
	}
	if found != nil {
		fmt.Fprint(stdout, story(repeat(found.seed, nil)))
		return exitFailed
	}
	if ctx.Err() != nil {
		fmt.Fprintf(stdout, "sim: interrupted: %d of %d seeds ran, nothing found\n", all.runs, o.seeds)
		return exitFailed
	}
	if idle := all.idle(); o.seeds >= enoughSeeds && len(idle) > 0 {
		fmt.Fprintf(stdout, "sim: never happened: %s\n", strings.Join(idle, ", "))
		return exitFailed
	}
	fmt.Fprintln(stdout, "sim: nothing found")
	return exitDone
}
