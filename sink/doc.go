// Package sink takes the messages of a database from Pub/Sub and writes their
// changes to BigQuery: one current-state table for each captured table.
//
// The way of a message: received (sink/pull), put into its table's queue, its
// changes decoded and encoded as rows (sink/storagewrite), appended with others
// of the table, and acked once every change in it is written or is in the dead
// letter (sink/deadletter). Each table has its own queue and goroutine, so that
// one that is stuck doesn't stop the others.
//
// Positions are authoritative for what is newer, never the order of arrival:
// every row carries its Position as sequence number, so whatever is repeated,
// late or reordered ends right. A change is in one of these states: queued,
// gathered into a batch, hidden by a newer change of its key in the same batch,
// in flight, settled (written, dead-lettered, or hidden by a written one), or
// held (leased and not written, with an Error in the log).
//
// On failure: what may heal is repeated in place for ever while the lease is
// kept; a row that BigQuery refuses goes to the dead letter alone and the rest
// is sent again; a message of a table that BigQuery can't have, of another
// database, of a newer wire format, or too large for the dead letter is held, and
// the others go on; what else needs a person ends Run with an error that has a
// Code and a Fix. If the process dies, everything that wasn't acked comes again.
package sink
