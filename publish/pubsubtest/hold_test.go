package pubsubtest

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestHoldOthers(t *testing.T) {
	for _, end := range []string{"acks", "expiry"} {
		t.Run(end, func(t *testing.T) {
			r := newRig(t, Config{})
			r.Inject(Fault{Kind: HoldOthers, Target: testSub})
			first := r.open(t)
			r.send(t, "k", "a0", "a1")
			held := first.wantTexts("a0", "a1")
			if n := r.EndStreams(testSub, codes.Unavailable); n != 1 {
				t.Fatalf("%d streams ended", n)
			}
			first.wantEnd(codes.Unavailable)
			r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == 0 })
			p := r.open(t)
			r.send(t, "l", "b0") // another key is delayed
			r.send(t, "k", "a2")
			p.wantNone()
			r.send(t, "", "c0") // no key, no delay
			r.ack(t, p.wantTexts("c0")...)
			r.ack(t, held[0])
			p.wantNone() // a1 holds on
			if end == "acks" {
				r.ack(t, held[1])
				r.ack(t, p.take(2)...)
			} else {
				r.Advance(10 * time.Second)
				r.ack(t, p.take(3)...)
			}
			r.wantDrained(t)
			if c := r.Counters(); c.Faults != 1 {
				t.Errorf("%d faults", c.Faults)
			}
		})
	}
}

// After a reset of the connection too, and a stream that had nothing holds
// nothing back.
func TestHoldOthersAfterReset(t *testing.T) {
	r := newRig(t, Config{})
	r.Inject(Fault{Kind: HoldOthers, Count: 2})
	p := r.open(t)
	p.cancel()
	r.waitFor(t, func(c Counters) bool { return c.Faults == 1 })
	p = r.open(t)
	r.send(t, "k", "a0")
	p.wantTexts("a0")
	r.ResetConnections()
	<-p.ended
	r.waitFor(t, func(c Counters) bool { return c.Faults == 2 && c.StreamsOpen == 0 })
	r.reconnect(t)
	p = r.open(t)
	r.send(t, "l", "b0")
	p.wantNone()
	r.Advance(10 * time.Second)
	p.take(2)
}
