package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

func streamCases() []testCase {
	return slices.Concat(streamRequestCases(), streamLifeCases())
}

// second opens a stream, sends a second request and tells how the stream ends.
func second(req func(sub string) *pubsubpb.StreamingPullRequest) func(e *env) string {
	return func(e *env) string {
		_, sub := e.orderedPair()
		p := e.open(sub)
		e.look()
		p.say(req(sub))
		return p.end()
	}
}

func streamRequestCases() []testCase {
	const page = pageRPC + "StreamingPullRequest"
	return []testCase{
		{
			id: "stream-deadline-bounds", page: page, want: "0=InvalidArgument 9=InvalidArgument 601=InvalidArgument 10=open 600=open",
			text: "stream_ack_deadline_seconds is required in the first request, 10 to 600.",
			run: func(e *env) string {
				_, sub := e.orderedPair()
				var out []string
				enough := time.Now().Add(e.patience)
				streams := map[int32]*puller{}
				all := []int32{0, 9, 601, 10, 600}
				for _, n := range all {
					streams[n] = e.open(sub, func(req *pubsubpb.StreamingPullRequest) { req.StreamAckDeadlineSeconds = n })
				}
				for _, n := range all[:3] {
					out = append(out, fmt.Sprint(n), streams[n].endWithin(max(e.settle, time.Until(enough))))
				}
				for _, n := range all[3:] { // these have had as long as those
					out = append(out, fmt.Sprint(n), streams[n].endWithin(e.settle))
				}
				return list(out...)
			},
		},
		{
			id: "stream-subscription-twice", page: page, want: "InvalidArgument",
			text: "subscription is set in the first request only.",
			run: second(func(sub string) *pubsubpb.StreamingPullRequest {
				return &pubsubpb.StreamingPullRequest{Subscription: sub}
			}),
		},
		{
			id: "stream-limits-twice", page: page, want: "InvalidArgument",
			text: "max_outstanding_messages on a later request ends the stream with INVALID_ARGUMENT.",
			run: second(func(string) *pubsubpb.StreamingPullRequest {
				return &pubsubpb.StreamingPullRequest{MaxOutstandingMessages: 5}
			}),
		},
		{
			id: "stream-modify-lists", page: page, want: "InvalidArgument",
			text: "modify_deadline_seconds and modify_deadline_ack_ids have the same length.",
			run: second(func(string) *pubsubpb.StreamingPullRequest {
				return &pubsubpb.StreamingPullRequest{ModifyDeadlineSeconds: []int32{10}}
			}),
		},
		{
			id: "stream-ack-malformed", page: page, want: "InvalidArgument",
			text: "A malformed ack id ends the stream with INVALID_ARGUMENT.",
			run: second(func(string) *pubsubpb.StreamingPullRequest {
				return &pubsubpb.StreamingPullRequest{AckIds: []string{"!"}}
			}),
		},
		{
			id: "ack-malformed", page: pageRPC + "AcknowledgeRequest", want: "InvalidArgument",
			text: "A malformed ack id refuses an Acknowledge with INVALID_ARGUMENT.",
			run: func(e *env) string {
				_, sub := e.orderedPair()
				return code(e.ack(sub, &pubsubpb.ReceivedMessage{AckId: "!"}))
			},
		},
		{
			id: "ack-bytes", page: pageQuotas, want: "InvalidArgument",
			text: "An Acknowledge request has at most 524,288 bytes.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				m := e.open(sub).need(1)
				return code(e.ack(sub, slices.Repeat(m, 600_000/len(m[0].GetAckId()))...))
			},
		},
		{
			id: "modify-bounds", page: pageRPC + "ModifyAckDeadlineRequest", want: "-1=InvalidArgument 600=OK 601=InvalidArgument",
			text: "A new ack deadline is 0 to 600 seconds.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				m := e.open(sub).need(1)
				var out []string
				for _, n := range []int32{-1, 600, 601} {
					out = append(out, fmt.Sprint(n), code(e.deadline(sub, n, m...)))
				}
				return list(out...)
			},
		},
	}
}

