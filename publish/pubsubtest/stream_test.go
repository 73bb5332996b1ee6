package pubsubtest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func TestStreamDeadlineUsed(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = 300 })
	p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.StreamAckDeadlineSeconds = 100 })
	r.send(t, "k", "a0")
	p.take(1)
	r.Advance(80 * time.Second)
	p.wantNone()
	r.Advance(20 * time.Second)
	got := p.wantTexts("a0")
	p.send(&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 200, AckIds: ackIDsOf(got)})
	r.waitFor(t, func(c Counters) bool { return c.Acks == 1 })
	r.send(t, "k", "a1")
	p.wantTexts("a1")
	r.Advance(180 * time.Second)
	p.wantNone()
	r.Advance(20 * time.Second)
	p.wantTexts("a1")
}

func TestOutstandingMessages(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingMessages = 3 })
	r.send(t, "k", "a0", "a1")
	r.send(t, "", "b0", "b1")
	r.send(t, "l", "c0")
	got := p.take(3)
	p.wantNone()
	r.ack(t, got[0])
	got = append(got, p.take(1)...)
	p.wantNone()
	r.modify(t, 0, got[len(got)-1])
	p.take(1)
	p.wantNone()
}

func TestOutstandingBytes(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingBytes = 150 })
	big := strings.Repeat("x", 100)
	r.send(t, "k", big, big, big)
	got := p.take(2) // at 100 it is below the limit, at 200 not
	p.wantNone()
	r.ack(t, got[0])
	p.take(1)
	r = newRig(t, Config{})
	p = r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingBytes = 1 })
	r.send(t, "k", big)
	p.take(1) // one message always passes
}

func TestStreamProperties(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := newRig(t, Config{}, func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = ordered })
		stream, err := r.sub.StreamingPull(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 10}); err != nil {
			t.Fatal(err)
		}
		r.send(t, "k", "a")
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if p := resp.GetSubscriptionProperties(); p == nil || p.GetMessageOrderingEnabled() != ordered || p.GetExactlyOnceDeliveryEnabled() {
			t.Errorf("ordered %v: properties %v", ordered, p)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	r := newRig(t, Config{})
	stream, err := r.sub.StreamingPull(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 10, ProtocolVersion: 1}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.Send(&pubsubpb.StreamingPullRequest{}); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil || len(resp.GetReceivedMessages()) != 0 {
			t.Fatalf("answer to a keep-alive: %v, %v", resp, err)
		}
	}
}

func TestStreamEnd(t *testing.T) {
	end := func(t *testing.T, policy EndedPolicy) (*rig, *puller, []*pubsubpb.ReceivedMessage) {
		r := newRig(t, Config{EndedStreams: policy})
		first := r.open(t)
		r.send(t, "k", "a0", "a1")
		got := first.take(2)
		first.cancel()
		r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == 0 })
		second := r.open(t)
		second.wantNone() // leases run on
		r.send(t, "k", "a2")
		return r, second, got
	}
	t.Run("released", func(t *testing.T) {
		r, second, got := end(t, KeyReleased)
		second.wantTexts("a2")
		r.ack(t, got[0])
		r.Advance(10 * time.Second)
		second.wantTexts("a1", "a2")
	})
	t.Run("held until expiry", func(t *testing.T) {
		r, second, got := end(t, KeyHeld)
		second.wantNone()
		r.ack(t, got[0])
		second.wantNone()
		r.Advance(10 * time.Second)
		second.wantTexts("a1", "a2")
	})
	t.Run("held until acked", func(t *testing.T) {
		r, second, got := end(t, KeyHeld)
		r.ack(t, got...)
		second.wantTexts("a2")
	})
	t.Run("waiting messages move on", func(t *testing.T) {
		r := newRig(t, Config{})
		first := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingMessages = 1 })
		r.send(t, "k", "a0", "a1")
		first.take(1)
		second := r.open(t)
		second.wantNone()
		first.cancel()
		second.wantTexts("a1")
	})
}

