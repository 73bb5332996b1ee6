package pubsubtest

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestOrderedDelivery(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a0", "a1")
	p := r.open(t)
	got := p.wantTexts("a0", "a1")
	r.send(t, "k", "a2", "a3")
	got = append(got, p.wantTexts("a2", "a3")...)
	r.ack(t, got...)
	if c := r.Counters(); c.Acks != 4 || c.AcksOutOfOrder != 0 || c.Delivered != 4 || c.Redelivered != 0 {
		t.Errorf("counters %+v", c)
	}
	r.Advance(time.Hour)
	p.wantNone()
	r.wantDrained(t)
}

// wantDrained checks that nothing is left of a drained subscription.
func (r *rig) wantDrained(tb testing.TB) {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.subs[testSub].backlog
	if len(b.keys) != 0 || b.leases.count != 0 || len(b.delayed) != 0 || b.waiting != 0 || b.next() != 0 {
		tb.Errorf("left: %d keys, %d leases, %d delayed, %d waiting", len(b.keys), b.leases.count, len(b.delayed), b.waiting)
	}
}

func TestSeveralOutstanding(t *testing.T) {
	r := newRig(t, Config{BatchMessages: 3})
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("a", i))
	}
	r.send(t, "k", want...)
	r.open(t).wantTexts(want...) // none acked
}

func TestUnorderedDelivery(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = false })
	p := r.open(t)
	r.send(t, "k", "a0", "a1", "a2")
	got := p.take(3)
	r.ack(t, got[0], got[2])
	r.modify(t, 0, got[1])
	r.ack(t, p.wantTexts("a1")...)
	p.wantNone()
	r.wantDrained(t)

	r = newRig(t, Config{})
	p = r.open(t)
	r.send(t, "", "b0", "b1", "b2") // no key on an ordered subscription
	got = p.take(3)
	r.modify(t, 0, got[0])
	p.wantTexts("b0")
	p.wantNone()
	if c := r.Counters(); c.AcksOutOfOrder != 0 {
		t.Errorf("counters %+v", c)
	}
}

func TestAffinity(t *testing.T) {
	r := newRig(t, Config{})
	first := r.open(t)
	r.send(t, "k", "a0")
	first.wantTexts("a0")
	second := r.open(t)
	for i := 1; i < 20; i++ {
		r.send(t, "k", fmt.Sprint("a", i))
		first.wantTexts(fmt.Sprint("a", i))
	}
	second.wantNone()
}

func TestHandOver(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) {
		s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(5 * time.Second), MaximumBackoff: durationpb.New(5 * time.Second)}
	})
	one := func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingMessages = 1 }
	first := r.open(t, one)
	r.send(t, "k", "a0", "a1")
	a0 := first.wantTexts("a0")
	second := r.open(t, one)
	second.wantNone() // a1 waits for its stream, though another has room
	r.send(t, "l", "b0")
	b0 := second.wantTexts("b0")
	r.modify(t, 0, a0...) // nothing of the key is outstanding any more
	r.send(t, "m", "c0")
	first.wantTexts("c0")
	r.ack(t, b0...)
	r.Advance(5 * time.Second) // the first stream is full, so the key moves
	r.ack(t, second.wantTexts("a0")...)
	second.wantTexts("a1")
	first.wantNone()
}

func TestNackRedeliversLaterOnes(t *testing.T) {
	for _, how := range []string{"unary", "stream"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, Config{})
			p := r.open(t)
			r.send(t, "k", "a0", "a1", "a2", "a3")
			r.send(t, "l", "b0", "b1")
			got := p.take(6)
			r.ack(t, got[0])
			r.ack(t, got[3]) // a3, out of order
			if how == "unary" {
				r.modify(t, 0, got[1])
			} else {
				p.send(&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: ackIDsOf(got[1:2]), ModifyDeadlineSeconds: []int32{0}})
			}
			again := p.wantTexts("a1", "a2", "a3")
			p.wantNone()
			r.ack(t, got[4:]...)
			r.ack(t, again...)
			r.Advance(time.Hour)
			p.wantNone()
			r.wantDrained(t)
			c := r.Counters()
			if c.Nacks != 1 || c.Redelivered != 3 || c.AcksOutOfOrder != 1 || c.Expired != 0 {
				t.Errorf("counters %+v", c)
			}
		})
	}
}

