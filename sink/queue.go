package sink

import (
	"sync"
	"sync/atomic"

	"cdc/schema"
	"cdc/sink/pull"
)

// inbound is one received message on its way through a table.
type inbound struct {
	message    *pull.Message
	attributes schema.Attributes
	left       atomic.Int32 // changes that aren't settled, and one while it is decoded
	held       atomic.Bool  // it isn't waited for at the end
}

// queue is a table's messages in the order of their receipt. The pull window
// bounds it.
type queue struct {
	mu       sync.Mutex
	messages []*inbound
	signal   chan struct{} // there is something
}

func newQueue() *queue { return &queue{signal: make(chan struct{}, 1)} }

func (q *queue) push(in *inbound) {
	q.mu.Lock()
	q.messages = append(q.messages, in)
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// pop returns the oldest message, nil if there is none.
func (q *queue) pop() *inbound {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.messages) == 0 {
		return nil
	}
	in := q.messages[0]
	q.messages[0] = nil
	q.messages = q.messages[1:]
	if len(q.messages) == 0 {
		q.messages = nil
	}
	return in
}
