// Package service is what cdc-publisher and cdc-sink have in common around
// their work: the command line, the log, the health endpoints, stopping and the
// exit code. A Program says what differs; Main does the rest.
//
// The states of a run: reading the configuration (refused: exit 2), starting
// (/healthz answers, /readyz says why not), moving (/readyz answers 200),
// stopping after SIGTERM or SIGINT (at most StopLimit, then exit 1), gone. A
// second signal ends the process at once: a restart is the tested way of
// recovery, so nothing is lost by it.
//
// An error that ends a run is logged once as an Error event with what its
// methods Code() string and Fix() string return; nothing is retried here.
package service