func streamLifeCases() []testCase {
	return []testCase{
		{
			id: "stream-properties", page: pageRPC + "StreamingPullResponse.SubscriptionProperties", want: "ordered=true unordered=false",
			text: "A response says whether the subscription has message ordering.",
			run: func(e *env) string {
				topic := e.topic()
				var out []string
				for _, ordering := range []bool{true, false} {
					p := e.open(e.subscription(topic, func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = ordering }))
					e.send(topic, "k", "a0")
					p.need(1)
					name := map[bool]string{true: "ordered", false: "unordered"}[ordering]
					out = append(out, name, fmt.Sprint((<-p.first).GetSubscriptionProperties().GetMessageOrderingEnabled()))
				}
				return list(out...)
			},
		},
		{
			id: "keep-alive", page: "https://github.com/googleapis/google-cloud-go/blob/main/pubsub/v2/iterator.go", want: "answered",
			text: "With protocol_version 1 the server answers an empty request, so that a client can tell a dead stream.",
			run:  keepAlive,
		},
		{
			id: "ack-on-another-stream", page: pageRPC + "StreamingPullRequest", want: "nothing",
			text: "An ack id need not be acked on the stream that it came from.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				got := p.need(1)
				other := e.open(sub)
				other.say(&pubsubpb.StreamingPullRequest{AckIds: ackIDs(got)})
				e.look()
				e.expire()
				return texts(append(p.rest(), other.rest()...))
			},
		},
		{
			id: "modify-extends", page: pageRPC + "ModifyAckDeadlineRequest", want: "before=nothing after=a0",
			text: "A new deadline counts from the request: 20 s given at once outlast the stream's 10 s.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				e.need("modify", e.deadline(sub, 20, p.need(1)...))
				e.pass(14 * time.Second)
				before := texts(p.rest())
				e.pass(7 * time.Second)
				return list("before", before, "after", texts(p.take(1)))
			},
		},
		{
			id: "stream-deadline-rules", page: pageRPC + "StreamingPullRequest", want: "a0",
			text: "A stream's messages have its stream_ack_deadline_seconds, not the subscription's deadline.",
			run: func(e *env) string {
				topic, sub := e.orderedPair(func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = 600 })
				e.send(topic, "k", "a0")
				p := e.open(sub)
				p.need(1)
				e.expire()
				return texts(p.take(1))
			},
		},
		{
			id: "half-close", page: pageRPC + "Subscriber", want: "end=OK again=b0",
			text: "A stream whose client has said all ends with OK; what it acked is acked, the rest comes again.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				e.send(topic, "l", "b0")
				p := e.open(sub)
				acked := p.need(2)
				p.say(&pubsubpb.StreamingPullRequest{AckIds: ackIDs(slices.DeleteFunc(acked, func(m *pubsubpb.ReceivedMessage) bool {
					return m.GetMessage().GetOrderingKey() == "l"
				}))})
				_ = p.stream.CloseSend()
				end := p.end()
				e.expire()
				return list("end", end, "again", texts(e.open(sub).all(1)))
			},
		},
		{
			id: "cancelled", page: pageRPC + "Subscriber", want: "again=a0 later=a1",
			text: "What a cancelled stream held comes again on another; the key goes on.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				p.need(1)
				p.abort()
				e.expire()
				p = e.open(sub)
				again := p.drain(1)
				e.send(topic, "k", "a1")
				return list("again", texts(again), "later", texts(p.drain(1)))
			},
		},
		{
			id: "ended-leases", page: pageRPC + "StreamingPullRequest", want: "at once=nothing ack=OK later=b0",
			text: "What a stream held that has ended isn't given back with it: it can still be acked, and the rest comes once its deadline has passed.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				e.send(topic, "", "a0", "b0")
				p := e.open(sub)
				got := p.need(2)
				p.close() // not cancelled: there the emulator goes on giving messages to it
				p = e.open(sub)
				atOnce := texts(p.rest())
				ack := code(e.ack(sub, named(got, "a0")))
				e.expire()
				return list("at once", atOnce, "ack", ack, "later", texts(firsts(p.all(1))))
			},
		},
		{
			id: "disconnect", page: pageRPC + "Subscriber", want: "20 of 20 keys, in order",
			text: "What a connection held that was reset comes again, on another connection, in order.",
			run:  disconnect,
		},
	}
}

func keepAlive(e *env) string {
	_, sub := e.orderedPair()
	p := e.open(sub, func(req *pubsubpb.StreamingPullRequest) { req.ProtocolVersion = 1 })
	e.look()
	for len(p.empty) > 0 {
		<-p.empty
	}
	p.say(&pubsubpb.StreamingPullRequest{})
	select {
	case <-p.empty:
		return "answered"
	case err := <-p.ended:
		return "ended: " + code(err)
	case <-time.After(e.patience):
		return "no answer"
	}
}

func disconnect(e *env) string {
	topic, sub := e.orderedPair()
	const keys = 20
	for k := range keys {
		e.send(topic, fmt.Sprint("k", k), "a0", "a1")
	}
	first := e.open(sub)
	first.take(keys)
	first.rest()
	e.reset()
	e.look()
	e.expire()
	p := e.openOn(pubsubpb.NewSubscriberClient(e.dial()), sub)
	got := map[string][]string{}
	complete := 0
	for complete < keys {
		m := p.take(1)
		if len(m) == 0 {
			return fmt.Sprintf("%s keys, in order", someOf(complete, keys))
		}
		key, text := m[0].GetMessage().GetOrderingKey(), string(m[0].GetMessage().GetData())
		p.ack(m...)
		got[key] = append(got[key], text)
		switch strings.Join(got[key], " ") {
		case "a0":
		case "a0 a1":
			complete++
		default:
			return "a key gets " + strings.Join(got[key], " ")
		}
	}
	return fmt.Sprintf("%d of %d keys, in order", complete, keys)
}

// someOf tells a count that changes from run to run.
func someOf(n, of int) string {
	if n > 0 && n < of {
		return fmt.Sprintf("some of %d", of)
	}
	return fmt.Sprintf("%d of %d", n, of)
}
