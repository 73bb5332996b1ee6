package pubsubtest

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

func (r *rig) pull(tb testing.TB, n int32, immediately bool) []*pubsubpb.ReceivedMessage {
	tb.Helper()
	//lint:ignore SA1019 the service still honours return_immediately
	resp, err := r.sub.Pull(tb.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: n, ReturnImmediately: immediately})
	if err != nil {
		tb.Fatal(err)
	}
	return resp.GetReceivedMessages()
}

func TestPull(t *testing.T) {
	r := newRig(t, Config{PullWait: 50 * time.Millisecond})
	start := time.Now()
	if got := r.pull(t, 1, false); len(got) != 0 || time.Since(start) < 50*time.Millisecond {
		t.Errorf("an empty Pull returned %q after %s", texts(got), time.Since(start))
	}
	if got := r.pull(t, 1, true); len(got) != 0 {
		t.Errorf("got %q", texts(got))
	}
	r.send(t, "", "a", "b", "c")
	if got := r.pull(t, 2, false); len(got) != 2 {
		t.Errorf("got %q, want 2 messages", texts(got))
	} else {
		r.ack(t, got...)
	}
	r.ack(t, r.pull(t, 2, false)...)
	r.wantDrained(t)

	r = newRig(t, Config{PullWait: time.Minute})
	done := make(chan []*pubsubpb.ReceivedMessage)
	go func() { done <- r.pull(t, 5, false) }()
	r.waitFor(t, func(c Counters) bool { return c.Calls["Pull"] == 1 })
	r.send(t, "k", "a")
	if got := <-done; len(got) != 1 || got[0].GetMessage().GetMessageId() == "" {
		t.Errorf("a waiting Pull returned %q", texts(got))
	}
	r.Advance(10 * time.Second) // the subscription's deadline
	if got := r.pull(t, 5, false); len(got) != 1 {
		t.Errorf("after the deadline %q", texts(got))
	}
}

func TestPullOneBatchPerKey(t *testing.T) {
	r := newRig(t, Config{PullWait: 20 * time.Millisecond})
	r.send(t, "k", "a0", "a1", "a2")
	got := r.pull(t, 2, false)
	if len(got) != 2 {
		t.Fatalf("got %q", texts(got))
	}
	if more := r.pull(t, 2, false); len(more) != 0 {
		t.Errorf("got %q while a batch of the key is outstanding", texts(more))
	}
	r.ack(t, got[0])
	if more := r.pull(t, 2, false); len(more) != 0 {
		t.Errorf("got %q while a message of the batch is outstanding", texts(more))
	}
	r.ack(t, got[1])
	r.ack(t, r.pull(t, 2, false)...)
	r.wantDrained(t)
}