func TestExpiryRedeliversLaterOnes(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.StreamAckDeadlineSeconds = 100 })
	r.send(t, "k", "a0", "a1", "a2")
	r.send(t, "l", "b0")
	got := p.take(4)
	r.ack(t, got[0])
	r.ack(t, got[2])
	r.modify(t, 600, got[3])
	r.Advance(80 * time.Second)
	p.wantNone()
	r.Advance(20 * time.Second)
	p.wantTexts("a1", "a2")
	p.wantNone()
	if c := r.Counters(); c.Expired != 1 {
		t.Errorf("expired %d, want 1", c.Expired)
	}
	r.Advance(100 * time.Second) // a1 brings a2 back, whose own deadline has passed too
	p.wantTexts("a1", "a2")
	if c := r.Counters(); c.Expired != 3 {
		t.Errorf("expired %d, want 3", c.Expired)
	}
}

func TestExpiryByRealClock(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	got := p.take(1)
	r.modify(t, 1, got...)
	start := time.Now()
	p.wantTexts("a0")
	if d := time.Since(start); d < 900*time.Millisecond || d > 5*time.Second {
		t.Errorf("redelivered after %s, want 1 s", d)
	}
}

func TestAckBatchInAnyOrder(t *testing.T) {
	for _, policy := range []AckPolicy{AckDeferred, AckDropped} {
		r := newRig(t, Config{OutOfOrderAcks: policy})
		p := r.open(t)
		r.send(t, "k", "a0", "a1", "a2")
		got := p.take(3)
		r.ack(t, got[2], got[0], got[1])
		r.Advance(time.Hour)
		p.wantNone()
		r.wantDrained(t)
		if c := r.Counters(); c.AcksOutOfOrder != 0 || c.Acks != 3 {
			t.Errorf("counters %+v", c)
		}
	}
}

func TestAckOutOfOrder(t *testing.T) {
	t.Run("deferred", func(t *testing.T) {
		r := newRig(t, Config{OutOfOrderAcks: AckDeferred})
		p := r.open(t)
		r.send(t, "k", "a0", "a1", "a2")
		got := p.take(3)
		r.ack(t, got[1])
		r.ack(t, got[2])
		r.ack(t, got[0])
		r.Advance(time.Hour)
		p.wantNone()
		r.wantDrained(t)
		if c := r.Counters(); c.AcksOutOfOrder != 2 {
			t.Errorf("out of order %d, want 2", c.AcksOutOfOrder)
		}
	})
	t.Run("dropped", func(t *testing.T) {
		r := newRig(t, Config{OutOfOrderAcks: AckDropped})
		p := r.open(t)
		r.send(t, "k", "a0", "a1", "a2")
		got := p.take(3)
		r.ack(t, got[1])
		r.ack(t, got[0])
		r.Advance(10 * time.Second)
		again := p.wantTexts("a1", "a2")
		p.wantNone()
		r.ack(t, again...)
		r.wantDrained(t)
		if c := r.Counters(); c.AcksOutOfOrder != 1 {
			t.Errorf("out of order %d, want 1", c.AcksOutOfOrder)
		}
	})
}

func TestAckStale(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	old := p.take(1)
	r.Advance(10 * time.Second)
	again := p.wantTexts("a0")
	r.ack(t, old...) // OK, and nothing
	r.modify(t, 600, old...)
	r.Advance(10 * time.Second)
	again = append(again, p.wantTexts("a0")...)
	r.ack(t, again[1])
	r.ack(t, again[1])
	r.wantDrained(t)
	if c := r.Counters(); c.AcksStale != 3 || c.Acks != 1 {
		t.Errorf("counters %+v", c)
	}
}

func TestAckOnAnyStream(t *testing.T) {
	r := newRig(t, Config{})
	first := r.open(t)
	r.send(t, "k", "a0", "a1", "a2")
	got := first.take(3)
	second := r.open(t)
	second.send(&pubsubpb.StreamingPullRequest{AckIds: ackIDsOf(got[:1])})
	r.waitFor(t, func(c Counters) bool { return c.Acks == 1 })
	r.ack(t, got[1])
	r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.AckIds = ackIDsOf(got[2:]) })
	r.waitFor(t, func(c Counters) bool { return c.Acks == 3 })
	r.wantDrained(t)
}

// waitFor waits until the counters say something.
func (r *rig) waitFor(tb testing.TB, done func(Counters) bool) {
	tb.Helper()
	for end := time.Now().Add(10 * time.Second); !done(r.Counters()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("counters %+v", r.Counters())
		}
	}
}

