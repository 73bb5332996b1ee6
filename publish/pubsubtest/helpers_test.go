package pubsubtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	testTopic = "projects/p/topics/orders"
	testSub   = "projects/p/subscriptions/orders-sink"
)

// rig is a server with one topic and one ordered subscription, and Google's
// generated stubs on one connection to it.
type rig struct {
	*Server
	pub  pubsubpb.PublisherClient
	sub  pubsubpb.SubscriberClient
	conn *grpc.ClientConn
}

func newServer(tb testing.TB, cfg Config) *rig {
	tb.Helper()
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := s.Dial()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = conn.Close()
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &rig{Server: s, pub: pubsubpb.NewPublisherClient(conn), sub: pubsubpb.NewSubscriberClient(conn), conn: conn}
}

func newRig(tb testing.TB, cfg Config, change ...func(*pubsubpb.Subscription)) *rig {
	tb.Helper()
	r := newServer(tb, cfg)
	if err := r.CreateTopic(testTopic); err != nil {
		tb.Fatal(err)
	}
	sub := &pubsubpb.Subscription{Name: testSub, Topic: testTopic, EnableMessageOrdering: true}
	for _, f := range change {
		f(sub)
	}
	if err := r.CreateSubscription(sub); err != nil {
		tb.Fatal(err)
	}
	return r
}

// send publishes one message per text under a key.
func (r *rig) send(tb testing.TB, key string, texts ...string) []string {
	tb.Helper()
	resp, err := r.pub.Publish(tb.Context(), publishOf(key, texts...))
	if err != nil {
		tb.Fatal(err)
	}
	return resp.GetMessageIds()
}

func publishOf(key string, texts ...string) *pubsubpb.PublishRequest {
	req := &pubsubpb.PublishRequest{Topic: testTopic}
	for _, text := range texts {
		req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{Data: []byte(text), OrderingKey: key})
	}
	return req
}

// puller is an open StreamingPull stream whose messages arrive on a channel.
type puller struct {
	tb     testing.TB
	stream pubsubpb.Subscriber_StreamingPullClient
	msgs   chan *pubsubpb.ReceivedMessage
	ended  chan error
	cancel context.CancelFunc
}

func (r *rig) open(tb testing.TB, change ...func(*pubsubpb.StreamingPullRequest)) *puller {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	tb.Cleanup(cancel)
	stream, err := r.sub.StreamingPull(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	req := &pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 10}
	for _, f := range change {
		f(req)
	}
	before := r.Counters().Streams
	if err := stream.Send(req); err != nil {
		tb.Fatal(err)
	}
	p := &puller{tb: tb, stream: stream, msgs: make(chan *pubsubpb.ReceivedMessage, 10_000), ended: make(chan error, 1), cancel: cancel}
	go p.receive()
	for r.Counters().Streams == before && len(p.ended) == 0 {
		time.Sleep(time.Millisecond)
	}
	return p
}

func (p *puller) receive() {
	for {
		resp, err := p.stream.Recv()
		if err != nil {
			p.ended <- err
			return
		}
		for _, m := range resp.GetReceivedMessages() {
			p.msgs <- m
		}
	}
}

// take waits for n messages.
func (p *puller) take(n int) []*pubsubpb.ReceivedMessage {
	p.tb.Helper()
	var out []*pubsubpb.ReceivedMessage
	deadline := time.After(10 * time.Second)
	for len(out) < n {
		select {
		case m := <-p.msgs:
			out = append(out, m)
		case err := <-p.ended:
			p.tb.Fatalf("stream ended after %d of %d messages: %v", len(out), n, err)
		case <-deadline:
			p.tb.Fatalf("got %d of %d messages: %q", len(out), n, texts(out))
		}
	}
	return out
}

// wantTexts takes as many messages as there are texts and compares them.
func (p *puller) wantTexts(want ...string) []*pubsubpb.ReceivedMessage {
	p.tb.Helper()
	got := p.take(len(want))
	if fmt.Sprint(texts(got)) != fmt.Sprint(want) {
		p.tb.Fatalf("got %q, want %q", texts(got), want)
	}
	return got
}

// wantNone checks that nothing comes for a while.
func (p *puller) wantNone() {
	p.tb.Helper()
	select {
	case m := <-p.msgs:
		p.tb.Fatalf("got %q, want nothing", m.GetMessage().GetData())
	case err := <-p.ended:
		p.tb.Fatalf("stream ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
}

// wantEnd waits for the stream's end and checks its code.
func (p *puller) wantEnd(code codes.Code) error {
	p.tb.Helper()
	select {
	case err := <-p.ended:
		if status.Code(err) != code {
			p.tb.Fatalf("stream ended with %v, want %v", err, code)
		}
		return err
	case <-time.After(10 * time.Second):
		p.tb.Fatal("stream did not end")
		return nil
	}
}

func (p *puller) send(req *pubsubpb.StreamingPullRequest) {
	p.tb.Helper()
	if err := p.stream.Send(req); err != nil {
		p.tb.Fatal(err)
	}
}

func (r *rig) ack(tb testing.TB, msgs ...*pubsubpb.ReceivedMessage) {
	tb.Helper()
	if _, err := r.sub.Acknowledge(tb.Context(), &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: ackIDsOf(msgs)}); err != nil {
		tb.Fatal(err)
	}
}

func (r *rig) modify(tb testing.TB, secs int32, msgs ...*pubsubpb.ReceivedMessage) {
	tb.Helper()
	if _, err := r.sub.ModifyAckDeadline(tb.Context(), &pubsubpb.ModifyAckDeadlineRequest{
		Subscription: testSub, AckIds: ackIDsOf(msgs), AckDeadlineSeconds: secs,
	}); err != nil {
		tb.Fatal(err)
	}
}

func ackIDsOf(msgs []*pubsubpb.ReceivedMessage) []string {
	var ids []string
	for _, m := range msgs {
		ids = append(ids, m.GetAckId())
	}
	return ids
}

func texts(msgs []*pubsubpb.ReceivedMessage) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, string(m.GetMessage().GetData()))
	}
	return out
}

// wantRefused checks code and message of an answer, and that it was counted
// under its rule.
func (r *rig) wantRefused(tb testing.TB, rule RuleID, code codes.Code, text string, err error) {
	tb.Helper()
	st := status.Convert(err)
	if st.Code() != code || st.Message() != text {
		tb.Errorf("answer is %v %q,\nwant %v %q", st.Code(), st.Message(), code, text)
	}
	if r.Counters().Refused[rule] == 0 {
		tb.Errorf("rule %q has not counted it: %v", rule, r.Counters().Refused)
	}
}

// waitFor waits for something that happens on its own.
func waitFor(tb testing.TB, what string, happened func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("waited in vain for %s", what)
		}
	}
}
