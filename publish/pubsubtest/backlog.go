package pubsubtest

import "slices"

// message is one stored message, shared by all subscriptions of its topic.
type message struct {
	id   uint64
	time int64  // publish time, ns
	body []byte // the PubsubMessage as it came, without id and time
	key  string // ordering key
	req  uint64 // number of the publish request
}

// consumer takes messages: a StreamingPull stream, or a unary Pull.
type consumer struct {
	maxMessages, maxBytes int64 // outstanding limits, 0 = none
	messages, bytes       int64 // outstanding
	leaseSecs             int32
	ready                 keyList // keys bound to this consumer with a message to deliver
	oneBatch              bool    // a key with outstanding messages gets no further ones (unary Pull)
	ended                 bool
	idle                  bool          // found nothing and waits for wake
	wake                  chan struct{} // capacity 1
}

func (c *consumer) hasRoom() bool {
	return (c.maxMessages <= 0 || c.messages < c.maxMessages) && (c.maxBytes <= 0 || c.bytes < c.maxBytes)
}

// signal wakes a consumer that waits for messages and has room for them.
func (c *consumer) signal() {
	if c.idle && c.hasRoom() {
		c.wakeNow()
	}
}

func (c *consumer) wakeNow() {
	c.idle = false
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// backlog is what a subscription has still to deliver and what it waits to have
// acked. It is a pure state machine: the caller holds the lock, gives the time
// in nanoseconds, and carries the deliveries out.
type backlog struct {
	ordered     bool
	onAck       AckPolicy
	onEnd       EndedPolicy
	backoffMin  int64 // ns; 0 with backoffMax 0: redeliver at once
	backoffMax  int64
	window      int64       // ns from its publish time for which a message is kept; 0: for ever
	retainAcked bool        // acked messages stay for seek until the window is over
	maxAttempts int         // at a message until it is a dead letter; 0: never
	copies      int         // of each dead letter
	canForward  func() bool // whether the dead-letter topic exists
	count       *Counters

	keys      map[string]*keyQueue
	mostKeys  int        // since keys was made
	fresh     keyList    // keys that any consumer may take
	loose     entryQueue // messages without order
	delayed   delayHeap
	leases    leases
	consumers []*consumer
	puller    *consumer // what unary Pull delivered, whichever call it was
	waiting   int       // messages not delivered, or to be delivered again
	log       messageLog
	dead      []deadLetter // to be forwarded by the caller
	holding   int          // leases that hold all ordering keys back (fault HoldOthers)

	batch   []*entry    // scratch of ack
	touched []*keyQueue // scratch of ack
}

func newBacklog(ordered bool, count *Counters) *backlog {
	return &backlog{ordered: ordered, count: count, keys: map[string]*keyQueue{}, puller: &consumer{oneBatch: true}}
}

// delivery is one message on its way to a consumer, with what the response says.
type delivery struct {
	msg     *message
	id      ackID
	attempt int32
}

// publish appends messages, all with the same ordering key, in storing order.
func (b *backlog) publish(msgs []*message) {
	entries := make([]entry, len(msgs))
	for i, m := range msgs {
		e := &entries[i]
		e.msg = m
		b.log.push(e)
		b.append(e)
	}
}

// append makes a message wait behind all others of its ordering key.
func (b *backlog) append(e *entry) {
	e.state = waiting
	b.waiting++
	if !b.ordered || e.msg.key == "" {
		b.loose.push(e)
		b.wakeAll()
		return
	}
	k := b.keys[e.msg.key]
	if k == nil {
		k = &keyQueue{key: e.msg.key}
		b.keys[k.key] = k
		b.mostKeys = max(b.mostKeys, len(b.keys))
	}
	e.key = k
	k.push(e)
	if k.cursor == nil {
		k.cursor = e
		b.place(k)
	}
}

// place puts a key that has a message to deliver where its consumer finds it.
func (b *backlog) place(k *keyQueue) {
	if k.list != nil || k.delayedTo != 0 || k.cursor == nil {
		return
	}
	if k.owner != nil && k.owner.ended {
		if b.onEnd == KeyHeld {
			return // until settle or delay finds nothing of it outstanding
		}
		k.owner = nil
	}
	switch {
	case k.owner == nil:
		b.fresh.push(k)
		b.wakeAll()
	case !k.owner.oneBatch:
		k.owner.ready.push(k)
		k.owner.signal()
	}
}

func (b *backlog) wakeAll() {
	for _, c := range b.consumers {
		c.signal()
	}
}

// join adds a consumer.
func (b *backlog) join(c *consumer) { b.consumers = append(b.consumers, c) }

// leave takes a consumer out: its leases run on, its keys are released or held.
func (b *backlog) leave(c *consumer) {
	c.ended = true
	b.consumers = slices.DeleteFunc(b.consumers, func(o *consumer) bool { return o == c })
	for c.ready.first != nil {
		k := c.ready.first
		c.ready.remove(k)
		b.place(k)
	}
}

// take leases up to n messages or about size bytes to c and appends them to out.
func (b *backlog) take(c *consumer, now int64, n, size int, out []delivery) []delivery {
	for len(out) < n && size > 0 && c.hasRoom() {
		var k *keyQueue
		switch {
		case c.ready.first != nil && b.holding == 0:
			k = c.ready.first
		case b.fresh.first != nil && b.holding == 0:
			k = b.fresh.first
			k.owner = c
		case b.loose.head != nil:
			e := b.loose.pop()
			size -= len(e.msg.body)
			out = append(out, b.lease(e, c, now))
			continue
		default:
			return out
		}
		k.list.remove(k)
		for k.cursor != nil && k.cursor.readyAt <= now && len(out) < n && size > 0 && c.hasRoom() {
			e := k.cursor
			k.cursor = e.next
			size -= len(e.msg.body)
			out = append(out, b.lease(e, c, now))
		}
		if k.cursor != nil && k.cursor.readyAt > now {
			b.delay(k, k.cursor.readyAt)
		}
		b.place(k)
	}
	return out
}

func (b *backlog) lease(e *entry, c *consumer, now int64) delivery {
	b.waiting--
	b.count.Delivered++
	b.count.DeliveredBytes += int64(len(e.msg.body))
	if e.delivered {
		b.count.Redelivered++
	}
	e.state, e.owner, e.delivered, e.readyAt = leased, c, true, 0
	c.messages++
	c.bytes += int64(len(e.msg.body))
	b.leases.add(e, now, c.leaseSecs)
	return delivery{msg: e.msg, id: ackID{slot: e.slot, gen: b.leases.slots[e.slot].gen}, attempt: 1 + int32(e.attempts)}
}

// unlease ends the lease of e and gives its consumer room again.
func (b *backlog) unlease(e *entry) {
	b.leases.remove(e)
	e.owner.messages--
	e.owner.bytes -= int64(len(e.msg.body))
	e.owner.signal()
	e.owner = nil
	if e.holds {
		b.release(e)
	}
}

// ack works on the acks of one request. Ids whose lease is over are ignored: the
// documentation says that such an ack may or may not hold.
func (b *backlog) ack(ids []ackID) {
	b.batch, b.touched = b.batch[:0], b.touched[:0]
	for _, id := range ids {
		e := b.leases.find(id)
		if e == nil || e.state != leased {
			b.count.AcksStale++
			continue
		}
		b.count.Acks++
		if e.key == nil {
			b.unlease(e)
			b.finish(e)
			continue
		}
		e.state = acking
		b.batch = append(b.batch, e)
		if n := len(b.touched); n == 0 || b.touched[n-1] != e.key {
			b.touched = append(b.touched, e.key)
		}
	}
	for _, k := range b.touched {
		b.popAcked(k)
	}
	for i, e := range b.batch {
		if e.state == acking {
			b.ackOutOfOrder(e)
		}
		b.batch[i] = nil
	}
	clear(b.touched)
}

// popAcked removes the key's delivered messages that are acked with all earlier
// ones.
func (b *backlog) popAcked(k *keyQueue) {
	for k.head != k.cursor && (k.head.state == acking || k.head.state == acked) {
		e := k.head
		if e.state == acking {
			b.unlease(e)
		}
		k.remove(e)
		b.finish(e)
	}
	b.settle(k)
}

func (b *backlog) ackOutOfOrder(e *entry) {
	b.count.AcksOutOfOrder++
	if b.onAck == AckDropped {
		e.state = leased
		return
	}
	b.unlease(e)
	e.state = acked
}

// settle frees a key that has nothing outstanding any more: it is forgotten if
// nothing waits, else any consumer may take it.
func (b *backlog) settle(k *keyQueue) {
	if k.cursor == nil && k.list != nil {
		k.list.remove(k)
	}
	if k.cursor != nil && k.cursor.readyAt < k.delayedTo {
		k.delayedTo = 0 // what it waited for is gone
	}
	if k.head == k.cursor {
		k.owner = nil
		if k.head == nil {
			b.forget(k)
			return
		}
		if k.list != nil && k.list != &b.fresh {
			k.list.remove(k)
		}
	}
	b.place(k)
}

// keysKept is up to how many keys their map is kept when it has become empty: a
// map never gives back the memory of its entries.
const keysKept = 10_000

// forget takes out a key that has no messages.
func (b *backlog) forget(k *keyQueue) {
	if b.keys[k.key] != k {
		return
	}
	delete(b.keys, k.key)
	if len(b.keys) == 0 && b.mostKeys > keysKept {
		b.keys, b.mostKeys = map[string]*keyQueue{}, 0
	}
}
