package pubsubtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestFaultRefuse(t *testing.T) {
	r := newRig(t, Config{Record: true})
	r.Inject(Fault{Kind: Refuse, Method: "Publish", Target: testTopic, Count: 2})
	r.Inject(Fault{Kind: Refuse, Method: "Publish", Target: "projects/p/topics/another", Count: -1})
	for range 2 {
		if _, err := r.pub.Publish(t.Context(), publishOf("k", "a")); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v, want UNAVAILABLE", err)
		}
	}
	r.send(t, "k", "b")
	if s := r.Stored(testTopic); len(s) != 1 || r.Counters().Faults != 2 {
		t.Errorf("stored %v, counters %+v", s, r.Counters())
	}
	r.Inject(Fault{Kind: Refuse, Method: "StreamingPull", Code: codes.ResourceExhausted, Text: "slow down"})
	if err := r.open(t).wantEnd(codes.ResourceExhausted); status.Convert(err).Message() != "slow down" {
		t.Error(err)
	}
	r.open(t).wantTexts("b")
}

func TestFaultAnswerLost(t *testing.T) {
	r := newRig(t, Config{Record: true})
	r.Inject(Fault{Kind: AnswerLost, Skip: 1})
	r.send(t, "k", "a")
	if _, err := r.pub.Publish(t.Context(), publishOf("k", "b")); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
	r.send(t, "k", "b")
	p := r.open(t)
	got := p.wantTexts("a", "b", "b")
	r.Inject(Fault{Kind: AnswerLost, Method: "Acknowledge", Target: testSub})
	if _, err := r.sub.Acknowledge(t.Context(), ackRequest(got...)); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
	r.wantDrained(t)
}

func TestFaultLate(t *testing.T) {
	r := newRig(t, Config{Record: true})
	r.Inject(Fault{Kind: Late, Delay: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer := make(chan error)
	go func() {
		_, err := r.pub.Publish(ctx, publishOf("k", "a"))
		answer <- err
	}()
	r.waitFor(t, func(c Counters) bool { return c.Faults == 1 })
	cancel() // the caller gives up once the server has the request
	if err := <-answer; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	r.send(t, "k", "a")
	r.send(t, "k", "b")
	if n := len(r.Stored(testTopic)); n != 2 {
		t.Fatalf("%d stored before the delay is over", n)
	}
	r.Advance(time.Minute)
	p := r.open(t)
	p.wantTexts("a", "b", "a")
}

func TestFaultDelay(t *testing.T) {
	r := newRig(t, Config{})
	r.Inject(Fault{Kind: Delay, Method: "Publish", Delay: 60 * time.Millisecond})
	start := time.Now()
	r.send(t, "k", "a")
	if d := time.Since(start); d < 60*time.Millisecond {
		t.Errorf("answered after %s", d)
	}
	r.Inject(Fault{Kind: Delay, Method: "StreamingPull", Delay: 60 * time.Millisecond})
	start = time.Now()
	r.open(t).wantTexts("a")
	if d := time.Since(start); d < 60*time.Millisecond {
		t.Errorf("delivered after %s", d)
	}
}

func TestFaultEndStream(t *testing.T) {
	r := newRig(t, Config{})
	r.Inject(Fault{Kind: EndStream, Skip: 1})
	p := r.open(t)
	r.send(t, "k", "a0")
	p.wantTexts("a0")
	r.send(t, "k", "a1") // leased with a response that never arrives
	p.wantEnd(codes.Unavailable)
	p = r.open(t)
	p.wantNone()
	r.Advance(10 * time.Second)
	p.wantTexts("a0", "a1")
}

func TestFaultResetConnection(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a0") // before, since the reset may take the answer with it
	r.Inject(Fault{Kind: ResetConnection})
	p := r.open(t)
	select {
	case err := <-p.ended:
		if status.Code(err) != codes.Unavailable {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the stream lives on")
	}
	r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == 0 })
	r.reconnect(t)
	p = r.open(t)
	r.Advance(10 * time.Second)
	p.wantTexts("a0")
}

// reconnect waits until a call works again.
func (r *rig) reconnect(tb testing.TB) {
	tb.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		_, err := r.pub.GetTopic(tb.Context(), &pubsubpb.GetTopicRequest{Topic: testTopic}, grpc.WaitForReady(true))
		if err == nil {
			return
		}
		if time.Now().After(end) {
			tb.Fatal(err)
		}
	}
}

func TestFaultDuplicate(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a0", "a1")
	r.Inject(Fault{Kind: Duplicate, Target: testSub})
	p := r.open(t)
	got := p.wantTexts("a0", "a1", "a1")
	if a, b := got[1], got[2]; a.GetMessage().GetMessageId() != b.GetMessage().GetMessageId() || a.GetAckId() == b.GetAckId() {
		t.Errorf("not the same message again: %v, %v", a, b)
	}
	r.ack(t, got[0], got[2])
	r.wantDrained(t)
}

func TestRoundTrip(t *testing.T) {
	r := newRig(t, Config{})
	r.SetRoundTrip(40 * time.Millisecond)
	start := time.Now()
	var wg sync.WaitGroup
	for range 90 {
		wg.Go(func() {
			if _, err := r.pub.Publish(t.Context(), publishOf("k", "a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if d := time.Since(start); d < 40*time.Millisecond || d > 3*time.Second {
		t.Errorf("90 calls at once took %s", d)
	}
	start = time.Now()
	p := r.open(t)
	p.take(90)
	if d := time.Since(start); d < 20*time.Millisecond {
		t.Errorf("delivered after %s", d)
	}
	r.ClearFaults()
	if d := r.faults.roundTrip(); d != 0 {
		t.Errorf("after ClearFaults the round trip is %s", d)
	}
}

func TestResetConnections(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.ResetConnections()
	select {
	case err := <-p.ended:
		if err == nil || errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the stream lives on")
	}
	r.reconnect(t)
}

func TestCloseWithWorkUnderWay(t *testing.T) {
	r := newRig(t, Config{})
	r.Inject(Fault{Kind: Late, Delay: time.Hour})
	r.SetRoundTrip(time.Second)
	p := r.open(t)
	done := make(chan error)
	go func() {
		_, err := r.pub.Publish(t.Context(), publishOf("k", "a"))
		done <- err
	}()
	r.waitFor(t, func(c Counters) bool { return c.Calls["Publish"] == 1 })
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("published on a closed server")
	}
	if err := <-p.ended; err == nil {
		t.Error("the stream ended well")
	}
}

// TestFaultLatePull: a late Pull takes what there is when it is carried out, and
// waits for nothing: neither Advance nor Close would return before.
func TestFaultLatePull(t *testing.T) {
	r := newRig(t, Config{PullWait: time.Hour})
	late := func() {
		t.Helper()
		r.Inject(Fault{Kind: Late, Method: "Pull", Delay: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := r.sub.Pull(ctx, &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		r.Advance(time.Minute)
	}
	late()
	r.send(t, "k", "a0")
	late()
	if c := r.Counters(); c.Faults != 2 || c.Delivered != 1 {
		t.Errorf("counters %+v", c)
	}
	r.Advance(10 * time.Second) // nobody acks it
	r.open(t).wantTexts("a0")
}
