package pubsubtest

import "container/heap"

// entryState is where a message of a subscription stands.
type entryState uint8

const (
	waiting entryState = iota
	leased
	acking   // named by the ack request that is being worked on
	acked    // acked, but an earlier message of its key is not
	retained // acked and kept for seek
	gone
)

// entry is one message of one subscription.
type entry struct {
	msg        *message
	key        *keyQueue // nil: no order
	prev, next *entry    // in the key's or the loose queue
	owner      *consumer // holds the lease

	leasePrev, leaseNext *entry
	logPrev, logNext     *entry
	deadline             int64 // ns
	readyAt              int64 // not delivered again before that, ns: its back-off; without order: stands in the delay heap if it isn't 0
	slot                 uint32
	failures             uint16 // nacks and deadlines that passed, for the back-off
	attempts             uint16 // of those, the ones that count for the dead-letter policy
	secs                 uint16
	state                entryState
	delivered            bool // before
	holds                bool // its lease holds other keys back
}

// keyQueue is an ordering key with messages that are not gone: those from head
// to before cursor were delivered, those from cursor on wait.
type keyQueue struct {
	key string
	entryQueue
	cursor     *entry
	owner      *consumer // affinity, while messages are outstanding
	list       *keyList  // where it waits for a consumer, or nil
	prev, next *keyQueue
	delayedTo  int64 // waits in the delay heap until then, ns; 0: it doesn't
}

// keyList is a queue of keys that have a message to deliver.
type keyList struct{ first, last *keyQueue }

func (l *keyList) push(k *keyQueue) {
	k.list, k.prev, k.next = l, l.last, nil
	if l.last != nil {
		l.last.next = k
	} else {
		l.first = k
	}
	l.last = k
}

func (l *keyList) remove(k *keyQueue) {
	if k.prev != nil {
		k.prev.next = k.next
	} else {
		l.first = k.next
	}
	if k.next != nil {
		k.next.prev = k.prev
	} else {
		l.last = k.prev
	}
	k.list, k.prev, k.next = nil, nil, nil
}

// remove takes a message out of the queue, wherever it stands.
func (k *keyQueue) remove(e *entry) {
	if k.cursor == e {
		k.cursor = e.next
	}
	k.entryQueue.remove(e)
}

// entryQueue is a queue of messages: those of a key, or all without order.
type entryQueue struct{ head, tail *entry }

func (q *entryQueue) push(e *entry) {
	e.prev, e.next = q.tail, nil
	if q.tail != nil {
		q.tail.next = e
	} else {
		q.head = e
	}
	q.tail = e
}

func (q *entryQueue) remove(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		q.head = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		q.tail = e.prev
	}
	e.prev, e.next = nil, nil
}

func (q *entryQueue) pop() *entry {
	e := q.head
	q.remove(e)
	return e
}

// delay is a key or a message that waits for its retry back-off.
type delay struct {
	at  int64 // ns
	key *keyQueue
	e   *entry
}

type delayHeap []delay

func (h delayHeap) Len() int           { return len(h) }
func (h delayHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h delayHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *delayHeap) Push(x any)        { *h = append(*h, x.(delay)) }
func (h *delayHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = delay{}
	*h = old[:len(old)-1]
	return last
}

func (h *delayHeap) add(d delay) { heap.Push(h, d) }

// due removes and returns the earliest delay that is over at now.
func (h *delayHeap) due(now int64) (delay, bool) {
	if len(*h) == 0 || (*h)[0].at > now {
		return delay{}, false
	}
	return heap.Pop(h).(delay), true
}
