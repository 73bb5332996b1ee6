package pubsubtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// crowd does everything at once to one server.
type crowd struct {
	r    *rig
	t    *testing.T
	subs []string
}

const (
	crowdGoroutines = 16
	crowdSteps      = 60
)

// TestEverythingAtOnce: publishers, subscribers, administrators, faults, foreign
// bytes, the clock and cut connections at the same time, and Close in the middle
// of it. Nothing panics, hangs or is left. Which step each goroutine takes comes
// from the seed; how they meet does not.
func TestEverythingAtOnce(t *testing.T) {
	before := runtime.NumGoroutine()
	for round := range 4 { // half of them end with Close in the middle
		seed := uint64(time.Now().UnixNano())
		t.Logf("round %d: seed %d", round, seed)
		atOnce(t, Config{
			OutOfOrderAcks: AckPolicy(round % 2), EndedStreams: EndedPolicy(round / 2), KeyRate: KeyRatePolicy(round % 3),
			DeadLetterCopies: 1 + round, ForgetAttempts: round > 1, BatchMessages: 7, PullWait: 5 * time.Millisecond,
			ControlAddr: "127.0.0.1:0", Record: round == 0,
		}, seed, round%2 == 1)
	}
	waitFor(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func atOnce(t *testing.T, cfg Config, seed uint64, closeEarly bool) {
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{testTopic, deadTopic} {
		if err := s.CreateTopic(topic); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var conns []*grpc.ClientConn
	for g := range crowdGoroutines {
		conn, err := s.Dial(grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second, Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond}}),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		c := &crowd{
			t: t, r: &rig{Server: s, pub: pubsubpb.NewPublisherClient(conn), sub: pubsubpb.NewSubscriberClient(conn), conn: conn},
			subs: []string{testSub, testSub + "2", deadSub},
		}
		rng := rand.New(rand.NewPCG(seed, uint64(g)))
		wg.Go(func() {
			for i := range crowdSteps {
				if closeEarly && g == 0 && i == crowdSteps/2 {
					if err := s.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}
				c.step(ctx, rng)
			}
		})
	}
	wg.Wait()
	for _, sub := range s.Subscriptions() {
		if sub.Backlog < 0 {
			t.Errorf("%s has a backlog of %d", sub.Name, sub.Backlog)
		}
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	if !closeEarly {
		waitFor(t, "the streams and Pulls to end", func() bool { return s.consumersLeft() == 0 })
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if ctx.Err() != nil {
		t.Error("it took a minute")
	}
}

func (s *Server) consumersLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int(s.count.StreamsOpen)
	for _, sub := range s.subs {
		n += len(sub.backlog.consumers) + len(sub.streams)
	}
	return n
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// step does one thing; what it answers doesn't matter.
func (c *crowd) step(ctx context.Context, rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(60))*time.Millisecond)
	defer cancel()
	sub := pick(rng, c.subs...)
	switch rng.IntN(12) {
	case 0, 1, 8, 9:
		req := publishOf(pick(rng, "", "a", "b", "c"), "1", "2", strings.Repeat("x", pick(rng, 10, 10, 10, 400_000)))
		req.Topic = pick(rng, testTopic, deadTopic)
		_, _ = c.r.pub.Publish(ctx, req)
	case 2, 3, 10, 11:
		c.receive(ctx, rng, sub)
	case 4:
		c.pull(ctx, rng, sub)
	case 5:
		c.administer(ctx, rng, sub)
	case 6:
		c.disturb(rng, sub)
	case 7:
		c.foreign(ctx, rng)
	}
}

// receive reads a stream until its deadline, acking, nacking and keeping.
func (c *crowd) receive(ctx context.Context, rng *rand.Rand, sub string) {
	stream, err := c.r.sub.StreamingPull(ctx)
	if err != nil {
		return
	}
	_ = stream.Send(&pubsubpb.StreamingPullRequest{
		Subscription: sub, StreamAckDeadlineSeconds: 10, MaxOutstandingMessages: rng.Int64N(20), ProtocolVersion: rng.Int64N(2),
	})
	for {
		resp, err := stream.Recv()
		if err != nil {
			return
		}
		req := &pubsubpb.StreamingPullRequest{}
		for _, m := range resp.GetReceivedMessages() {
			switch rng.IntN(4) {
			case 0, 1:
				req.AckIds = append(req.AckIds, m.GetAckId())
			case 2:
				req.ModifyDeadlineAckIds = append(req.ModifyDeadlineAckIds, m.GetAckId())
				req.ModifyDeadlineSeconds = append(req.ModifyDeadlineSeconds, pick[int32](rng, 0, 0, 10, 600))
			}
		}
		if rng.IntN(10) == 0 {
			_ = stream.CloseSend()
			continue
		}
		_ = stream.Send(req)
	}
}

func (c *crowd) pull(ctx context.Context, rng *rand.Rand, sub string) {
	resp, err := c.r.sub.Pull(ctx, &pubsubpb.PullRequest{Subscription: sub, MaxMessages: 1 + rng.Int32N(10)})
	if err != nil || len(resp.GetReceivedMessages()) == 0 {
		return
	}
	ids := ackIDsOf(resp.GetReceivedMessages())
	if rng.IntN(2) == 0 {
		_, _ = c.r.sub.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: sub, AckIds: ids})
		return
	}
	_, _ = c.r.sub.ModifyAckDeadline(ctx, &pubsubpb.ModifyAckDeadlineRequest{Subscription: sub, AckIds: ids, AckDeadlineSeconds: pick[int32](rng, 0, 600)})
}

