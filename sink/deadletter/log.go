package deadletter

// The events of this package.
const (
	EventSendFailed = "dead letter not accepted, will be repeated" // Warn: message_id, error, retry_ms
)
