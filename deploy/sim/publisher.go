package main

import (
	"time"

	"cdc/capture/confirm"
	"cdc/publish/queue"
	"cdc/schema"
)

// publisher is one process of cdc-publisher: it receives the source's log, and
// its window and queue decide what is confirmed and sent. What is in here dies
// with it.
type publisher struct {
	window *confirm.Window
	queue  *queue.Queue[flight]
	next   int // transaction of the log
	at     int // change of it; -1: not begun
	ended  schema.LSN

	keepalive schema.LSN // the last one received
	confirming
	good   bool // the topic was seen without a fault: the gate is open
	broken bool // and with one since: nothing is vouched for any more

	waiting bool // for room in the window; the window says when there is some
	looking int  // workers that ask the queue for a request though nothing says that there is one

	old   bool // it lost its slot and doesn't know yet
	until int  // then: the transactions that had been sent to it before

	// Counted apart from the machines.
	charged     int64          // bytes in flight
	messages    int64          // likewise
	confirmable schema.LSN     // the highest so far
	sending     map[string]int // requests in flight by ordering key
}

// flight is a message of the queue.
type flight struct {
	change *change
	tag    confirm.Tag
}

type request = queue.Request[flight]

// manyTransactions is more than a window has room for at first.
const manyTransactions = 64

// requestBytes is how large a publish request may be.
const requestBytes = 1500

var publisherSteps = []step{
	{"start publisher", 30, false, func(w *world) bool { return w.publisher == nil }, (*world).startPublisher},
	{"crash publisher", 1, true, func(w *world) bool { return w.publisher != nil }, (*world).publisherEnds},
	{"receive", 30, false, func(w *world) bool { return receivable(w, w.publisher) }, func(w *world) { w.receive(w.publisher) }},
	{"keepalive", 4, false, func(w *world) bool { return w.publisher != nil && len(w.source.log) > 0 }, (*world).receiveKeepalive},
	{"publish", 50, false, func(w *world) bool { return publishable(w, w.publisher) }, func(w *world) { w.publish(w.publisher) }},
	{"time passes", 10, false, (*world).waits, (*world).pass},
}

// startPublisher starts a process on what the source and the state say.
func (w *world) startPublisher() {
	if w.source.confirmed > w.source.checkpoint {
		w.find("checkpoint", "the publisher doesn't start: the slot is at %s, the checkpoint at %s", w.source.confirmed, w.source.checkpoint)
		return
	}
	p := &publisher{
		window: confirm.New(w.nature.window, w.source.checkpoint),
		queue:  queue.New[flight](w.decide.limits(&w.nature)),
		at:     -1, sending: make(map[string]int),
		confirming: confirming{durable: w.source.checkpoint},
	}
	w.decide.gate(p)
	for p.next < len(w.source.log) && w.source.log[p.next].end <= w.source.confirmed {
		p.next++
	}
	w.publisher, w.source.owner = p, p
	if w.trace != nil {
		w.trace.note("streams from %s, checkpoint %s", w.source.confirmed, w.source.checkpoint)
	}
}

// publisherEnds is a crash or any other end: what it waited for may still arrive.
func (w *world) publisherEnds() {
	w.abandon(w.publisher)
	w.publisher = nil
}

// receivable reports whether p can take a record of the stream. One that waits
// for room isn't asked again before the window has said that there is some.
func receivable(w *world, p *publisher) bool {
	if p == nil || p.waiting || p.next >= len(w.source.log) || p.old && p.next >= p.until {
		return false
	}
	return true
}

// receive takes some records of the stream: begins, changes and commits.
func (w *world) receive(p *publisher) {
	for range 1 + w.r.IntN(3*w.nature.burst) {
		if !receivable(w, p) {
			return
		}
		tx := &w.source.log[p.next]
		switch {
		case p.at < 0:
			p.window.Begin()
			p.at = 0
		case p.at < len(tx.changes):
			if p.waiting = w.decide.full(p); p.waiting {
				return
			}
			w.hand(p, tx.changes[p.at])
			p.at++
		default:
			p.window.Commit(tx.end)
			p.ended = tx.end
			p.next, p.at = p.next+1, -1
		}
		w.checkWindow(p)
	}
}

// hand counts a change in the window and queues it.
func (w *world) hand(p *publisher, c *change) {
	if p.charged >= w.nature.window {
		w.find("window", "%d bytes are in flight and one more message is handed on, the limit is %d", p.charged, w.nature.window)
	}
	p.charged += charge(c)
	p.messages++
	f := flight{c, p.window.Add(c.bytes)}
	p.queue.Push([]byte(w.decide.lane(c)), c.bytes, f)
}

