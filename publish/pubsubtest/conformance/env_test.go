package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	gtransport "google.golang.org/api/transport/grpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// testCase is one thing that a document says, and how it shows.
type testCase struct {
	id   string
	page string // the document that decides
	text string // what it says
	want string // the outcome that follows from it
	// run brings about the outcome, with the raw clients of e.
	run func(e *env) string
	// reason is why pubsubtest doesn't follow the document, if it doesn't.
	reason string
	// endsPstest: pstest panics in a goroutine of its own.
	endsPstest bool
}

// limit is how long a case may take; what it hasn't got by then it won't get.
const limit = 100 * time.Second

// env is what a case works with: a server, raw clients on a connection of its own
// and names that nobody else uses.
type env struct {
	*server
	ctx  context.Context
	id   string
	run  string // makes names unique
	pub  pubsubpb.PublisherClient
	sub  pubsubpb.SubscriberClient
	made int
	// ending are run backwards when the case is over.
	ending []func(ctx context.Context)

	mu    sync.Mutex
	conns []net.Conn // below the raw clients
}

// stopped is the outcome of a case that can't go on, for example because the
// server refuses to create what it needs.
type stopped string

func (e *env) stop(format string, args ...any) {
	panic(stopped(fmt.Sprintf(format, args...)))
}

// need stops the case at an error.
func (e *env) need(what string, err error) {
	if err != nil {
		e.stop("%s: %s", what, code(err))
	}
}

// outcome runs the case on a server.
func (c testCase) outcome(ctx context.Context, srv *server) (out string) {
	running, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	e := &env{server: srv, ctx: running, id: c.id, run: strings.ToLower(rand.Text()[:6])}
	defer func() {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		for i := len(e.ending) - 1; i >= 0; i-- {
			e.ending[i](cleaning)
		}
		switch r := recover().(type) {
		case nil:
		case stopped:
			out = string(r)
		default:
			panic(r)
		}
	}()
	conn := e.dial()
	e.pub, e.sub = pubsubpb.NewPublisherClient(conn), pubsubpb.NewSubscriberClient(conn)
	return c.run(e)
}

// dial opens a connection for raw clients, closed at the case's end.
func (e *env) dial() grpc.ClientConnInterface {
	conn, err := gtransport.Dial(e.ctx, append(e.options[:len(e.options):len(e.options)],
		option.WithGRPCDialOption(grpc.WithContextDialer(e.tcp)),
		option.WithGRPCDialOption(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20))))...)
	e.need("connect", err)
	e.ending = append(e.ending, func(context.Context) { _ = conn.Close() })
	return conn
}

func (e *env) tcp(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(addr, "dns:///"))
	if err == nil {
		e.mu.Lock()
		e.conns = append(e.conns, conn)
		e.mu.Unlock()
	}
	return conn, err
}

// reset cuts the raw clients' connections as a crash of the machine does: RST.
func (e *env) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, conn := range e.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	e.conns = nil
}

func (e *env) projectName() string {
	if e.project != "" {
		return "projects/" + e.project
	}
	return "projects/" + e.id + "-" + e.run
}

// name is a new name of the kind topics, subscriptions or snapshots.
func (e *env) name(kind string) string {
	e.made++
	return fmt.Sprintf("%s/%s/%s%s-%s-%d", e.projectName(), kind, e.prefix, e.id, e.run, e.made)
}

// topic creates a topic.
func (e *env) topic(change ...func(*pubsubpb.Topic)) string {
	t := &pubsubpb.Topic{Name: e.name("topics")}
	for _, f := range change {
		f(t)
	}
	e.need("create topic", e.tryTopic(t))
	return t.GetName()
}

// tryTopic creates a topic, to see whether that is refused.
func (e *env) tryTopic(t *pubsubpb.Topic) error {
	_, err := e.pub.CreateTopic(e.ctx, t)
	if err == nil && e.lasting {
		e.ending = append(e.ending, func(ctx context.Context) {
			_, _ = e.pub.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: t.GetName()})
		})
	}
	return err
}

// subscription creates a subscription with the shortest ack deadline.
func (e *env) subscription(topic string, change ...func(*pubsubpb.Subscription)) string {
	s := &pubsubpb.Subscription{Name: e.name("subscriptions"), Topic: topic, AckDeadlineSeconds: 10}
	for _, f := range change {
		f(s)
	}
	e.need("create subscription", e.trySubscription(s))
	return s.GetName()
}

func (e *env) trySubscription(s *pubsubpb.Subscription) error {
	_, err := e.sub.CreateSubscription(e.ctx, s)
	if err == nil && e.lasting {
		e.ending = append(e.ending, func(ctx context.Context) {
			_, _ = e.sub.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: s.GetName()})
		})
	}
	return err
}

