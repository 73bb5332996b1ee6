package publish

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// closedSettings are the fields of pubsubtest.Config that aren't switched by
// TestOpenSettings, with the reason.
var closedSettings = map[string]string{
	"Addr": "where it listens", "ControlAddr": "where it listens", "Record": "what it keeps",
	"PullWait":         "nobody calls Pull here",
	"DeadLetterCopies": "the subscriptions that Init makes have no dead-letter policy",
	"DeadLetterOffset": "the subscriptions that Init makes have no dead-letter policy",
	"ForgetAttempts":   "the subscriptions that Init makes have no dead-letter policy",
}

// TestOpenSettings: what Pub/Sub's documents leave open is a setting of the
// stand-in. Under each of them, and under all at once, a topic stores each key in
// order and its subscription delivers everything, while requests fail, a key is
// throttled and the subscriber's streams end.
func TestOpenSettings(t *testing.T) {
	settings := map[string]func(*pubsubtest.Config){
		"defaults":                         func(*pubsubtest.Config) {},
		"out-of-order acks are dropped":    func(c *pubsubtest.Config) { c.OutOfOrderAcks = pubsubtest.AckDropped },
		"keys of an ended stream are held": func(c *pubsubtest.Config) { c.EndedStreams = pubsubtest.KeyHeld },
		"throttled keys are refused":       func(c *pubsubtest.Config) { c.KeyRate = pubsubtest.KeyRateRefused },
		"small responses":                  func(c *pubsubtest.Config) { c.BatchMessages, c.BatchBytes = 1, 1 },
		"long ack ids":                     func(c *pubsubtest.Config) { c.AckIDBytes = 1024 },
	}
	var all pubsubtest.Config
	for name, set := range settings {
		set(&all)
		var one pubsubtest.Config
		set(&one)
		t.Run(name, func(t *testing.T) { underSetting(t, one) })
	}
	t.Run("all", func(t *testing.T) { underSetting(t, all) })
	for field, value := range reflect.ValueOf(all).Fields() {
		if value.IsZero() && closedSettings[field.Name] == "" {
			t.Errorf("pubsubtest.Config.%s isn't tested both ways", field.Name)
		}
	}
}

func underSetting(t *testing.T, cfg pubsubtest.Config) {
	const hot, total = "public.t|0", 200
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 4))
	cfg.Record = true
	s, conn := newServer(t, cfg, 80)
	// Another publisher has used up a key's 1 MB/s, before there was a subscription.
	const topic = "projects/p/topics/set"
	if err := s.CreateTopic(topic); err != nil {
		t.Fatal(err)
	}
	if _, err := pubsubpb.NewPublisherClient(conn).Publish(t.Context(), &pubsubpb.PublishRequest{Topic: topic, Messages: []*pubsubpb.PubsubMessage{
		{Data: make([]byte, 9_000_000), OrderingKey: hot},
	}}); err != nil {
		t.Fatal(err)
	}
	const subscription = "projects/p/subscriptions/set"
	if err := s.CreateSubscription(&pubsubpb.Subscription{Name: subscription, Topic: topic, EnableMessageOrdering: true}); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		s.Inject(randomFault(rnd, topic))
	}
	s.Inject(pubsubtest.Fault{Kind: pubsubtest.HoldOthers, Count: 2})
	s.Inject(pubsubtest.Fault{Kind: pubsubtest.EndStream, Skip: 1 + rnd.IntN(3)})
	s.Inject(pubsubtest.Fault{Kind: pubsubtest.Duplicate, Skip: rnd.IntN(3)})
	r := subscribe(t, conn, subscription)
	d := start(t, Config{Topic: topic, AttemptTimeout: 50 * time.Millisecond, BackoffInitial: time.Millisecond, BackoffMax: 10 * time.Millisecond}, conn)
	var all published
	for i := range uint64(total) {
		if err := d.Publish(t.Context(), all.message(fmt.Sprint("public.t|", rnd.IntN(8))), i, d.call); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the hot key is throttled", func() bool { return s.Counters().Throttled > 0 })
	s.ResetConnections()
	s.Advance(time.Minute)
	eventually(t, "all is accepted", func() bool { return d.count() == total })
	d.once(t, total)
	if err := d.end(t); err != nil {
		t.Error(err)
	}
	s.Advance(time.Minute) // what was to be stored late is now
	stored := slices.DeleteFunc(s.Stored(topic), func(m pubsubtest.StoredMessage) bool { return m.Attributes[schema.AttrPosition] == "" })
	if _, err := checkStored(stored, all); err != nil {
		t.Error(err)
	}
	move := unstuck(s)
	eventually(t, "all is delivered and acked", func() bool { move(); return s.Backlog(subscription) == 0 })
	if err := r.missing(all); err != nil {
		t.Error(err)
	}
}

// unstuck moves the server's clock past every lease once nothing has been
// delivered or acked for a while.
func unstuck(s *pubsubtest.Server) func() {
	var before int64
	since := time.Now()
	return func() {
		c := s.Counters()
		if now := c.Delivered + c.Acks; now != before {
			before, since = now, time.Now()
		} else if time.Since(since) > 100*time.Millisecond {
			s.Advance(11 * time.Second)
			since = time.Now()
		}
	}
}

// reader is a subscriber that acks each response and opens its stream again
// whenever it ends.
type reader struct {
	mu  sync.Mutex
	got []*pubsubpb.PubsubMessage
}

func subscribe(t *testing.T, conn Conn, subscription string) *reader {
	t.Helper()
	r := &reader{}
	client := pubsubpb.NewSubscriberClient(conn)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			r.read(ctx, client, subscription)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return r
}

// read reads one stream to its end.
func (r *reader) read(ctx context.Context, client pubsubpb.SubscriberClient, subscription string) {
	stream, err := client.StreamingPull(ctx)
	if err != nil {
		return
	}
	if stream.Send(&pubsubpb.StreamingPullRequest{Subscription: subscription, StreamAckDeadlineSeconds: 10}) != nil {
		return
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return
		}
		ack := &pubsubpb.AcknowledgeRequest{Subscription: subscription}
		r.mu.Lock()
		for _, m := range response.GetReceivedMessages() {
			r.got = append(r.got, m.GetMessage())
			ack.AckIds = append(ack.AckIds, m.GetAckId())
		}
		r.mu.Unlock()
		if _, err := client.Acknowledge(ctx, ack); err != nil {
			return
		}
	}
}

// missing returns an error if something wasn't delivered.
func (r *reader) missing(all published) error {
	var order schematest.Order
	for _, p := range all {
		order.Commit(p.key, p.position)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.got {
		if text := m.GetAttributes()[schema.AttrPosition]; text != "" {
			p, err := schema.ParsePosition(text)
			if err != nil {
				return err
			}
			order.Add(m.GetOrderingKey(), p)
		}
	}
	// Their order isn't the publisher's: what an ended stream had comes later.
	if c := order.End(); c.Missing > 0 || c.Unknown > 0 {
		return fmt.Errorf("%+v: %v", c, order.Findings())
	}
	return nil
}
