package publish

import (
	"cdc/schema"

	"github.com/googleapis/gax-go/v2"
)

// item is one queued message.
type item struct {
	wire     []byte // the PubsubMessage without its sent attribute
	bytes    int    // in a request, sent attribute and framing included
	position schema.Position
	tag      uint64
	accepted func(tag uint64)
	pushed   instant
}

// state of a lane; a key without one isn't in the queue.
type laneState uint8

const (
	ready laneState = iota + 1
	flying
	retry
	resting
)

// lane is the queue of one ordering key.
type lane struct {
	key   string
	state laneState
	items []item
	sent  int // how many of items are in flight

	rested instant // when what was sent is paid for at the key's rate
	until  instant // end of the wait: retry and resting

	backoff   *gax.Backoff // kept by the caller; nil unless the last attempt failed
	nextReady *lane
}

// fifo is the list of the ready lanes.
type fifo struct {
	head, tail *lane
	len        int
}

func (f *fifo) push(l *lane) {
	if f.tail == nil {
		f.head = l
	} else {
		f.tail.nextReady = l
	}
	f.tail = l
	f.len++
}

func (f *fifo) pop() *lane {
	l := f.head
	if l == nil {
		return nil
	}
	f.head, l.nextReady = l.nextReady, nil
	if f.head == nil {
		f.tail = nil
	}
	f.len--
	return l
}

// waiting is the heap of the lanes that wait for a time, the earliest first.
type waiting []*lane

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].until < w[j].until }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)        { *w = append(*w, x.(*lane)) }

func (w *waiting) Pop() any {
	old := *w
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*w = old[:len(old)-1]
	return l
}
