package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	serve "cdc/deploy/local/alone"
)

const aloneHelp = `With --only it serves the stand-ins alone, for your own client or services, until
^C or SIGTERM (which go run doesn't pass on): it prints what to export, then a line
of counts when they have changed. Each has a control endpoint (curl -s
http://…/help) that shows counters, queues faults and moves the clock.`

// alone serves some servers without the pipeline.
type alone struct{ serve.Options }

// aloneFlags are the flags that make sense only with --only.
var aloneFlags = []string{"ports", "every"}

func (a *alone) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&a.Serve, "only", nil, "serve these alone, without the pipeline: some of "+strings.Join(serve.Names, ","))
	f.StringToIntVar(&a.Ports, "ports", nil, "with --only: other `NAME=PORT` than "+serve.PortNames()+"; 0 takes any free one")
	f.Lookup("ports").DefValue = "" // it would be "[]"
	f.DurationVar(&a.Every, "every", 5*time.Second, "with --only: shortest time between two lines of counts")
}

func (a *alone) check() error { return a.Check() }

// run returns the exit code: done when it was told to stop.
func (a *alone) run(ctx context.Context, stdout, stderr io.Writer) int {
	a.Out = stdout
	if err := serve.Run(ctx, a.Options); err != nil {
		fmt.Fprintf(stderr, "local: %v\n", err)
		if fix := fixOf(err); fix != "" && !strings.Contains(err.Error(), fix) {
			fmt.Fprintf(stderr, "local: %s\n", fix)
		}
		return codeOf(err)
	}
	return exitDone
}

// onlyWith refuses flags that the chosen mode doesn't have.
func onlyWith(cmd *cobra.Command) error {
	others, what := aloneFlags, "needs --only"
	if cmd.Flags().Changed("only") {
		others, what = demoFlags, "can't go with --only"
	}
	for _, name := range others {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s %s", name, what)
		}
	}
	return nil
}
