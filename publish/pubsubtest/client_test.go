package pubsubtest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func newClient(t *testing.T, r *rig) *pubsub.Client {
	t.Helper()
	c, err := pubsub.NewClient(t.Context(), "p", option.WithEndpoint(r.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestGoogleClient publishes with the library's ordered Publisher and receives
// with its Receive, the server ending streams meanwhile. What an ended stream held
// may never have reached the client: KeyHeld keeps later messages of the key behind
// it, KeyReleased doesn't.
func TestGoogleClient(t *testing.T) {
	r := newRig(t, Config{BatchMessages: 10, EndedStreams: KeyHeld})
	c := newClient(t, r)
	pub := c.Publisher("orders")
	pub.EnableMessageOrdering = true
	defer pub.Stop()
	const keys, each = 20, 30
	r.Inject(Fault{Kind: AnswerLost, Skip: 5, Count: 3})
	for i := range each {
		for k := range keys {
			pub.Publish(t.Context(), &pubsub.Message{Data: []byte(strconv.Itoa(i)), OrderingKey: fmt.Sprint("k", k)})
		}
	}
	pub.Flush()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	highest := map[string]int{}
	total := 0
	r.Inject(Fault{Kind: EndStream, Skip: 3})
	go func() {
		for ctx.Err() == nil { // what the ended stream held comes again
			time.Sleep(10 * time.Millisecond)
			r.Advance(5 * time.Second)
		}
	}()
	err := c.Subscriber("orders-sink").Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		mu.Lock()
		defer mu.Unlock()
		i, err := strconv.Atoi(string(m.Data))
		if err != nil {
			t.Error(err)
		}
		last, seen := highest[m.OrderingKey]
		if !seen {
			last = -1
		}
		if i > last+1 {
			t.Errorf("key %s: %d after %d", m.OrderingKey, i, last)
		}
		if i == last+1 {
			highest[m.OrderingKey] = i
			if total++; total == keys*each {
				cancel()
			}
		}
		m.Ack()
	})
	if err != nil {
		t.Error(err)
	}
	if total != keys*each {
		t.Errorf("received %d of %d", total, keys*each)
	}
	if n := r.Counters().MaxKeysPerRequest; n != 1 {
		t.Errorf("%d keys in one request", n)
	}
}

// TestGoogleClientHedging: the server sees which requests are hedges.
func TestGoogleClientHedging(t *testing.T) {
	r := newRig(t, Config{})
	pub := newClient(t, r).Publisher("orders")
	defer pub.Stop()
	pub.PublishSettings.CountThreshold = 1
	pub.PublishSettings.HedgingSettings = &pubsub.HedgingSettings{Delay: 100 * time.Millisecond, MaxTokens: 250, RefillRatio: 0.2}
	for range 20 {
		if _, err := pub.Publish(t.Context(), &pubsub.Message{Data: []byte("x")}).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.Inject(Fault{Kind: Delay, Method: "Publish", Delay: 300 * time.Millisecond})
	if _, err := pub.Publish(t.Context(), &pubsub.Message{Data: []byte("x")}).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.Counters().HedgedRequests; n != 1 {
		t.Errorf("%d hedges seen, want 1", n)
	}
}

// TestEmulatorHost: a client that only knows PUBSUB_EMULATOR_HOST finds the
// server, and the library's admin clients work.
func TestEmulatorHost(t *testing.T) {
	r := newServer(t, Config{})
	t.Setenv("PUBSUB_EMULATOR_HOST", r.Addr())
	c, err := pubsub.NewClient(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.TopicAdminClient.CreateTopic(t.Context(), &pubsubpb.Topic{Name: testTopic}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: testSub, Topic: testTopic}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for sub, err := range c.SubscriptionAdminClient.ListSubscriptions(t.Context(), &pubsubpb.ListSubscriptionsRequest{Project: "projects/p"}).All() {
		if err != nil || sub.GetName() != testSub {
			t.Fatalf("%v, %v", sub, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d subscriptions", n)
	}
}
