package main

// This package has no log events of its own. It adds to capture's progress line
// what the dispatcher does.
const (
	// keyPublishWaitingFor says what the dispatcher waits for:
	//
	//	setup     the watch holds publishing: topics or subscriptions are wrong,
	//	          weren't looked at yet, or were wrong: then the process ends soon
	//	retry     the back-off of keys whose request failed; nothing is on the wire
	//	answer    Pub/Sub's answer to a request
	//	messages  nothing is there to be sent
	//
	// What comes behind it: totals since the start (publish_messages,
	// publish_bytes, publish_requests, publish_retries), what is so now
	// (requests_in_flight, keys_retrying, keys_resting, queued_messages,
	// queued_bytes), and publish_p50_ms and publish_p99_ms, from hand-over to
	// acceptance of what was accepted since the last line; they are left out if
	// nothing was.
	keyPublishWaitingFor = "publish_waiting_for"
)
