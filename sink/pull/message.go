package pull

import (
	"iter"
	"sync/atomic"
	"time"
)

// Message is one delivery. Its byte slices alias the response that it came in:
// that buffer is never written again and is freed by the garbage collector when
// no message of the response is referenced any more, so they may be kept as long
// as the Message may, and mustn't be changed.
type Message struct {
	ID              []byte    // the server's message id, unique within the topic
	OrderingKey     []byte    // empty without one
	Data            []byte    // the body
	PublishTime     time.Time // when Pub/Sub stored it
	DeliveryAttempt int32     // 0 if the subscription has no dead-letter policy, else from 1

	ackID      []byte
	attributes []byte // the PubsubMessage, in which the attributes lie
	size       int    // bytes that it counts for in the window
	order      Delivery
	givenBack  atomic.Bool
}

// Attributes yields the attributes' names and values in wire order.
func (m *Message) Attributes() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for b := m.attributes; len(b) > 0; {
			f, rest, err := nextField(b)
			if err != nil {
				return // parseMessage has walked all of it
			}
			b = rest
			if f.num != fieldAttributes {
				continue
			}
			name, value, err := parseEntry(f.bytes)
			if err != nil || !yield(name, value) {
				return
			}
		}
	}
}

// GivenBack reports whether the message was given back to Pub/Sub because it
// was held for longer than the longest lease. It must not be written any more:
// Pub/Sub delivers it again.
func (m *Message) GivenBack() bool { return m.givenBack.Load() }
