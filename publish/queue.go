package publish

import (
	"container/heap"
	"time"
)

// instant is a time as the queue sees it: since the Dispatcher was made. The
// queue has no clock, the caller passes the time.
type instant = time.Duration

// limits of the queue.
type limits struct {
	requests              int // in flight, those that wait for a retry included
	requestMessages       int
	requestBytes          int     // of a request with more than one message
	keyRateBytesPerSecond float64 // 0: no limit
}

// queue decides what is sent next: a queue per ordering key, one request in
// flight per key, keys in the order in which they became ready. It is pure: no
// goroutine, clock, lock or I/O; a simulation drives it as the Dispatcher does.
//
//	push ──▶ ready ──next──▶ flying ──done──▶ ready, resting or gone
//	            ▲               └────failed──▶ retry ──next──▶ flying
//	            └──(time)── resting
type queue struct {
	limits limits
	shut   bool // next gives nothing; set it with open
	shuts  int  // how often it was shut

	lanes    map[string]*lane
	most     int // lanes that there were at a time
	ready    fifo
	waiting  waiting
	slots    int // flying and retry
	flying   int
	messages int   // queued, those in flight included
	bytes    int64 // likewise
}

func newQueue(l limits) *queue {
	return &queue{limits: l, lanes: make(map[string]*lane)}
}

// request is what next hands out: the first messages of one key.
type request struct {
	lane  *lane
	items []item // valid until done or failed; a later push doesn't touch them
	bytes int
	shuts int // of the queue when it was handed out
}

// open opens or shuts the queue.
func (q *queue) open(open bool) {
	if !open && !q.shut {
		q.shuts++
	}
	q.shut = !open
}

// counts says whether an answer to r counts: not if the queue was shut since r
// was handed out, even if it is open again. What r brought may have been stored
// for nobody.
func (q *queue) counts(r request) bool { return !q.shut && r.shuts == q.shuts }

// push adds a message to the end of its key's queue.
func (q *queue) push(key []byte, it item) {
	l := q.lanes[string(key)]
	if l == nil {
		l = &lane{key: string(key), state: ready}
		q.lanes[l.key] = l
		q.ready.push(l)
	}
	l.items = append(l.items, it)
	q.messages++
	q.bytes += int64(it.bytes)
}

// next returns the next request to send, if there is one: a retry that is due,
// else the key that has been ready the longest, if a place is free.
func (q *queue) next(now instant) (request, bool) {
	q.wakeResting(now)
	if q.shut {
		return request{}, false
	}
	if len(q.waiting) > 0 && q.waiting[0].until <= now { // a retry: those that rested are awake
		l := heap.Pop(&q.waiting).(*lane)
		return q.fly(l, now), true
	}
	if q.slots >= q.limits.requests {
		return request{}, false
	}
	l := q.ready.pop()
	if l == nil {
		return request{}, false
	}
	q.slots++
	return q.fly(l, now), true
}

// fly takes everything of l that fits into one request.
func (q *queue) fly(l *lane, now instant) request {
	n, bytes := 1, l.items[0].bytes
	for n < len(l.items) && n < q.limits.requestMessages && bytes+l.items[n].bytes <= q.limits.requestBytes {
		bytes += l.items[n].bytes
		n++
	}
	l.state, l.sent = flying, n
	if q.limits.keyRateBytesPerSecond > 0 {
		l.rested = max(l.rested, now) + instant(float64(bytes)/q.limits.keyRateBytesPerSecond*float64(time.Second))
	}
	q.flying++
	return request{lane: l, items: l.items[:n:n], bytes: bytes, shuts: q.shuts}
}

// done says that all of r was accepted.
func (q *queue) done(r request, now instant) {
	l := r.lane
	q.flying--
	q.slots--
	q.messages -= l.sent
	q.bytes -= int64(r.bytes)
	l.items, l.sent, l.backoff = l.items[l.sent:], 0, nil
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

// failed says that r may not have been stored. Its messages stay at the head of
// their key and go out again at until at the earliest, with whatever has
// gathered behind them. The place in flight is kept, so that an outage leaves at
// most limits.requests keys trying instead of every key that is queued.
func (q *queue) failed(r request, until instant) {
	l := r.lane
	q.flying--
	l.sent = 0
	l.state, l.until = retry, max(until, l.rested)
	heap.Push(&q.waiting, l)
}

// wakeResting makes the keys whose rest is over ready, or drops them.
func (q *queue) wakeResting(now instant) {
	for len(q.waiting) > 0 && q.waiting[0].state == resting && q.waiting[0].until <= now {
		l := heap.Pop(&q.waiting).(*lane)
		if len(l.items) == 0 {
			q.drop(l)
			continue
		}
		l.state = ready
		q.ready.push(l)
	}
}

// drop forgets a drained key. A map keeps the room that it once needed, so an
// empty one is left to the garbage collector.
func (q *queue) drop(l *lane) {
	q.most = max(q.most, len(q.lanes))
	delete(q.lanes, l.key)
	if len(q.lanes) == 0 && q.most > 1000 {
		q.lanes, q.most = make(map[string]*lane), 0
	}
}

// wake returns the earliest time at which next may give more than now only
// because time has passed.
func (q *queue) wake() (instant, bool) {
	if len(q.waiting) == 0 {
		return 0, false
	}
	return q.waiting[0].until, true
}

// sendable says whether next would hand out a request.
func (q *queue) sendable(now instant) bool {
	q.wakeResting(now)
	return !q.shut && (q.ready.len > 0 && q.slots < q.limits.requests ||
		len(q.waiting) > 0 && q.waiting[0].until <= now)
}