func TestDeliveryAttempts(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	if m := p.take(1)[0]; m.GetDeliveryAttempt() != 0 {
		t.Errorf("attempt %d without a dead-letter policy", m.GetDeliveryAttempt())
	}
	r = newRig(t, Config{}, func(s *pubsubpb.Subscription) {
		s.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: testTopic, MaxDeliveryAttempts: 100}
	})
	p = r.open(t)
	r.send(t, "k", "a0")
	ids := map[string]bool{}
	for want := int32(1); want <= 4; want++ {
		m := p.take(1)[0]
		if m.GetDeliveryAttempt() != want || ids[m.GetAckId()] || len(m.GetAckId()) != 184 {
			t.Errorf("attempt %d, want %d; ack id %q", m.GetDeliveryAttempt(), want, m.GetAckId())
		}
		ids[m.GetAckId()] = true
		r.modify(t, 0, m)
	}
}

func TestBackOff(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) {
		s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(100 * time.Second), MaximumBackoff: durationpb.New(300 * time.Second)}
	})
	p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.StreamAckDeadlineSeconds = 600 })
	r.send(t, "k", "a0", "a1")
	r.send(t, "", "b0")
	got := map[string]*pubsubpb.ReceivedMessage{}
	take := func(n int) {
		t.Helper()
		for _, m := range p.take(n) {
			got[string(m.GetMessage().GetData())] = m
		}
	}
	take(3)
	for i, wait := range []time.Duration{100, 200, 300, 300} {
		r.modify(t, 0, got["a0"], got["b0"])
		r.send(t, "k", fmt.Sprint("later", i)) // comes behind the delayed ones
		r.Advance((wait - 20) * time.Second)
		p.wantNone()
		r.Advance(20 * time.Second)
		take(3 + i + 1)
	}
	r.ack(t, got["a0"], got["a1"], got["b0"], got["later0"], got["later1"], got["later2"], got["later3"])
	r.wantDrained(t)
}

func TestBackOffGrows(t *testing.T) {
	b := newBacklog(true, &Counters{})
	if d := b.backoff(5); d != 0 {
		t.Errorf("without a policy %d", d)
	}
	b.backoffMin, b.backoffMax = 10e9, 60e9
	for attempt, want := range map[uint16]int64{0: 0, 1: 10e9, 2: 20e9, 3: 40e9, 4: 60e9, 1000: 60e9} {
		if d := b.backoff(attempt); d != want {
			t.Errorf("attempt %d waits %d, want %d", attempt, d, want)
		}
	}
}

func TestModifyDeadline(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	got := p.take(1)
	r.modify(t, 300, got...)
	r.Advance(280 * time.Second)
	p.wantNone()
	p.send(&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: ackIDsOf(got), ModifyDeadlineSeconds: []int32{500}})
	for r.nextDueIn() < time.Minute {
		time.Sleep(time.Millisecond)
	}
	r.Advance(480 * time.Second)
	p.wantNone()
	r.Advance(20 * time.Second)
	p.wantTexts("a0")
}

func (r *rig) nextDueIn() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.nextDue() - r.now())
}

// TestBackOffOfEachMessage: a key waits for its next message; what a later one
// has waited already doesn't count for it.
func TestBackOffOfEachMessage(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) {
		s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(100 * time.Second), MaximumBackoff: durationpb.New(300 * time.Second)}
	})
	p := r.open(t, longLease)
	r.send(t, "k", "a0", "a1", "a2")
	m := p.wantTexts("a0", "a1", "a2")
	r.modify(t, 0, m[1])
	r.Advance(60 * time.Second)
	r.modify(t, 0, m[0])
	r.Advance(60 * time.Second) // a1's 100 s are over
	p.wantNone()
	r.Advance(40 * time.Second)
	m = p.wantTexts("a0", "a1", "a2")

	r.modify(t, 0, m[1]) // for the second time: 200 s
	r.Advance(60 * time.Second)
	r.modify(t, 0, m[0]) // 200 s too
	r.Advance(60 * time.Second)
	p.wantNone()
	r.Advance(140 * time.Second)
	m = p.wantTexts("a0", "a1", "a2")

	r.modify(t, 0, m[2]) // for the first time: 100 s
	r.modify(t, 0, m[1]) // 300 s
	r.Advance(100 * time.Second)
	p.wantNone() // a2 stays behind a1
	r.ack(t, m[0])
	r.Advance(200 * time.Second)
	r.ack(t, p.wantTexts("a1", "a2")...)
	r.wantDrained(t)
}
