package conformance

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// puller is an open StreamingPull stream whose messages arrive on a channel.
type puller struct {
	e      *env
	sub    string
	stream pubsubpb.Subscriber_StreamingPullClient
	msgs   chan *pubsubpb.ReceivedMessage
	first  chan *pubsubpb.StreamingPullResponse // the first response
	empty  chan struct{}                        // a response without messages
	ended  chan error
	over   chan struct{} // closed once it has ended and all messages are in msgs
	cancel context.CancelFunc
}

// open opens a stream on a subscription through the case's own connection.
func (e *env) open(sub string, change ...func(*pubsubpb.StreamingPullRequest)) *puller {
	return e.openOn(e.sub, sub, change...)
}

func (e *env) openOn(client pubsubpb.SubscriberClient, sub string, change ...func(*pubsubpb.StreamingPullRequest)) *puller {
	req := &pubsubpb.StreamingPullRequest{Subscription: sub, StreamAckDeadlineSeconds: 10}
	for _, f := range change {
		f(req)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	stream, err := client.StreamingPull(ctx)
	if err != nil {
		cancel()
		e.stop("open stream: %s", code(err))
	}
	p := &puller{
		e: e, sub: sub, stream: stream, cancel: cancel,
		msgs: make(chan *pubsubpb.ReceivedMessage, 10_000), ended: make(chan error, 1), over: make(chan struct{}),
		first: make(chan *pubsubpb.StreamingPullResponse, 1), empty: make(chan struct{}, 1),
	}
	e.ending = append(e.ending, func(context.Context) { cancel(); <-p.over })
	_ = stream.Send(req) // what is wrong with it, Recv tells
	go p.receive()
	return p
}

func (p *puller) receive() {
	defer close(p.over)
	for {
		resp, err := p.stream.Recv()
		if err != nil {
			p.ended <- err
			return
		}
		select {
		case p.first <- resp:
		default:
		}
		if len(resp.GetReceivedMessages()) == 0 {
			select {
			case p.empty <- struct{}{}:
			default:
			}
		}
		for _, m := range resp.GetReceivedMessages() {
			select {
			case p.msgs <- m:
			case <-p.stream.Context().Done():
			}
		}
	}
}

// take waits for n messages, as long as the case has patience and the stream
// lasts, and returns what has come.
func (p *puller) take(n int) []*pubsubpb.ReceivedMessage { return p.within(p.e.patience, n) }

func (p *puller) within(limit time.Duration, n int) []*pubsubpb.ReceivedMessage {
	var out []*pubsubpb.ReceivedMessage
	enough := time.After(limit)
	over := p.over
	for len(out) < n {
		select {
		case m := <-p.msgs:
			out = append(out, m)
		case <-over:
			if over = nil; len(p.msgs) == 0 {
				return out
			}
			n = min(n, len(out)+len(p.msgs))
		case <-enough:
			return out
		}
	}
	return out
}

// rest is what comes while one looks.
func (p *puller) rest() []*pubsubpb.ReceivedMessage {
	var out []*pubsubpb.ReceivedMessage
	enough := time.After(p.e.settle)
	for {
		select {
		case m := <-p.msgs:
			out = append(out, m)
		case <-enough:
			return out
		}
	}
}

// all is n messages and what comes beyond them.
func (p *puller) all(n int) []*pubsubpb.ReceivedMessage { return append(p.take(n), p.rest()...) }

// drain takes and acks n messages one by one, for servers that have only one of a
// key outstanding, and then what comes beyond them.
func (p *puller) drain(n int) []*pubsubpb.ReceivedMessage {
	var out []*pubsubpb.ReceivedMessage
	for range n {
		m := p.take(1)
		if len(m) == 0 {
			break
		}
		p.ack(m...)
		out = append(out, m...)
	}
	return append(out, p.rest()...)
}

func (p *puller) ack(messages ...*pubsubpb.ReceivedMessage) {
	if len(messages) > 0 {
		p.e.need("ack", p.e.ack(p.sub, messages...))
	}
}

func (p *puller) nack(messages ...*pubsubpb.ReceivedMessage) {
	if len(messages) > 0 {
		p.e.nack(p.sub, messages...)
	}
}

// need takes exactly n messages and stops the case if fewer come.
func (p *puller) need(n int) []*pubsubpb.ReceivedMessage {
	out := p.take(n)
	if len(out) < n {
		got := strings.Fields(texts(out))
		slices.Sort(got) // keys come in any order
		p.e.stop("only %s", strings.Join(got, " "))
	}
	return out
}

// end waits for the stream's end and returns its code; EOF is OK.
func (p *puller) end() string { return p.endWithin(p.e.patience) }

func (p *puller) endWithin(limit time.Duration) string {
	select {
	case err := <-p.ended:
		if errors.Is(err, io.EOF) {
			return "OK"
		}
		return code(err)
	case <-time.After(limit):
		return "open"
	}
}

// say sends a further request; the stream's end tells what was wrong with it.
func (p *puller) say(req *pubsubpb.StreamingPullRequest) { _ = p.stream.Send(req) }

// close says that all is said, and waits for the stream's end.
func (p *puller) close() {
	_ = p.stream.CloseSend()
	p.end()
	p.abort()
}

// abort cancels the call, and gives the server time to notice it.
func (p *puller) abort() {
	p.cancel()
	p.e.look()
}
