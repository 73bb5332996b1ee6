// Cdc-sink takes row changes from Pub/Sub and writes them to BigQuery tables. It
// wires sink to the configuration; everything else is sink's. A change's Position
// is authoritative for what is newer, so any number of instances may run.
//
// It runs until SIGTERM or SIGINT, then writes and acks what it holds. What
// needs a person ends it with exit code 1 and an Error event with code and fix;
// what it hadn't acked comes again after a restart.
package main

import (
	"context"
	"io"
	"os"

	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return service.Main(ctx, service.Program{
		Service: config.Sink,
		Short:   "Take row changes from Pub/Sub and write them to BigQuery",
		InitLong: "Make the dataset if it is missing. Tables are made when their first row comes, topics and\n" +
			"subscriptions by cdc-publisher init. A second time changes nothing.",
		Emulators: []string{pubsubEmulator, bigqueryEmulator, storageEmulator},
		Health:    func(h config.Health) string { return h.Sink },
		Run:       runService,
		Check:     checkService,
		Init:      initService,
	}, args, stdout, stderr)
}
