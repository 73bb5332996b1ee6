package main

// The log events of this package; those of capture and publish are theirs.
const (
	EventProgress = "publish progress" // Info: waiting_for (messages, answer, retry, setup) and the dispatcher's figures
)
