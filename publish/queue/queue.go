package queue

import (
	"container/heap"
	"time"
)

// Instant is a time as the queue sees it: since any moment before its first use.
type Instant = time.Duration

// Limits of a Queue.
type Limits struct {
	Requests              int     // in flight, those that wait for a retry included
	RequestMessages       int     // messages a request
	RequestBytes          int     // of a request with more than one message
	KeyRateBytesPerSecond float64 // of one ordering key; 0: no limit
}

// Queue holds messages of type M. Make one with New.
type Queue[M any] struct {
	limits Limits
	shut   bool // Next gives nothing; set it with Open
	shuts  int  // how often it was shut

	lanes    map[string]*lane[M]
	most     int // lanes that there were at a time
	ready    fifo[M]
	waiting  waiting[M]
	slots    int // flying and retry
	flying   int
	messages int   // queued, those in flight included
	bytes    int64 // likewise
}

// New returns an empty Queue. It is open.
func New[M any](l Limits) *Queue[M] {
	return &Queue[M]{limits: l, lanes: make(map[string]*lane[M])}
}

// Request is what Next hands out: the first messages of one key.
type Request[M any] struct {
	Key      string
	Items    []Item[M] // valid until Done, Failed or Again; a later Push doesn't touch them
	Bytes    int
	Failures int // attempts before this one that failed in a row

	lane  *lane[M]
	shuts int // of the queue when it was handed out
}

// Open opens or shuts the queue: while it is shut Next gives nothing.
func (q *Queue[M]) Open(open bool) {
	if !open && !q.shut {
		q.shuts++
	}
	q.shut = !open
}

// IsOpen reports whether the queue is open.
func (q *Queue[M]) IsOpen() bool { return !q.shut }

// Counts says whether an answer to r counts: not if the queue was shut since r
// was handed out, even if it is open again. What r brought may have been stored
// for nobody.
func (q *Queue[M]) Counts(r Request[M]) bool { return !q.shut && r.shuts == q.shuts }

// Push adds a message of so many bytes to the end of its key's queue.
func (q *Queue[M]) Push(key []byte, bytes int, message M) {
	l := q.lanes[string(key)]
	if l == nil {
		l = &lane[M]{key: string(key), state: ready}
		q.lanes[l.key] = l
		q.ready.push(l)
	}
	l.items = append(l.items, Item[M]{message, bytes})
	q.messages++
	q.bytes += int64(bytes)
}

// Next returns the next request to send, if there is one: a retry that is due,
// else the key that has been ready the longest, if a place is free. Each request
// must be given back once, by Done, Failed or Again.
func (q *Queue[M]) Next(now Instant) (Request[M], bool) {
	q.wakeResting(now)
	if q.shut {
		return Request[M]{}, false
	}
	if len(q.waiting) > 0 && q.waiting[0].until <= now { // a retry: those that rested are awake
		l := heap.Pop(&q.waiting).(*lane[M])
		return q.fly(l, now), true
	}
	if q.slots >= q.limits.Requests {
		return Request[M]{}, false
	}
	l := q.ready.pop()
	if l == nil {
		return Request[M]{}, false
	}
	q.slots++
	return q.fly(l, now), true
}

// fly takes everything of l that fits into one request.
func (q *Queue[M]) fly(l *lane[M], now Instant) Request[M] {
	n, bytes := 1, l.items[0].Bytes
	for n < len(l.items) && n < q.limits.RequestMessages && bytes+l.items[n].Bytes <= q.limits.RequestBytes {
		bytes += l.items[n].Bytes
		n++
	}
	l.state, l.sent = flying, n
	if q.limits.KeyRateBytesPerSecond > 0 {
		l.rested = max(l.rested, now) + Instant(float64(bytes)/q.limits.KeyRateBytesPerSecond*float64(time.Second))
	}
	q.flying++
	return Request[M]{Key: l.key, Items: l.items[:n:n], Bytes: bytes, Failures: l.failures, lane: l, shuts: q.shuts}
}

