package storagewrite

// The events of this package.
const (
	EventStreamOpened = "write stream opened" // Info: table
	EventStreamClosed = "write stream closed" // Info: table, reason (broken | idle | least recently used | end)
)
