package pull_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/publish/pubsubtest"
	"cdc/sink/pull"
)

const (
	topic        = "projects/p/topics/shop"
	subscription = "projects/p/subscriptions/sink"
)

// bench is a server and a running Puller, whose messages wait in held.
type bench struct {
	t       *testing.T
	server  *pubsubtest.Server
	puller  *pull.Puller
	publish pubsubpb.PublisherClient
	drained chan struct{}
	cancel  context.CancelFunc
	ended   chan error

	mu   sync.Mutex
	held []*pull.Message
	auto bool // messages are done at once

	offset atomic.Int64 // of the Puller's clock
}

func start(t *testing.T, server pubsubtest.Config, change func(*pull.Config)) *bench {
	t.Helper()
	b := &bench{t: t, drained: make(chan struct{}), ended: make(chan error, 1)}
	var err error
	if b.server, err = pubsubtest.New(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.server.Close() })
	must(t, b.server.CreateTopic(topic))
	must(t, b.server.CreateSubscription(&pubsubpb.Subscription{Name: subscription, Topic: topic, EnableMessageOrdering: true, AckDeadlineSeconds: 10}))
	conn, err := b.server.Dial()
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	b.publish = pubsubpb.NewPublisherClient(conn)
	cfg := pull.Config{Subscription: subscription, Streams: 1, MaxMessages: 20000, MaxBytes: 64 << 20, Lease: 10 * time.Second, MaxLease: 24 * time.Hour}
	if change != nil {
		change(&cfg)
	}
	b.puller, err = pull.New(t.Context(), cfg, b.handle, slog.New(slog.DiscardHandler), option.WithEndpoint(b.server.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	must(t, err)
	t.Cleanup(func() { _ = b.puller.Close() })
	b.puller.SetClock(func() time.Time { return time.Now().Add(time.Duration(b.offset.Load())) })
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go func() { b.ended <- b.puller.Run(ctx, b.drained) }()
	t.Cleanup(cancel)
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) handle(messages []*pull.Message) {
	b.mu.Lock()
	auto := b.auto
	b.held = append(b.held, messages...)
	b.mu.Unlock()
	if auto {
		for _, m := range slices.Backward(messages) { // not in order: that is the Order's work
			b.puller.Done(m)
		}
	}
}

func (b *bench) holding() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}

// send publishes n messages for each of keys.
func (b *bench) send(keys, n int) {
	b.t.Helper()
	for k := range keys {
		r := &pubsubpb.PublishRequest{Topic: topic}
		for range n {
			r.Messages = append(r.Messages, &pubsubpb.PubsubMessage{OrderingKey: fmt.Sprint("key-", k), Data: []byte("x")})
		}
		_, err := b.publish.Publish(context.Background(), r)
		must(b.t, err)
	}
}

func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within 20 s: %s; %+v; %+v", what, b.puller.Counters(), b.server.Counters())
		}
	}
}

func (b *bench) stop() {
	b.t.Helper()
	b.cancel()
	close(b.drained)
	must(b.t, <-b.ended)
}

// 1,024 keys, done in the worst order, streams that end and answers that are
// lost: no ack before an earlier one of its key.
func TestAcksInOrder(t *testing.T) {
	t.Parallel()
	b := start(t, pubsubtest.Config{OutOfOrderAcks: pubsubtest.AckDropped, EndedStreams: pubsubtest.KeyHeld}, func(c *pull.Config) { c.Streams = 2 })
	b.auto = true
	b.server.Inject(pubsubtest.Fault{Kind: pubsubtest.AnswerLost, Method: "Acknowledge", Skip: 2, Count: 2})
	b.server.Inject(pubsubtest.Fault{Kind: pubsubtest.EndStream, Skip: 5})
	b.server.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Acknowledge", Skip: 6})
	b.send(1024, 8)
	b.server.Advance(11 * time.Second) // what the ended stream lost is delivered again
	b.eventually("all acked", func() bool { return b.server.Counters().Acks >= 1024*8 && b.puller.Counters().Outstanding == 0 })
	b.stop()
	if c := b.server.Counters(); c.AcksOutOfOrder != 0 {
		t.Errorf("%d acks out of order; %+v", c.AcksOutOfOrder, c)
	}
}

func TestDuplicateIsHandledOnce(t *testing.T) {
	t.Parallel()
	b := start(t, pubsubtest.Config{}, nil)
	b.server.Inject(pubsubtest.Fault{Kind: pubsubtest.Duplicate})
	b.send(1, 3)
	b.eventually("redelivered", func() bool { return b.server.Counters().Redelivered > 0 && b.puller.Counters().Redelivered > 0 })
	if n := b.holding(); n != 3 {
		t.Errorf("%d messages handed over, want 3: the copies replace ack ids only", n)
	}
	b.mu.Lock()
	for _, m := range b.held {
		b.puller.Done(m)
	}
	b.mu.Unlock()
	b.eventually("all acked", func() bool { return b.server.Counters().Acks >= 3 })
	b.stop()
	if c := b.server.Counters(); c.AcksOutOfOrder != 0 {
		t.Errorf("%d acks out of order", c.AcksOutOfOrder)
	}
}

