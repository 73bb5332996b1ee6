package schema

// FormatVersion is the wire format's version, attribute v.
const FormatVersion = 1

// The limits of a message. What exceeds one is refused with its own error.
const (
	MaxMessageBytes = 10_000_000 // a body; Pub/Sub counts the attributes too (https://cloud.google.com/pubsub/quotas)
	MaxChanges      = 100_000    // changes in one message
	MaxNesting      = 32         // of JSON arrays and objects
)
