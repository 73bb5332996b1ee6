package conformance

import (
	"fmt"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

func flowCases() []testCase {
	const page = pageRPC + "StreamingPullRequest"
	return []testCase{
		{
			id: "outstanding-messages", page: page, want: "3, after an ack 1, after a nack 1",
			text: "With max_outstanding_messages unacked on it a stream gets no more until one is acked or nacked.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				p := e.open(sub, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingMessages = 3 })
				e.look()
				e.send(topic, "", "a0", "a1", "a2", "a3", "a4", "a5")
				got := p.all(3)
				if len(got) != 3 {
					return atMost(3, got)
				}
				p.ack(got[0])
				acked := p.all(1)
				p.nack(got[1])
				return fmt.Sprintf("%d, after an ack %d, after a nack %d", len(got), len(acked), len(p.all(1)))
			},
		},
		{
			id: "outstanding-messages-per-stream", page: page, want: "2 and 2",
			text: "The limit is each stream's own.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				limited := func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingMessages = 2 }
				first, second := e.open(sub, limited), e.open(sub, limited)
				e.look()
				for i := range 8 {
					e.send(topic, "", fmt.Sprint("a", i))
				}
				a, b := first.all(2), second.all(2)
				if len(a) > 2 || len(b) > 2 {
					return "more than 2"
				}
				return fmt.Sprintf("%d and %d", len(a), len(b))
			},
		},
		{
			id: "outstanding-bytes", page: page, want: "3, after an ack 1",
			text: "With max_outstanding_bytes or more unacked on it a stream gets no more (here 2,500, by messages of 1,000).",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				p := e.open(sub, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingBytes = 2500 })
				e.look()
				for range 6 {
					e.send(topic, "", strings.Repeat("x", 1000))
				}
				got := p.all(3)
				if len(got) != 3 {
					return atMost(3, got)
				}
				p.ack(got[0])
				return fmt.Sprintf("%d, after an ack %d", len(got), len(p.all(1)))
			},
		},
	}
}

// atMost counts messages up to what may come.
func atMost(limit int, got []*pubsubpb.ReceivedMessage) string {
	if len(got) > limit {
		return fmt.Sprintf("more than %d", limit)
	}
	return fmt.Sprint(len(got))
}

func pullCases() []testCase {
	return []testCase{
		{
			id: "pull-max-messages", page: pageRPC + "PullRequest", want: "0=InvalidArgument -1=InvalidArgument",
			text: "max_messages is a positive integer.",
			run: func(e *env) string {
				_, sub := e.orderedPair()
				_, zero := e.pull(sub, 0)
				_, negative := e.pull(sub, -1)
				return list("0", code(zero), "-1", code(negative))
			},
		},
		{
			id: "pull-at-most", page: pageRPC + "PullRequest", want: "at most 2 at a time, 5 in all",
			text: "Pull returns at most max_messages.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				e.send(topic, "", "a0", "a1", "a2", "a3", "a4")
				most, all := 0, 0
				for all < 5 {
					got, err := e.pull(sub, 2)
					e.need("pull", err)
					if len(got) == 0 {
						break
					}
					most, all = max(most, len(got)), all+len(got)
					e.need("ack", e.ack(sub, got...))
				}
				return fmt.Sprintf("at most %d at a time, %d in all", most, all)
			},
		},
		{
			id: "pull-nothing", page: pageRPC + "PullResponse", want: "nothing",
			text: "Without messages Pull returns none, after waiting for a while.",
			run: func(e *env) string {
				_, sub := e.orderedPair()
				got, err := e.pull(sub, 1)
				e.need("pull", err)
				return texts(got)
			},
		},
		{
			id: "pull-one-batch-per-key", page: pageOrdering, want: "first=a0 a1 meanwhile=nothing acked=a2 a3",
			text: "With Pull one batch of a key's messages is outstanding at a time.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1", "a2", "a3")
				first, err := e.pull(sub, 2)
				e.need("pull", err)
				meanwhile, err := e.pull(sub, 10)
				e.need("pull", err)
				if len(first) > 0 {
					e.need("ack", e.ack(sub, first...))
				}
				acked, err := e.pull(sub, 10)
				e.need("pull", err)
				return list("first", texts(first), "meanwhile", texts(meanwhile), "acked", texts(acked))
			},
		},
	}
}
