package pull

// The events of this package.
const (
	EventStreamOpened  = "pull stream opened"           // Info: stream
	EventStreamBroken  = "pull stream broken"           // Warn: stream, error, retry_ms
	EventLeaseFailed   = "extend leases failed"         // Warn: messages, error
	EventAckFailed     = "ack failed, will be repeated" // Warn: messages, error, retry_ms
	EventGivenBack     = "held too long, given back"    // Error: message_id, messages, code, fix
	EventMessageLogged = "message received"             // Debug: message_id, delivery_attempt
	EventRedelivered   = "message received again"       // Debug: message_id, delivery_attempt
)
