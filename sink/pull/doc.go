// Package pull receives messages from a Pub/Sub subscription and acks them in
// order: its own StreamingPull loop on the generated stub's method
// (https://cloud.google.com/pubsub/docs/reference/rpc/google.pubsub.v1#subscriber).
//
// Pub/Sub is authoritative for what is delivered again. A message is outstanding
// from its first receipt until its ack has been answered; while it is, its lease
// is extended, and another delivery of the same message id only replaces its
// ack id. An outstanding message is in one of these states:
//
//	held     the caller has it and hasn't said Done
//	done     its ack waits for the earlier messages of its ordering key, or for
//	         the Acknowledge request that is in flight
//	sending  its ack id is in the Acknowledge request in flight
//	gone     acked, or given back after the longest lease
//
// Order holds what may be acked (pure, no clock, no I/O); Puller gives it a
// clock and a connection. If the process dies, leases run out and Pub/Sub
// delivers again everything that wasn't acked. If a stream breaks, it is opened
// again with a back-off while leases and acks go on. An answer that is lost
// leaves the ack unknown: it is sent again. A refusal that time doesn't heal
// (subscription gone, no permission) ends Run with an error that has a Code and
// a Fix. No message is ever nacked alone.
package pull
