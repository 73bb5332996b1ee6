// Package confirm decides which LSN may be confirmed to Postgres, and how much
// may be in flight meanwhile.
//
// The stream opens a transaction (Begin), hands over its messages (Add) and
// closes it (Commit); the publisher reports each message (Accepted) in any
// order. Confirmable is the end LSN of the last transaction of the contiguous
// prefix all of whose messages were accepted. When nothing is in flight and no
// transaction is open, a keepalive's WAL end is confirmable too: without that an
// idle database would keep its WAL for ever.
//
// It is pure: no goroutine, no clock, no I/O, no lock. Its owner serialises the
// calls. It only ever moves forward. What it says may be confirmed has still to
// be made durable by the owner before Postgres is told.
package confirm