func (c *crowd) administer(ctx context.Context, rng *rand.Rand, sub string) {
	topic := pick(rng, testTopic, deadTopic)
	settings := &pubsubpb.Subscription{
		Name: sub, Topic: topic, EnableMessageOrdering: rng.IntN(4) > 0, RetainAckedMessages: rng.IntN(2) == 0,
		MessageRetentionDuration: durationpb.New(pick(rng, 10*time.Minute, 7*day)), Filter: pick(rng, "", "", `NOT attributes:x`),
		ExpirationPolicy: &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(pick(rng, day, 290*365*day))},
	}
	if rng.IntN(2) == 0 {
		settings.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(time.Second), MaximumBackoff: durationpb.New(time.Minute)}
	}
	if rng.IntN(2) == 0 {
		settings.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: pick(rng, testTopic, deadTopic), MaxDeliveryAttempts: 5}
	}
	settings.EnableExactlyOnceDelivery = rng.IntN(20) == 0
	switch rng.IntN(9) {
	case 0, 1:
		_, _ = c.r.pub.CreateTopic(ctx, &pubsubpb.Topic{Name: topic, MessageRetentionDuration: pick(rng, nil, durationpb.New(time.Hour))})
	case 2, 3:
		_, _ = c.r.sub.CreateSubscription(ctx, settings)
	case 4:
		_, _ = c.r.sub.UpdateSubscription(ctx, &pubsubpb.UpdateSubscriptionRequest{Subscription: settings, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{
			"retain_acked_messages", "message_retention_duration", "expiration_policy", "retry_policy", "dead_letter_policy", "enable_exactly_once_delivery",
		}}})
	case 5:
		_, _ = c.r.sub.Seek(ctx, &pubsubpb.SeekRequest{Subscription: sub, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(c.r.Now().Add(pick(rng, -day, -time.Minute, 0, time.Minute)))}})
	case 6:
		if rng.IntN(4) > 0 {
			return
		}
		_, _ = c.r.sub.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: sub})
	case 7:
		if rng.IntN(4) > 0 {
			return
		}
		defer func() { _, _ = c.r.sub.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: sub}) }()
		_, _ = c.r.pub.DetachSubscription(ctx, &pubsubpb.DetachSubscriptionRequest{Subscription: sub})
	case 8:
		if rng.IntN(4) > 0 {
			return
		}
		_, _ = c.r.pub.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: topic})
	}
}

// disturb queues a fault of any kind for any method, moves the clock, or cuts.
func (c *crowd) disturb(rng *rand.Rand, sub string) {
	switch rng.IntN(10) {
	case 0:
		if rng.IntN(4) == 0 {
			c.r.ResetConnections()
		}
	case 1:
		c.r.EndStreams(sub, pick(rng, codes.OK, codes.Unavailable, codes.Code(99)))
	case 2, 3:
		c.r.Advance(pick(rng, time.Second, time.Second, 11*time.Second, 11*time.Second, time.Minute, 2*day))
	case 4:
		c.r.ClearFaults()
	case 5:
		_ = c.r.Sabotage(pick(rng, Drop, Swap), rng.IntN(10))
	case 6:
		for _, path := range []string{"/counters", "/subscriptions", "/faults", "/topics"} {
			if resp, err := http.Get("http://" + c.r.ControlAddr() + path); err == nil {
				_ = resp.Body.Close()
			}
		}
		c.r.Stored(testTopic)
	default:
		c.r.Inject(Fault{
			Kind: FaultKind(1 + rng.IntN(len(faultNames))), Method: pick(rng, append(methods(), "", "", "StreamingPull", "Publish")...),
			Target: pick(rng, "", sub, testTopic), Skip: rng.IntN(3), Count: rng.IntN(3), Delay: pick(rng, 0, time.Millisecond, time.Minute),
		})
	}
}

// foreign sends bytes that are no request.
func (c *crowd) foreign(ctx context.Context, rng *rand.Rand) {
	data := make([]byte, rng.IntN(60))
	for i := range data {
		data[i] = pick(rng, byte(rng.IntN(256)), 0x0a, 0x12, 0x1a, 0x22, 5, 2, 0)
	}
	method := pick(rng, methods()...)
	service := "Subscriber"
	if strings.Contains(method, "Topic") || method == "Publish" || method == "DetachSubscription" {
		service = "Publisher"
	}
	path := fmt.Sprintf("/google.pubsub.v1.%s/%s", service, method)
	if method != "StreamingPull" {
		_ = c.r.conn.Invoke(ctx, path, &frame{data}, &frame{}, grpc.ForceCodecV2(codec{}))
		return
	}
	stream, err := c.r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return
	}
	_ = stream.SendMsg(&frame{data})
	_ = stream.RecvMsg(&frame{})
}
