package pubsubtest

import (
	"math"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// TestClockEnds: however far it is moved the clock never goes back, and what is
// leased then still has a deadline that comes.
func TestClockEnds(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) { s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{} })
	last := r.Now()
	for _, d := range []time.Duration{100 * 365 * day, 290 * 365 * day, math.MaxInt64, -time.Hour, math.MinInt64, 1} {
		r.Advance(d)
		now := r.Now()
		if now.Before(last) || now.Year() > 2201 {
			t.Fatalf("moved by %s the clock goes from %s to %s", d, last, now)
		}
		last = now
	}
	if last.Year() < 2200 {
		t.Errorf("the clock ends at %s", last)
	}
	p := r.open(t)
	r.send(t, "k", "a0")
	m := p.wantTexts("a0")[0]
	if at := m.GetMessage().GetPublishTime(); at.CheckValid() != nil || at.AsTime().Before(last) {
		t.Errorf("published at %v, after %s", at, last)
	}
	r.modify(t, 0, m)
	r.ack(t, p.wantTexts("a0")...)
	r.wantDrained(t)
}

// TestLateForEver: a delay longer than time goes is no delay of the past.
func TestLateForEver(t *testing.T) {
	r := newRig(t, Config{Record: true})
	r.Inject(Fault{Kind: Late, Delay: math.MaxInt64})
	answered := make(chan error, 1)
	go func() {
		_, err := r.pub.Publish(t.Context(), publishOf("k", "a0"))
		answered <- err
	}()
	r.waitFor(t, func(c Counters) bool { return c.Faults == 1 })
	waitFor(t, "the late call", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.laters) == 1
	})
	r.Advance(100 * 365 * day)
	if n := len(r.Stored(testTopic)); n != 0 || len(answered) != 0 {
		t.Errorf("%d stored, %d answered", n, len(answered))
	}
}
