// Package alone serves the stand-ins, and a Postgres if asked, on this machine
// without the pipeline: for people who try a client against them, and for tests
// whose stand-in runs in another process.
//
// # What it prints
//
// Once what to export and how to reach the control endpoints; then one line with
// each stand-in's counts, at most one an interval, and only when something has
// changed since the last one, or a minute after it (so that a log says whether
// the process lives). One last line at the end.
//
// # Life and failure
//
// [Run] serves until its context is done, then ends everything and returns nil.
// A server that can't start is an error with a Fix; nothing is left running. All
// state is in memory and gone then: what isn't acked (Pub/Sub), every row
// (BigQuery); no record of what came is kept. Postgres' data is gone too.
package alone
