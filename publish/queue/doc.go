// Package queue decides which publish request is sent next: a queue for each
// ordering key, one request in flight for each, keys in the order in which they
// became ready.
//
// A key with something in it is in one of four states:
//
//	push ──▶ ready ──Next──▶ flying ──Done──▶ ready, resting or gone
//	            ▲               ├────Failed──▶ retry ──Next──▶ flying
//	            │               └────Again───▶ retry
//	            └──(time)── resting
//
//	ready    something is queued and it may be sent
//	flying   one request is in flight
//	retry    the last attempt failed; it waits, its place among the requests in
//	         flight is kept
//	resting  its last request used up its share of the rate of a key
//
// A request that failed goes out again from its first message on, with what has
// gathered behind it: nothing is ever skipped, so the first occurrences of a
// key's messages are stored in the order of Push, without a gap. A key that
// drains leaves nothing behind.
//
// It is pure: no goroutine, clock, lock or I/O. Its owner serialises the calls,
// passes the time and decides how long a failed request waits. The Dispatcher
// drives it, and so does the simulation.
package queue
