package main

import (
	"time"

	"cdc/publish/queue"
	"cdc/schema"
	"cdc/sink/pull"
)

// decisions are those points at which the product decides, apart from its
// machines' own rules. A test plants a bug by replacing one.
type decisions struct {
	confirmable func(*publisher) schema.LSN   // what goes to the checkpoint
	vouch       func(*world, *publisher) bool // what was accepted counts
	status      func(*publisher) schema.LSN   // what the source is told
	full        func(*publisher) bool         // the next change has to wait
	lane        func(*change) string          // whose queue a change goes to
	limits      func(*nature) queue.Limits
	asks        func(*world) queue.Instant // the time that a worker passes when it asks for a request
	gate        func(*publisher)           // before the topic was seen without a fault
	counts      func(*publisher, request) bool
	failed      func(*world, *publisher, request)
	done        func(*world, *publisher, request)
	repaired    func(*world, *publisher) // the topic is in order again
	superseded  func(*world, *publisher) // an old process writes to the state

	position  func(c *change, arrival int) position // what BigQuery compares
	sent      func(*sink, *batch)                   // an append was sent
	ackFailed func(*world, *sink, []*pull.Delivery)
	giveBack  func(*sink, *received) []*pull.Delivery
}

// honest returns the product's decisions.
func honest() decisions {
	return decisions{
		confirmable: func(p *publisher) schema.LSN { return p.window.Confirmable() },
		vouch: func(w *world, p *publisher) bool {
			w.look()
			return p.good && !p.broken
		},
		status: func(p *publisher) schema.LSN { return p.durable },
		full:   func(p *publisher) bool { return p.window.Full() },
		lane:   func(c *change) string { return c.ordering },
		limits: func(n *nature) queue.Limits {
			return queue.Limits{
				Requests: n.requests, RequestMessages: n.messages, RequestBytes: requestBytes, KeyRateBytesPerSecond: n.keyRate,
			}
		},
		asks:   func(w *world) queue.Instant { return w.now },
		gate:   func(p *publisher) { p.queue.Open(false) },
		counts: func(p *publisher, r request) bool { return p.queue.Counts(r) },
		failed: func(w *world, p *publisher, r request) {
			p.queue.Failed(r, w.now+time.Duration(w.r.IntN(30))*time.Millisecond)
		},
		done:     func(w *world, p *publisher, r request) { p.queue.Done(r, w.now) },
		repaired: func(w *world, _ *publisher) { w.publisherEnds() },
		superseded: func(w *world, p *publisher) {
			if w.source.owner == p && p.open() && !w.topic.fault {
				p.durable = w.decide.confirmable(p)
				w.checkpoint(p.durable)
				return
			}
			w.oldEnds(p)
		},

		position:  func(c *change, _ int) position { return c.Position },
		sent:      func(*sink, *batch) {},
		ackFailed: func(_ *world, s *sink, taken []*pull.Delivery) { s.order.Failed(taken) },
		giveBack:  func(s *sink, x *received) []*pull.Delivery { return s.order.GiveBack(&x.Delivery) },
	}
}