// charge is what a message takes of the window.
func charge(c *change) int64 { return int64(c.bytes+255) / 256 * 256 }

// checkWindow: it counts what is in flight, it is settled only if all that was
// committed on the stream is confirmable, and that never falls.
func (w *world) checkWindow(p *publisher) {
	if p.window.Transactions() > manyTransactions {
		w.counts.many++
	}
	if p.window.Settled() && p.window.Published() < p.ended {
		w.find("window", "it is settled at %s, committed is %s", p.window.Published(), p.ended)
	}
	if p.window.Bytes() != p.charged || p.window.Messages() != p.messages {
		w.find("window", "%d messages, %d bytes are in flight, the window says %d, %d", p.messages, p.charged, p.window.Messages(), p.window.Bytes())
	}
	if lsn := p.window.Confirmable(); lsn < p.confirmable {
		w.find("window", "confirmable fell from %s to %s", p.confirmable, lsn)
	} else {
		p.confirmable = lsn
	}
}

// receiveKeepalive: the server names the end of the WAL that it has read: past
// the transaction that it is sending, or past what others have written.
func (w *world) receiveKeepalive() {
	p := w.publisher
	var end schema.LSN
	switch {
	case p.at >= 0:
		end = w.source.log[p.next].end
	case p.next > 0:
		end = w.source.log[p.next-1].end
	default:
		return
	}
	if p.at < 0 && p.next == len(w.source.log) {
		end = w.source.walEnd()
	}
	p.keepalive = max(p.keepalive, end)
	p.window.Keepalive(p.keepalive)
	w.checkWindow(p)
}

// publishable reports whether a worker of p asks for a request: one that has had
// its answer asks whatever the queue says.
func publishable(w *world, p *publisher) bool {
	return p != nil && (p.looking > 0 || p.queue.Sendable(w.now))
}

// publish sends the queue's next request.
func (w *world) publish(p *publisher) {
	p.looking = max(0, p.looking-1)
	sendable := p.queue.Sendable(w.now)
	r, ok := p.queue.Next(w.decide.asks(w))
	if ok != sendable {
		w.find("queue", "it says that it can send %t, and it does %t", sendable, ok)
	}
	if !ok {
		return
	}
	w.checkRequest(p, r)
	key := r.Items[0].Message.change.ordering
	p.sending[key]++
	if r.Failures > 0 {
		w.counts.retries++
	}
	messages := make([]flight, len(r.Items)) // the call may outlive the request
	for i, it := range r.Items {
		messages[i] = it.Message
	}
	w.send(publishing, &call{
		caller: p,
		arrive: func() {
			if p.old {
				w.counts.old += len(messages)
			}
			w.store(key, messages)
		},
		answer: func(ok bool) {
			if p.sending[key]--; p.sending[key] == 0 {
				delete(p.sending, key)
			}
			p.looking++
			if ok {
				w.accept(p, r)
			} else {
				w.decide.failed(w, p, r)
			}
		},
	})
	if w.trace != nil {
		w.trace.note("%s of %s, attempt %d", names(messages), keyName(key), r.Failures+1)
	}
}

// checkRequest looks at a request before it is sent.
func (w *world) checkRequest(p *publisher, r request) {
	n := w.nature
	switch {
	case p.sending[r.Items[0].Message.change.ordering] > 0:
		w.find("in flight", "two requests of one ordering key are in flight")
	case len(p.sending) >= n.requests:
		w.find("in flight", "more than %d requests are in flight", n.requests)
	case len(r.Items) > n.messages, len(r.Items) > 1 && r.Bytes > requestBytes:
		w.find("request", "%d messages, %d bytes go into one request", len(r.Items), r.Bytes)
	}
}

// accept counts a request as stored, unless the gate was shut meanwhile.
func (w *world) accept(p *publisher, r request) {
	if !w.decide.counts(p, r) {
		w.counts.void++
		p.queue.Again(r, w.now)
		return
	}
	for _, it := range r.Items {
		if p.window.Accepted(it.Message.tag) {
			p.waiting = false
		}
		p.charged -= charge(it.Message.change)
		p.messages--
	}
	w.checkWindow(p)
	w.decide.done(w, p, r)
}

// waits reports whether the queue waits for a time to come.
func (w *world) waits() bool {
	if w.publisher == nil {
		return false
	}
	at, ok := w.publisher.queue.Wake()
	return ok && at > w.now
}

// pass moves the clock on: to the end of the next back-off or rest, or about there.
func (w *world) pass() {
	if w.r.IntN(2) == 0 {
		w.now, _ = w.publisher.queue.Wake()
		return
	}
	w.now += time.Duration(w.r.IntN(20)) * time.Millisecond
}
