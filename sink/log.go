package sink

// EventProgress, Info, comes at a pace and once at the end. Totals since the
// start: messages, changes, rows, batches, write_retries, redeliveries,
// dead_letters, acked_messages. What is so now: outstanding_messages,
// outstanding_bytes, oldest_held_ms, window_full, and waiting_for, the first of
// these that holds for any table:
//
//	held         a table is held, or messages are and nothing else is there to
//	             be done: an Error before says why
//	dead_letter  the dead-letter topic's answer
//	table        a table in BigQuery: its making, or its first row
//	bigquery     the answer of an append, or the pause before it is repeated
//	stream       no pull stream is open
//	acks         Pub/Sub's answer to an ack
//	messages     nothing is there to be done
//
// And commit_to_stored_p50_ms and commit_to_stored_p99_ms, of what was stored
// since the last line; they are left out if nothing was.
const EventProgress = "progress"

// The other events of this package. Every Error has code and fix.
const (
	EventStopping       = "sink stops receiving"                 // Info: outstanding_messages
	EventStopped        = "sink stopped"                         // Info: unacked_messages
	EventWriteRetry     = "write failed, will be repeated"       // Warn: table, rows, error, code, retry_ms
	EventWriteStalled   = "write fails for long"                 // Error: table, rows, error, failing_ms, code, fix
	EventTableRetry     = "table not ready, will be tried again" // Warn: table, error, retry_ms
	EventDeleteWaits    = "delete waits for its table"           // Warn: table
	EventMessageHeld    = "message held"                         // Error, again every minute: table, message_id, error, code, fix
	EventTableHeld      = "table held: too many refused rows"    // Error: table, refused_rows, code, fix
	EventTableReleased  = "table released"                       // Info: table
	EventDeadLetter     = "sent to the dead letter"              // Warn: table, error_code, changes
	EventMessageWritten = "message done"                         // Debug: message_id, position
)
