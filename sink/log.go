package sink

// The events of this package. Every Error has code and fix.
const (
	EventProgress       = "progress"                             // Info: see progress.go
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
