// Package capture is the way of a transaction: it receives it from a logical
// replication slot, turns each row change into a message, hands the messages to
// a Publisher and confirms the transaction to Postgres once all of them are
// accepted. It wires its rooms: pgoutput (bytes ↔ messages), confirm (which LSN
// may be confirmed), catalog (what the source says about itself) and state (what
// must survive a restart).
//
// Postgres is authoritative for rows and their order. The stored state is
// authoritative for what has been published: always accepted first, then the
// checkpoint, then the status to the server. A slot that is ahead of the
// checkpoint was advanced or recreated by somebody else, and capture refuses it.
//
// # States
//
// Run connects, inspects everything that could make the stream wrong or
// incomplete, waits for the slot (another instance may hold it), takes the state
// over and streams. Five goroutines work then: one receives and publishes, one
// sends status (the replication connection has one reader and one writer); one
// writes checkpoints and one polls the catalog, each the only user of its
// connection; one logs progress. The one that polls notices first when the server
// shuts down. Run ends when its context is cancelled: it stops receiving, waits for a
// bounded time until what it handed on is accepted, writes the last checkpoint,
// confirms it and returns nil. The publisher has to run until then; Abandon says
// that it doesn't any more, and Run doesn't wait.
//
// # Failure
//
// Run never repeats itself: what goes wrong ends it with an error, and the next
// start begins at the confirmed LSN, so the only recovery path is the tested one.
// Messages of a transaction may then be handed on again; their Positions are the
// same. If the replication connection is lost, Run returns at once and the caller
// must stop the publisher at once too, for another instance may take the slot.
//
// What isn't handled ends Run with an error that has a code and a fix: a
// truncated table, a changed one, an unchanged TOASTed value, a table without
// usable identity, one that isn't configured, rows that were there before the
// slot. It ends again at every restart until somebody acts: nothing is passed
// over in silence.
package capture