// Done says that all of r was accepted.
func (q *Queue[M]) Done(r Request[M], now Instant) {
	l := r.lane
	q.flying--
	q.slots--
	q.messages -= l.sent
	q.bytes -= int64(r.Bytes)
	l.items, l.sent, l.failures = l.items[l.sent:], 0, 0
	switch {
	case l.rested > now:
		l.state, l.until = resting, l.rested
		heap.Push(&q.waiting, l)
	case len(l.items) > 0:
		l.state = ready
		q.ready.push(l)
	default:
		q.drop(l)
	}
}

// Failed says that r may not have been stored. Its messages stay at the head of
// their key and go out again at until at the earliest, with whatever has
// gathered behind them. The place in flight is kept, so that an outage leaves at
// most Limits.Requests keys trying instead of every key that is queued.
func (q *Queue[M]) Failed(r Request[M], until Instant) {
	r.lane.failures++
	q.Again(r, until)
}

// Again sends r once more like Failed, but isn't counted as a failure: for an
// answer that doesn't count.
func (q *Queue[M]) Again(r Request[M], until Instant) {
	l := r.lane
	q.flying--
	l.sent = 0
	l.state, l.until = retry, max(until, l.rested)
	heap.Push(&q.waiting, l)
}

// wakeResting makes the keys whose rest is over ready, or drops them.
func (q *Queue[M]) wakeResting(now Instant) {
	for len(q.waiting) > 0 && q.waiting[0].state == resting && q.waiting[0].until <= now {
		l := heap.Pop(&q.waiting).(*lane[M])
		if len(l.items) == 0 {
			q.drop(l)
			continue
		}
		l.state = ready
		q.ready.push(l)
	}
}

// lanesKept is up to how many keys their map is kept when it has become empty.
const lanesKept = 1_000

// drop forgets a drained key. A map keeps the room that it once needed, so an
// empty one is left to the garbage collector.
func (q *Queue[M]) drop(l *lane[M]) {
	q.most = max(q.most, len(q.lanes))
	delete(q.lanes, l.key)
	if len(q.lanes) == 0 && q.most > lanesKept {
		q.lanes, q.most = make(map[string]*lane[M]), 0
	}
}

// Wake returns the earliest time at which Next may give more than now only
// because time has passed.
func (q *Queue[M]) Wake() (Instant, bool) {
	if len(q.waiting) == 0 {
		return 0, false
	}
	return q.waiting[0].until, true
}

// Sendable says whether Next would hand out a request.
func (q *Queue[M]) Sendable(now Instant) bool {
	q.wakeResting(now)
	return !q.shut && (q.ready.len > 0 && q.slots < q.limits.Requests ||
		len(q.waiting) > 0 && q.waiting[0].until <= now)
}

// Clear drops everything that is queued or in flight; no Request that was handed
// out before may be given back any more. It is as open or shut as before.
func (q *Queue[M]) Clear() {
	*q = Queue[M]{limits: q.limits, lanes: make(map[string]*lane[M]), shut: q.shut, shuts: q.shuts}
}

// Keys returns how many keys have something queued, in flight or rest.
func (q *Queue[M]) Keys() int { return len(q.lanes) }

// Messages returns how many messages aren't accepted yet, those in flight included.
func (q *Queue[M]) Messages() int { return q.messages }

// Bytes returns the bytes of Messages.
func (q *Queue[M]) Bytes() int64 { return q.bytes }

// InFlight returns how many requests were handed out and not given back.
func (q *Queue[M]) InFlight() int { return q.flying }

// Retrying returns how many keys wait to send a failed request again.
func (q *Queue[M]) Retrying() int { return q.slots - q.flying }

// Resting returns how many keys are at their rate limit, drained ones included.
func (q *Queue[M]) Resting() int { return len(q.waiting) - q.Retrying() }
