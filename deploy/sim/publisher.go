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
	broken bool // a fault of the topic was seen: nothing is vouched for any more

	charged int64          // bytes in flight, counted apart from the window
	sending map[string]int // requests in flight by ordering key, counted apart from the queue
}

// flight is a message of the queue.
type flight struct {
	change *change
	tag    confirm.Tag
}

type request = queue.Request[flight]

var publisherSteps = []step{
	{"start publisher", 30, false, func(w *world) bool { return w.publisher == nil && !w.topic.fault }, (*world).startPublisher},
	{"crash publisher", 1, true, func(w *world) bool { return w.publisher != nil }, (*world).publisherEnds},
	{"receive", 30, false, (*world).receivable, (*world).receive},
	{"keepalive", 4, false, func(w *world) bool { return w.publisher != nil && len(w.source.log) > 0 }, (*world).receiveKeepalive},
	{"publish", 50, false, func(w *world) bool { return w.publisher != nil && w.publisher.queue.Sendable(w.now) }, (*world).publish},
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
		queue: queue.New[flight](queue.Limits{
			Requests: w.nature.requests, RequestMessages: w.nature.messages, RequestBytes: 4000,
			KeyRateBytesPerSecond: w.nature.keyRate,
		}),
		at: -1, sending: make(map[string]int),
		confirming: confirming{durable: w.source.checkpoint},
	}
	for p.next < len(w.source.log) && w.source.log[p.next].end <= w.source.confirmed {
		p.next++
	}
	w.publisher = p
	if w.trace != nil {
		w.trace.note("streams from %s, checkpoint %s", w.source.confirmed, w.source.checkpoint)
	}
}

// publisherEnds is a crash or any other end: what it waited for may still arrive.
func (w *world) publisherEnds() {
	w.abandon(w.publisher)
	w.publisher = nil
}

func (w *world) receivable() bool {
	p := w.publisher
	return p != nil && p.next < len(w.source.log) && (!w.decide.full(p) || p.at < 0 || p.at == len(w.source.log[p.next].changes))
}

// receive takes some records of the stream: begins, changes and commits.
func (w *world) receive() {
	for range 1 + w.r.IntN(3*w.nature.burst) {
		if !w.receivable() {
			return
		}
		p := w.publisher
		tx := &w.source.log[p.next]
		switch {
		case p.at < 0:
			p.window.Begin()
			p.at = 0
		case p.at < len(tx.changes):
			w.hand(tx.changes[p.at])
			p.at++
		default:
			p.window.Commit(tx.end)
			p.ended = tx.end
			p.next, p.at = p.next+1, -1
		}
	}
}

// hand counts a change in the window and queues it.
func (w *world) hand(c *change) {
	p := w.publisher
	if p.charged >= w.nature.window {
		w.find("window", "%d bytes are in flight and one more message is handed on, the limit is %d", p.charged, w.nature.window)
	}
	p.charged += charge(c)
	f := flight{c, p.window.Add(c.bytes)}
	p.queue.Push([]byte(w.decide.lane(c)), c.bytes, f)
}

// charge is what a message takes of the window.
func charge(c *change) int64 { return int64(c.bytes+255) / 256 * 256 }

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
	if p.at < 0 && p.next == len(w.source.log) && w.source.other {
		end += 8
	}
	p.keepalive = max(p.keepalive, end)
	p.window.Keepalive(end)
}

// publish sends the queue's next request.
func (w *world) publish() {
	p := w.publisher
	r, ok := p.queue.Next(w.now)
	if !ok {
		return
	}
	key := r.Items[0].Message.change.ordering
	if p.sending[key]++; p.sending[key] > 1 {
		w.find("in flight", "%d requests of one ordering key are in flight", p.sending[key])
	}
	if r.Failures > 0 {
		w.counts.retries++
	}
	messages := make([]flight, len(r.Items)) // the call may outlive the request
	for i, it := range r.Items {
		messages[i] = it.Message
	}
	w.send(publishing, &call{
		caller: p,
		arrive: func() { w.store(key, messages) },
		answer: func(ok bool) {
			p.sending[key]--
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

// accept counts a request as stored, unless the gate was shut meanwhile.
func (w *world) accept(p *publisher, r request) {
	if !w.decide.counts(p, r) {
		w.counts.void++
		p.queue.Again(r, w.now)
		return
	}
	for _, it := range r.Items {
		p.window.Accepted(it.Message.tag)
		p.charged -= charge(it.Message.change)
	}
	p.queue.Done(r, w.now)
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