func TestLeasesAreExtended(t *testing.T) {
	t.Parallel()
	b := start(t, pubsubtest.Config{}, nil)
	b.send(10, 2)
	b.eventually("received", func() bool { return b.holding() == 20 })
	b.eventually("extended", func() bool { return b.server.Counters().Calls["ModifyAckDeadline"] > 0 })
	if c := b.server.Counters(); c.Redelivered != 0 || c.Expired != 0 || c.Nacks != 0 {
		t.Errorf("%+v", c)
	}
	b.stop()
	if c := b.server.Counters(); c.Acks != 0 {
		t.Errorf("%d acks of messages that weren't done", c.Acks)
	}
}

func TestHeldTooLongIsGivenBack(t *testing.T) {
	t.Parallel()
	b := start(t, pubsubtest.Config{}, nil)
	b.send(1, 3)
	b.eventually("received", func() bool { return b.holding() == 3 })
	b.offset.Store(int64(24 * time.Hour))
	b.mu.Lock()
	first := b.held[0]
	b.mu.Unlock()
	b.eventually("given back", first.GivenBack)
	b.eventually("delivered again", func() bool { return b.holding() >= 6 })
	b.mu.Lock()
	for i := range 3 {
		if string(b.held[i].ID) != string(b.held[3+i].ID) || !b.held[i].GivenBack() {
			t.Errorf("message %d wasn't given back and delivered again, in order", i)
		}
		b.puller.Done(b.held[i]) // too late: no ack
	}
	b.mu.Unlock()
	b.stop()
	if c := b.server.Counters(); c.Acks != 0 {
		t.Errorf("%d acks", c.Acks)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	b := start(t, pubsubtest.Config{BatchMessages: 10}, func(c *pull.Config) { c.MaxMessages = 50 })
	b.send(200, 1)
	b.eventually("the window is full", func() bool { return b.puller.Counters().WindowIsFull })
	if n := b.puller.Counters().Outstanding; n > 60 {
		t.Errorf("%d outstanding, the window is 50", n)
	}
	b.mu.Lock()
	b.auto = true
	for _, m := range b.held {
		b.puller.Done(m)
	}
	b.mu.Unlock()
	b.eventually("all acked", func() bool { return b.server.Counters().Acks == 200 })
	b.stop()
}

func TestFinalAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault pubsubtest.Fault
		code  string
	}{
		{pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "StreamingPull", Code: codes.PermissionDenied}, "subscription_permission"},
		{pubsubtest.Fault{Kind: pubsubtest.EndStream, Code: codes.NotFound}, "subscription_missing"},
		{pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Acknowledge", Code: codes.FailedPrecondition, Count: -1}, "subscription_refused"},
	} {
		b := start(t, pubsubtest.Config{}, nil)
		b.auto = true
		b.server.Inject(tt.fault)
		if tt.fault.Method == "StreamingPull" {
			b.server.Inject(pubsubtest.Fault{Kind: pubsubtest.EndStream}) // the first stream may be open already
		}
		b.send(1, 1)
		var err error
		select {
		case err = <-b.ended:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: Run didn't end", tt.code)
		}
		if e, ok := errors.AsType[*pull.Error](err); !ok || e.Code() != tt.code || e.Fix() == "" {
			t.Errorf("Run = %v, want code %s", err, tt.code)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := start(t, pubsubtest.Config{}, nil)
	must(t, b.puller.Check(t.Context()))
	b.stop()
	for name, want := range map[string][]string{
		"missing":   {"subscription_missing"},
		"unordered": {"subscription_ordering"},
		"detached1": {"subscription_detached"},
	} {
		sub := &pubsubpb.Subscription{Name: "projects/p/subscriptions/" + name, Topic: topic, EnableMessageOrdering: name != "unordered"}
		if name != "missing" {
			must(t, b.server.CreateSubscription(sub))
		}
		if name == "detached1" {
			_, err := b.publish.DetachSubscription(t.Context(), &pubsubpb.DetachSubscriptionRequest{Subscription: sub.GetName()})
			must(t, err)
		}
		p, err := pull.New(t.Context(), pull.Config{Subscription: sub.GetName(), Streams: 1, MaxMessages: 1, MaxBytes: 1, Lease: 10 * time.Second, MaxLease: time.Minute},
			b.handle, slog.New(slog.DiscardHandler), option.WithEndpoint(b.server.Addr()), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
		must(t, err)
		var codes []string
		for _, err := range findings(p.Check(t.Context())) {
			if e, ok := errors.AsType[*pull.Error](err); ok && e.Fix() != "" {
				codes = append(codes, e.Code())
			}
		}
		if !slices.Equal(codes, want) {
			t.Errorf("%s: %v, want %v", name, codes, want)
		}
		must(t, p.Close())
	}
}

// findings returns the errors that were joined.
func findings(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
