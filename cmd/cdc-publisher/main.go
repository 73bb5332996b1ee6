// Cdc-publisher captures the row changes of a Postgres database and publishes
// them to Pub/Sub, in order for each key. It wires capture and publish to the
// configuration; everything else is theirs. Postgres is authoritative for what
// changed, the state that capture keeps for what was published.
//
// It runs until SIGTERM or SIGINT. What goes wrong for good ends it with exit
// code 1 and an Error event with code and fix; a restart carries on from the
// last checkpoint, which is the only way of recovery.
package main

import (
	"context"
	"io"
	"os"

	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
	"cdc/publish"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return service.Main(ctx, service.Program{
		Service: config.Publisher,
		Short:   "Capture row changes from Postgres and publish them to Pub/Sub",
		InitLong: "Make what is missing: topics and subscriptions, the publication, the state and the slot.\n" +
			"The slot comes last: from then on changes are kept for cdc-publisher run. A second time changes nothing.",
		Emulators: []string{publish.EmulatorEnv},
		Health:    func(h config.Health) string { return h.Publisher },
		Run:       runService,
		Check:     checkService,
		Init:      initService,
	}, args, stdout, stderr)
}
