package capture

// The events of this package, each with its level and attributes. Info is a
// change of state, Warn recovers by itself, Error needs somebody.
const (
	EventConnecting      = "connecting to the source failed, trying again"                      // Warn: error, wait_ms
	EventSlotInUse       = "slot is in use by another instance, waiting"                        // Info: slot, wait_ms
	EventStreaming       = "streaming"                                                          // Info: slot, publication, tables, epoch, checkpoint, confirmed
	EventProgress        = "progress"                                                           // Info: waiting_for, changes, transactions, in_flight_messages, in_flight_bytes, unconfirmed_bytes, received, confirmed; then what Config.ProgressMore adds
	EventRewritten       = "table was rewritten, its rows are the same"                         // Warn: table
	EventStateUnwritable = "checkpoint can't be written, nothing is confirmed"                  // Warn: error, since_ms; after a minute Error: also code, fix
	EventStopping        = "stopping, waiting until what was handed on is accepted"             // Info: in_flight_messages, limit_ms
	EventStopIncomplete  = "stopped before everything was accepted, it will be published again" // Warn: in_flight_messages, error
	EventStopped         = "stopped"                                                            // Info: confirmed, changes, transactions
	EventServerShutdown  = "the server shuts down, replication connection closed"               // Warn
	EventInit            = "init"                                                               // Info: did
	EventWaitSnapshot    = "making the slot, which waits for every running transaction to end"  // Info: slot
	EventIgnoredMessage  = "logical message left out, its prefix isn't configured"              // Debug: prefix, content_bytes
)