func TestHalfClose(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	got := p.take(1)
	p.send(&pubsubpb.StreamingPullRequest{AckIds: ackIDsOf(got)})
	if err := p.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if err.Error() != "EOF" {
			t.Errorf("ended with %v, want EOF", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("stream did not end")
	}
	r.wantDrained(t)
}

func TestStreamUnavailable(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	p.take(1)
	if n := r.EndStreams(testSub, codes.Unavailable); n != 1 {
		t.Errorf("%d streams ended, want 1", n)
	}
	p.wantEnd(codes.Unavailable)
	p = r.open(t)
	r.Advance(10 * time.Second)
	p.wantTexts("a0")
}

func TestConcurrentStreams(t *testing.T) {
	r := newRig(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 150 {
		wg.Go(func() {
			stream, err := r.sub.StreamingPull(ctx)
			if err != nil {
				return // waited for a place until the test's end
			}
			_ = stream.Send(&pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 10})
			_, _ = stream.Recv()
		})
	}
	r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == maxConcurrentStreams })
	time.Sleep(50 * time.Millisecond)
	if c := r.Counters(); c.StreamsOpen != maxConcurrentStreams {
		t.Errorf("%d streams open on one connection, want %d", c.StreamsOpen, maxConcurrentStreams)
	}
}

func TestManyStreams(t *testing.T) {
	r := newRig(t, Config{BatchMessages: 7})
	const keys, each = 50, 20
	var streams []*puller
	for range 4 {
		streams = append(streams, r.open(t, longLease))
	}
	for i := range each {
		for k := range keys {
			r.send(t, fmt.Sprint(k), fmt.Sprint(i))
		}
	}
	next := make([]int, keys)
	owner := make([]int, keys)
	total := 0
	for total < keys*each {
		for s, p := range streams {
			select {
			case m := <-p.msgs:
				var k, i int
				_, _ = fmt.Sscan(m.GetMessage().GetOrderingKey(), &k)
				_, _ = fmt.Sscan(string(m.GetMessage().GetData()), &i)
				if next[k] != i {
					t.Fatalf("key %d: got %d, want %d", k, i, next[k])
				}
				if i > 0 && owner[k] != s {
					t.Fatalf("key %d moved from stream %d to %d with messages outstanding", k, owner[k], s)
				}
				next[k], owner[k] = i+1, s
				total++
			default:
				runtime.Gosched()
			}
		}
	}
}

// TestDiscardedKeysStay: a stream that ends because its subscription is gone takes
// nothing of it any more, not even keys that it was given before.
func TestDiscardedKeysStay(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a0", "a1")
	c := &consumer{leaseSecs: 10, wake: make(chan struct{}, 1)}
	r.mu.Lock()
	sub := r.subs[testSub]
	sub.backlog.join(c)
	first := len(sub.backlog.take(c, r.now(), 1, 1_000, nil))
	r.mu.Unlock()
	if _, err := r.pub.DetachSubscription(t.Context(), &pubsubpb.DetachSubscriptionRequest{Subscription: testSub}); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	then := len(sub.backlog.take(c, r.now(), 1, 1_000, nil))
	sub.backlog.leave(c)
	left := sub.unacked()
	r.mu.Unlock()
	if first != 1 || then != 0 || left != 0 {
		t.Errorf("took %d before and %d after, %d left; want 1, 0, 0", first, then, left)
	}
}

// TestNotImplementedLater: a setting with which nothing can be delivered ends what
// is being delivered.
func TestNotImplementedLater(t *testing.T) {
	r := newRig(t, Config{PullWait: time.Hour})
	update := func(exactlyOnce bool) {
		t.Helper()
		if _, err := r.sub.UpdateSubscription(t.Context(), &pubsubpb.UpdateSubscriptionRequest{
			Subscription: &pubsubpb.Subscription{Name: testSub, EnableExactlyOnceDelivery: exactlyOnce},
			UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{"enable_exactly_once_delivery"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	p := r.open(t)
	pulled := make(chan error, 1)
	go func() {
		_, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1})
		pulled <- err
	}()
	waitFor(t, "the Pull", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.subs[testSub].backlog.consumers) == 2
	})
	update(true)
	r.send(t, "k", "a0")
	const text = "pubsubtest: exactly-once delivery isn't implemented by this stand-in."
	r.wantRefused(t, RuleNotImplemented, codes.Unimplemented, text, p.wantEnd(codes.Unimplemented))
	r.wantRefused(t, RuleNotImplemented, codes.Unimplemented, text, <-pulled)
	waitFor(t, "nobody to be left", func() bool { return r.consumersLeft() == 0 })
	update(false)
	r.open(t).wantTexts("a0")
}