// with is trySubscription with a new name.
func (e *env) with(topic string, change ...func(*pubsubpb.Subscription)) string {
	s := &pubsubpb.Subscription{Name: e.name("subscriptions"), Topic: topic}
	for _, f := range change {
		f(s)
	}
	return code(e.trySubscription(s))
}

func ordered(s *pubsubpb.Subscription)   { s.EnableMessageOrdering = true }
func unordered(s *pubsubpb.Subscription) { s.EnableMessageOrdering = false }

// orderedPair is a topic and its ordered subscription.
func (e *env) orderedPair(change ...func(*pubsubpb.Subscription)) (topic, sub string) {
	topic = e.topic()
	return topic, e.subscription(topic, append([]func(*pubsubpb.Subscription){ordered}, change...)...)
}

// message has the text and key.
func message(key, text string) *pubsubpb.PubsubMessage {
	return &pubsubpb.PubsubMessage{Data: []byte(text), OrderingKey: key}
}

// publish sends one request.
func (e *env) publish(topic string, messages ...*pubsubpb.PubsubMessage) error {
	_, err := e.pub.Publish(e.ctx, &pubsubpb.PublishRequest{Topic: topic, Messages: messages})
	return err
}

// send publishes one request with a message per text under a key, and returns
// the ids.
func (e *env) send(topic, key string, texts ...string) []string {
	req := &pubsubpb.PublishRequest{Topic: topic}
	for _, text := range texts {
		req.Messages = append(req.Messages, message(key, text))
	}
	resp, err := e.pub.Publish(e.ctx, req)
	e.need("publish", err)
	return resp.GetMessageIds()
}

// look waits as long as one looks for what shouldn't come.
func (e *env) look() { time.Sleep(e.settle) }

// expire lets the shortest ack deadline pass.
func (e *env) expire() { e.pass(11 * time.Second) }

// code is an error's code, OK without one.
func code(err error) string { return status.Code(err).String() }

// list joins names and outcomes: a=OK b=NotFound.
func list(pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, pairs[i]+"="+pairs[i+1])
	}
	return strings.Join(out, " ")
}

// pull runs a unary Pull, which may wait for messages: it gives up after patience.
func (e *env) pull(sub string, most int32) ([]*pubsubpb.ReceivedMessage, error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.patience)
	defer cancel()
	resp, err := e.sub.Pull(ctx, &pubsubpb.PullRequest{Subscription: sub, MaxMessages: most})
	if status.Code(err) == codes.DeadlineExceeded {
		return nil, nil // it waits longer for a message than we do
	}
	return resp.GetReceivedMessages(), err
}

func (e *env) ack(sub string, messages ...*pubsubpb.ReceivedMessage) error {
	_, err := e.sub.Acknowledge(e.ctx, &pubsubpb.AcknowledgeRequest{Subscription: sub, AckIds: ackIDs(messages)})
	return err
}

func (e *env) deadline(sub string, seconds int32, messages ...*pubsubpb.ReceivedMessage) error {
	_, err := e.sub.ModifyAckDeadline(e.ctx, &pubsubpb.ModifyAckDeadlineRequest{Subscription: sub, AckIds: ackIDs(messages), AckDeadlineSeconds: seconds})
	return err
}

func (e *env) nack(sub string, messages ...*pubsubpb.ReceivedMessage) {
	e.need("nack", e.deadline(sub, 0, messages...))
}

func ackIDs(messages []*pubsubpb.ReceivedMessage) []string {
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.GetAckId())
	}
	return ids
}

// firsts is the messages without repeats: a server whose clock can't be moved may
// let a lease run out twice.
func firsts(messages []*pubsubpb.ReceivedMessage) []*pubsubpb.ReceivedMessage {
	seen := map[string]bool{}
	var out []*pubsubpb.ReceivedMessage
	for _, m := range messages {
		if id := m.GetMessage().GetMessageId(); !seen[id] {
			seen[id] = true
			out = append(out, m)
		}
	}
	return out
}

// texts joins the messages' texts in their order.
func texts(messages []*pubsubpb.ReceivedMessage) string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.GetMessage().GetData()))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}

// named is the message with that text.
func named(messages []*pubsubpb.ReceivedMessage, text string) *pubsubpb.ReceivedMessage {
	i := slices.IndexFunc(messages, func(m *pubsubpb.ReceivedMessage) bool { return string(m.GetMessage().GetData()) == text })
	return messages[max(i, 0)]
}
