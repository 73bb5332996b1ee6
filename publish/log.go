package publish

// The events of this package. Each is one line in the log; alerts stand on them.
const (
	EventConnected   = "connected to Pub/Sub"                 // Info: endpoint, connections
	EventRetrying    = "publishing is being retried"          // Warn, at most one in 30 s: grpc_code, detail, retries, keys_retrying
	EventRecovered   = "publishing works again"               // Info: retries
	EventPublished   = "published message"                    // Debug: message_id, position
	EventWatchFault  = "Pub/Sub set-up is wrong"              // Error, one a finding and check: code, fix, detail, last_good
	EventWatchOpened = "Pub/Sub set-up is right"              // Info: checked
	EventWatchFailed = "Pub/Sub set-up could not be verified" // Warn: grpc_code, detail, last_good
)
