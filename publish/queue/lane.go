package queue

// Item is one queued message.
type Item[M any] struct {
	Message M
	Bytes   int // in a request
}

// laneState is the state of a lane; a key without one isn't in the queue.
type laneState uint8

const (
	ready laneState = iota + 1
	flying
	retry
	resting
)

// lane is the queue of one ordering key.
type lane[M any] struct {
	key      string
	state    laneState
	items    []Item[M]
	sent     int // how many of items are in flight
	failures int // attempts that failed since the last one that didn't

	rested Instant // when what was sent is paid for at the key's rate
	until  Instant // end of the wait: retry and resting

	nextReady *lane[M]
}

// fifo is the list of the ready lanes.
type fifo[M any] struct {
	head, tail *lane[M]
	len        int
}

func (f *fifo[M]) push(l *lane[M]) {
	if f.tail == nil {
		f.head = l
	} else {
		f.tail.nextReady = l
	}
	f.tail = l
	f.len++
}

func (f *fifo[M]) pop() *lane[M] {
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
type waiting[M any] []*lane[M]

func (w waiting[M]) Len() int           { return len(w) }
func (w waiting[M]) Less(i, j int) bool { return w[i].until < w[j].until }
func (w waiting[M]) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting[M]) Push(x any)        { *w = append(*w, x.(*lane[M])) }

func (w *waiting[M]) Pop() any {
	old := *w
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*w = old[:len(old)-1]
	return l
}
