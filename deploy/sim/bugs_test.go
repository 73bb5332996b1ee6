package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cdc/capture/confirm"
	"cdc/publish/queue"
	"cdc/schema"
	"cdc/sink/pull"
)

// bugs are mistakes planted by replacing one decision, and the checkers that
// find them.
var bugs = []struct {
	name     string
	plant    func(*decisions)
	checkers []string
}{
	{"confirm early: what was received counts as accepted", func(d *decisions) {
		d.confirmable = func(p *publisher) schema.LSN { return max(p.window.Confirmable(), p.ended) }
	}, []string{"confirmed"}},
	{"ack early: when the append is sent", func(d *decisions) {
		d.sent = func(s *sink, b *batch) { s.written(b) }
	}, []string{"ack"}},
	{"trust arrival order", func(d *decisions) {
		d.position = func(_ *change, arrival int) position { return position{CommitLSN: schema.LSN(arrival)} }
	}, []string{"convergence", "ack"}},
	{"keepalive while something is in flight", func(d *decisions) {
		d.confirmable = func(p *publisher) schema.LSN { return max(p.window.Confirmable(), p.keepalive) }
	}, []string{"confirmed"}},
	{"two requests of a key in flight", func(d *decisions) {
		d.lane = func(c *change) string { return c.ordering + string('0'+rune(c.bytes%2)) }
	}, []string{"in flight", "order"}},
	{"a failed request is skipped", func(d *decisions) {
		d.failed = func(w *world, p *publisher, r request) { w.accept(p, r) }
	}, []string{"order", "confirmed"}},
	{"checkpoint after the status", func(d *decisions) {
		d.status = func(p *publisher) schema.LSN {
			if p.stage == vouched {
				return p.taken
			}
			return p.durable
		}
	}, []string{"checkpoint"}},
	{"nobody vouches", func(d *decisions) {
		d.vouch = func(*world, *publisher) bool { return true }
	}, []string{"confirmed"}},
	{"an answer counts though the gate was shut", func(d *decisions) {
		d.counts = func(*publisher, request) bool { return true }
		d.vouch = func(_ *world, p *publisher) bool { return !p.broken }
	}, []string{"confirmed"}},
	{"the gate opens again in the same process", func(d *decisions) {
		d.repaired = func(_ *world, p *publisher) { p.queue.Open(true) }
	}, []string{"order"}},
	{"the gate is open before the topic was looked at", func(d *decisions) {
		d.gate = func(*publisher) {}
	}, []string{"confirmed", "order"}},
	{"requests are too large", func(d *decisions) {
		d.limits = func(n *nature) queue.Limits {
			return queue.Limits{Requests: n.requests, RequestMessages: n.messages + 1, RequestBytes: requestBytes}
		}
	}, []string{"request"}},
	{"too many requests", func(d *decisions) {
		d.limits = func(n *nature) queue.Limits {
			return queue.Limits{Requests: n.requests + 1, RequestMessages: n.messages, RequestBytes: requestBytes}
		}
	}, []string{"in flight"}},
	{"a worker's clock is ahead", func(d *decisions) {
		d.asks = func(w *world) queue.Instant { return w.now + time.Millisecond }
	}, []string{"queue"}},
	{"an old process writes the state", func(d *decisions) {
		d.superseded = func(w *world, p *publisher) {
			p.durable = d.confirmable(p)
			w.checkpoint(p.durable)
		}
	}, []string{"checkpoint", "confirmed"}},
	{"an answered request goes out again", func(d *decisions) {
		d.done = func(w *world, p *publisher, r request) { p.queue.Again(r, w.now) }
	}, []string{"panic"}},
	{"an answered request stays in flight", func(d *decisions) {
		d.done = func(w *world, p *publisher, _ request) {}
	}, []string{"stuck"}},
	{"the window has no limit", func(d *decisions) {
		d.full = func(*publisher) bool { return false }
	}, []string{"window"}},
	{"the window is always full", func(d *decisions) {
		d.full = func(*publisher) bool { return true }
	}, []string{"stuck"}},
	{"an ack without an answer counts", func(d *decisions) {
		d.ackFailed = func(w *world, s *sink, taken []*pull.Delivery) { w.acked(s, taken) }
	}, []string{"ack order"}},
	{"a message is given back alone", func(d *decisions) {
		d.giveBack = giveBackAlone
	}, []string{"give back"}},
}

// giveBackAlone keeps the later messages of the key.
func giveBackAlone(s *sink, x *received) []*pull.Delivery {
	back := s.order.GiveBack(&x.Delivery)
	if len(back) == 0 {
		return nil
	}
	for _, d := range back[1:] {
		kept := *s.all[d]
		s.forget(s.all[d])
		kept.Delivery = pull.Delivery{}
		m := kept.message
		s.order.Received(&kept.Delivery, m.key.ordering(), m.id(), kept.id, m.published)
		s.all[&kept.Delivery], s.has[m], m.at = &kept, &kept, &kept
	}
	return back[:1]
}

// TestFindsWhatIsLeftOver: nothing the product decides leaves something behind in
// its machines, so it is done to them here.
func TestFindsWhatIsLeftOver(t *testing.T) {
	for name, leave := range map[string]func(*publisher){
		"nothing":            func(*publisher) {},
		"a transaction":      func(p *publisher) { p.window.Begin() },
		"a message":          func(p *publisher) { p.queue.Push([]byte("k"), 1, flight{}) },
		"a request":          func(p *publisher) { p.queue.Push([]byte("k"), 1, flight{}); p.queue.Next(time.Hour) },
		"nothing, confirmed": func(p *publisher) { *p.window = *confirm.New(1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, nil)
			w.run()
			if w.finding != "" {
				t.Fatal(w.finding)
			}
			leave(w.publisher)
			w.rest()
			if found := strings.HasPrefix(w.finding, "left over: "); found != (name != "nothing") {
				t.Errorf("found %q", w.finding)
			}
		})
	}
}

// TestFindsPlantedBugs: every checker finds what it is for.
func TestFindsPlantedBugs(t *testing.T) {
	const seeds = 1000
	for _, bug := range bugs {
		t.Run(bug.name, func(t *testing.T) {
			left := slices.Clone(bug.checkers)
			for seed := uint64(1); len(left) > 0; seed++ {
				if seed > seeds {
					t.Fatalf("not found with %d seeds by %q", seeds, left)
				}
				w := newWorld(seed, bug.plant)
				w.run()
				checker, _, _ := strings.Cut(w.finding, ":")
				if w.finding != "" && !slices.Contains(bug.checkers, checker) {
					t.Errorf("seed %d: %s", seed, w.finding)
				}
				if i := slices.Index(left, checker); i >= 0 {
					t.Logf("found after %d seeds, at step %d: %s", seed, w.step, w.finding)
					left = slices.Delete(left, i, i+1)
				}
			}
		})
	}
}
