package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// attempts nacks n deliveries of one message and returns their delivery_attempt.
func attempts(p *puller, n int) string {
	var out []string
	for range n {
		m := p.need(1)
		out = append(out, fmt.Sprint(m[0].GetDeliveryAttempt()))
		p.nack(m...)
	}
	return strings.Join(out, " ")
}

func policyCases() []testCase {
	return []testCase{
		{
			id: "attempts", page: pageRPC + "ReceivedMessage", want: "1 2 3",
			text: "With a dead-letter policy delivery_attempt is 1 + nacks + passed deadlines.",
			run: func(e *env) string {
				topic, sub := e.orderedPair(deadLetters(e.topic(), 10))
				e.send(topic, "k", "a0")
				return attempts(e.open(sub), 3)
			},
		},
		{
			id: "attempts-unordered", page: pageRPC + "ReceivedMessage", want: "1 2 3",
			text: "The same without ordering.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic, deadLetters(e.topic(), 10))
				e.send(topic, "", "a0")
				return attempts(e.open(sub), 3)
			},
		},
		{
			id: "attempts-expiry", page: pageRPC + "ReceivedMessage", want: "1 2",
			text: "A passed deadline counts as an attempt.",
			run: func(e *env) string {
				topic, sub := e.orderedPair(deadLetters(e.topic(), 10))
				e.send(topic, "k", "a0")
				p := e.open(sub)
				first := p.need(1)[0]
				e.expire()
				return fmt.Sprint(first.GetDeliveryAttempt(), " ", p.need(1)[0].GetDeliveryAttempt())
			},
		},
		{
			id: "attempts-dragged", page: pageRPC + "ReceivedMessage", want: "a0=2 a1=1",
			text: "A message that comes again only behind an earlier one of its key was neither nacked nor late: its attempt stays.",
			run: func(e *env) string {
				topic, sub := e.orderedPair(deadLetters(e.topic(), 10))
				e.send(topic, "k", "a0", "a1")
				p := e.open(sub)
				p.nack(p.need(2)[0])
				var out []string
				for _, m := range p.need(2) {
					out = append(out, texts([]*pubsubpb.ReceivedMessage{m}), fmt.Sprint(m.GetDeliveryAttempt()))
				}
				return list(out...)
			},
		},
		{
			id: "attempts-without-policy", page: pageRPC + "ReceivedMessage", want: "0 0",
			text: "Without a dead-letter policy delivery_attempt is 0.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				return attempts(e.open(sub), 2)
			},
		},
		{
			id: "attempts-per-subscription", page: pageRPC + "ReceivedMessage", want: "first=1 2 3 second=1",
			text: "Attempts are counted for each subscription.",
			run: func(e *env) string {
				topic, policy := e.topic(), deadLetters(e.topic(), 10)
				first, other := e.subscription(topic, ordered, policy), e.subscription(topic, ordered, policy)
				e.send(topic, "k", "a0")
				counted, of := attempts(e.open(first), 3), attempts(e.open(other), 1)
				if of != "1" {
					of = "another"
				}
				return list("first", counted, "second", of)
			},
		},
		{
			id: "back-off", page: pageRetry, want: "at once=nothing later=a0",
			text: "With a retry policy a nacked message comes again after its minimum back-off, not at once.",
			run:  backOff(true),
		},
		{
			id: "back-off-unordered", page: pageRetry, want: "at once=nothing later=a0",
			text: "The same without ordering.", run: backOff(false),
		},
		{
			id: "back-off-grows", page: pageRetry, want: "after the least=nothing after twice=a0",
			text: "The back-off is exponential: the second one is longer than the least.", run: backOffGrows,
		},
		{
			id: "back-off-none", page: pageRetry, want: "a0",
			text: "Without a retry policy a nacked message comes again at once.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				p.nack(p.need(1)...)
				return texts(p.take(1))
			},
		},
		{
			id: "exactly-once", page: pageExactlyOnce, want: "property=true stale ack=PERMANENT_FAILURE_INVALID_ACK_ID",
			text: "With exactly-once delivery the stream says so, and an ack of a delivery that is over fails.",
			run:  exactlyOnce, reason: "exactly-once delivery isn't implemented and refused with UNIMPLEMENTED: the product can't use it together with ordering",
		},
	}
}

// backOff nacks with a minimum back-off of 6 s.
func backOff(ordering bool) func(e *env) string {
	return func(e *env) string {
		topic := e.topic()
		sub := e.subscription(topic, func(s *pubsubpb.Subscription) {
			s.EnableMessageOrdering = ordering
			s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(6 * time.Second), MaximumBackoff: durationpb.New(8 * time.Second)}
		})
		e.send(topic, "k", "a0")
		p := e.open(sub)
		p.nack(p.need(1)...)
		if len(p.rest()) > 0 {
			return "comes at once"
		}
		e.pass(9 * time.Second)
		return list("at once", "nothing", "later", texts(p.take(1)))
	}
}

// backOffGrows nacks twice with a minimum back-off of 6 s.
func backOffGrows(e *env) string {
	topic, sub := e.orderedPair(func(s *pubsubpb.Subscription) {
		s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(6 * time.Second), MaximumBackoff: durationpb.New(60 * time.Second)}
	})
	e.send(topic, "k", "a0")
	p := e.open(sub)
	p.nack(p.need(1)...)
	e.pass(7 * time.Second)
	p.nack(p.need(1)...)
	e.pass(7 * time.Second)
	if len(p.rest()) > 0 {
		return "comes after the least again"
	}
	e.pass(6 * time.Second)
	return list("after the least", "nothing", "after twice", texts(p.take(1)))
}

func exactlyOnce(e *env) string {
	topic := e.topic()
	sub := e.subscription(topic, func(s *pubsubpb.Subscription) { s.EnableExactlyOnceDelivery = true })
	e.send(topic, "", "a0")
	p := e.open(sub)
	first := p.take(1)
	if len(first) == 0 {
		return "nothing comes; stream=" + p.end()
	}
	property := (<-p.first).GetSubscriptionProperties().GetExactlyOnceDeliveryEnabled()
	p.nack(first...)
	p.need(1)
	err := e.ack(sub, first...)
	return list("property", fmt.Sprint(property), "stale ack", failures(err))
}

// failures are the reasons by ack id that an error of exactly-once delivery has.
func failures(err error) string {
	if status.Code(err) == codes.OK {
		return "OK"
	}
	var out []string
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(interface{ GetMetadata() map[string]string }); ok {
			out = slices.AppendSeq(out, maps.Values(info.GetMetadata()))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}
