package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func publishCases() []testCase {
	return slices.Concat(publishLimitCases(), publishedCases())
}

// publishOne publishes messages to a new topic that has a subscription.
func publishOne(messages ...*pubsubpb.PubsubMessage) func(e *env) string {
	return func(e *env) string {
		topic := e.topic()
		e.subscription(topic)
		return code(e.publish(topic, messages...))
	}
}

// publishEach publishes each message alone and lists the codes.
func publishEach(e *env, pairs ...any) string {
	topic := e.topic()
	e.subscription(topic)
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, pairs[i].(string), code(e.publish(topic, pairs[i+1].(*pubsubpb.PubsubMessage))))
	}
	return list(out...)
}

func many(n int) []*pubsubpb.PubsubMessage {
	return slices.Repeat([]*pubsubpb.PubsubMessage{message("", "x")}, n)
}

func attributes(n, keyBytes, valueBytes int) *pubsubpb.PubsubMessage {
	m := message("", "x")
	m.Attributes = map[string]string{}
	for i := range n {
		key := fmt.Sprintf("%03d", i)
		m.Attributes[key+strings.Repeat("k", max(0, keyBytes-len(key)))] = strings.Repeat("v", valueBytes)
	}
	return m
}

func publishLimitCases() []testCase {
	return []testCase{
		{
			id: "publish-mixed-keys", page: pageRPC + "PubsubMessage", want: "FailedPrecondition",
			text: "All messages of a publish request have the same ordering key.",
			run:  publishOne(message("a", "1"), message("b", "2")),
		},
		{
			id: "publish-key-and-none", page: pageRPC + "PubsubMessage", want: "FailedPrecondition",
			text: "All messages of a publish request have the same ordering key, or none has one.",
			run:  publishOne(message("a", "1"), message("", "2")),
		},
		{
			id: "publish-1000-messages", page: pageQuotas, want: "OK",
			text: "A publish request has up to 1,000 messages.", run: publishOne(many(1000)...),
		},
		{
			id: "publish-1001-messages", page: pageQuotas, want: "InvalidArgument",
			text: "A publish request has up to 1,000 messages.", run: publishOne(many(1001)...),
		},
		{
			id: "publish-no-messages", page: pageRPC + "PublishRequest", want: "InvalidArgument",
			text: "messages is required.", run: publishOne(),
		},
		{
			id: "publish-empty-message", page: pageRPC + "PubsubMessage",
			text: "A message has data or at least one attribute; an ordering key is neither.",
			want: "empty=InvalidArgument key=InvalidArgument attribute=OK",
			run: func(e *env) string {
				return publishEach(e, "empty", &pubsubpb.PubsubMessage{}, "key", message("k", ""),
					"attribute", &pubsubpb.PubsubMessage{Attributes: map[string]string{"a": ""}})
			},
		},
		{
			id: "publish-9-mb", page: pageQuotas, want: "OK",
			text: "A publish request, and a message, has up to 10 MB.",
			run:  publishOne(message("", strings.Repeat("x", 9_000_000))),
		},
		{
			id: "publish-over-10-mb", page: pageQuotas, want: "InvalidArgument",
			text: "A publish request, and a message, has up to 10 MB.",
			run:  publishOne(message("", strings.Repeat("x", 10_500_000))),
		},
		{
			id: "publish-key-1-kb", page: pageOrdering, want: "1024=OK 1025=InvalidArgument",
			text: "An ordering key has up to 1 KB.",
			run: func(e *env) string {
				return publishEach(e, "1024", message(strings.Repeat("k", 1024), "x"), "1025", message(strings.Repeat("k", 1025), "x"))
			},
		},
		{
			id: "publish-attributes", page: pageQuotas, want: "100=OK 101=InvalidArgument",
			text: "A message has up to 100 attributes.",
			run: func(e *env) string {
				return publishEach(e, "100", attributes(100, 3, 1), "101", attributes(101, 3, 1))
			},
		},
		{
			id: "publish-attribute-key", page: pageQuotas, want: "256=OK 257=InvalidArgument",
			text: "An attribute's key has up to 256 bytes.",
			run: func(e *env) string {
				return publishEach(e, "256", attributes(1, 256, 1), "257", attributes(1, 257, 1))
			},
		},
		{
			id: "publish-attribute-reserved", page: "https://docs.cloud.google.com/pubsub/docs/publisher#using-attributes", want: "googx=InvalidArgument agoog=OK",
			text: "An attribute's key doesn't start with goog.",
			run: func(e *env) string {
				named := func(key string) *pubsubpb.PubsubMessage {
					return &pubsubpb.PubsubMessage{Attributes: map[string]string{key: "1"}}
				}
				return publishEach(e, "googx", named("googx"), "agoog", named("agoog"))
			},
		},
		{
			id: "publish-attribute-value", page: pageQuotas, want: "1024=OK 1025=InvalidArgument",
			text: "An attribute's value has up to 1,024 bytes.",
			run: func(e *env) string {
				return publishEach(e, "1024", attributes(1, 3, 1024), "1025", attributes(1, 3, 1025))
			},
		},
	}
}

func publishedCases() []testCase {
	return []testCase{
		{
			id: "publish-no-subscription", page: pageRPC + "DeadLetterPolicy", want: "publish=OK later=nothing",
			text: "Messages published to a topic with no subscriptions are lost.",
			run: func(e *env) string {
				topic := e.topic()
				err := e.publish(topic, message("", "x"))
				p := e.open(e.subscription(topic))
				return list("publish", code(err), "later", texts(p.rest()))
			},
		},
		{
			id: "publish-before-subscription", page: "https://docs.cloud.google.com/pubsub/docs/create-subscription", want: "first=before after second=after",
			text: "Only messages published after the subscription is created are delivered through it.",
			run: func(e *env) string {
				topic := e.topic()
				first := e.open(e.subscription(topic, ordered))
				e.send(topic, "k", "before")
				second := e.open(e.subscription(topic, ordered))
				e.look()
				e.send(topic, "k", "after")
				got := first.take(1)
				first.ack(got...)
				got = append(got, first.take(1)...)
				return list("first", texts(got), "second", texts(second.all(1)))
			},
		},
		{
			id: "publish-server-fields", page: pageRPC + "PubsubMessage", want: "id of the server, time of the server",
			text: "message_id and publish_time are set by the server; a publisher must not set them.",
			run:  publishServerFields,
		},
		{
			id: "publish-ids", page: pageRPC + "PublishResponse", want: "3 ids, in the order of the messages, distinct",
			text: "message_ids are those of the messages in the request's order, unique within the topic.",
			run:  publishIDs,
		},
		{
			id: "publish-twice", page: pageOrdering, want: "a0 a1 a0 a1, 4 ids",
			text: "A publish that is retried stores its messages again, under new ids, after those that are there.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1")
				e.send(topic, "k", "a0", "a1")
				got := e.open(sub).drain(4)
				ids := map[string]bool{}
				for _, m := range got {
					ids[m.GetMessage().GetMessageId()] = true
				}
				return fmt.Sprintf("%s, %d ids", texts(got), len(ids))
			},
		},
		{
			id: "publish-compressed", page: "https://docs.cloud.google.com/pubsub/docs/compression", want: "OK, 100000 bytes",
			text: "A publish request may be compressed with gzip.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				_, err := e.pub.Publish(e.ctx, &pubsubpb.PublishRequest{
					Topic: topic, Messages: []*pubsubpb.PubsubMessage{message("k", strings.Repeat("x", 100_000))},
				}, grpc.UseCompressor(gzip.Name))
				e.need("publish", err)
				return fmt.Sprintf("OK, %d bytes", len(e.open(sub).need(1)[0].GetMessage().GetData()))
			},
		},
		{
			id: "publish-key-rate", page: pageQuotas, want: "limited",
			text: "An ordering key takes 1 MB/s: what is over is late or refused with RESOURCE_EXHAUSTED.",
			run:  publishKeyRate,
		},
		{
			id: "publish-attributes-arrive", page: pageRPC + "PubsubMessage", want: "text, key k, a=1 b=ü",
			text: "Data, ordering key and attributes arrive as they were published.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				m := message("k", "text")
				m.Attributes = map[string]string{"a": "1", "b": "ü"}
				e.need("publish", e.publish(topic, m))
				got := e.open(sub).need(1)[0].GetMessage()
				return fmt.Sprintf("%s, key %s, a=%s b=%s", got.GetData(), got.GetOrderingKey(), got.GetAttributes()["a"], got.GetAttributes()["b"])
			},
		},
		{
			id: "publish-two-subscriptions", page: "https://docs.cloud.google.com/pubsub/docs/pubsub-basics", want: "first=a0 second=a0",
			text: "Each subscription of a topic gets each message; an ack on one is none on the other.",
			run: func(e *env) string {
				topic := e.topic()
				first, second := e.open(e.subscription(topic)), e.open(e.subscription(topic))
				e.send(topic, "", "a0")
				got := first.take(1)
				first.ack(got...)
				return list("first", texts(append(got, first.rest()...)), "second", texts(second.all(1)))
			},
		},
	}
}

// publishKeyRate publishes 4.5 MB under one key as fast as that goes. Beyond the
// first second's worth 3.5 MB need 3.5 s; half of that must show.
func publishKeyRate(e *env) string {
	topic := e.topic()
	e.subscription(topic, ordered)
	start := time.Now()
	for range 5 {
		switch err := e.publish(topic, message("k", strings.Repeat("x", 900_000))); {
		case status.Code(err) == codes.ResourceExhausted:
			return "limited"
		case err != nil:
			return code(err)
		}
	}
	if time.Since(start) > 1750*time.Millisecond {
		return "limited"
	}
	return "not limited"
}

func publishServerFields(e *env) string {
	topic := e.topic()
	sub := e.subscription(topic)
	m := message("", "x")
	m.MessageId, m.PublishTime = "mine", timestamppb.New(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC))
	e.need("publish", e.publish(topic, m))
	got := e.open(sub).need(1)[0].GetMessage()
	id, at := "id of the server", "time of the server"
	if got.GetMessageId() == "mine" || got.GetMessageId() == "" {
		id = "id " + got.GetMessageId()
	}
	if since := time.Since(got.GetPublishTime().AsTime()); since < -time.Hour || since > time.Hour {
		at = "another time"
	}
	return id + ", " + at
}

func publishIDs(e *env) string {
	topic, sub := e.orderedPair()
	ids := e.send(topic, "k", "a0", "a1", "a2")
	var got []string
	for _, m := range e.open(sub).drain(len(ids)) {
		got = append(got, m.GetMessage().GetMessageId())
	}
	order := "in the order of the messages"
	if !slices.Equal(ids, got) {
		order = "in another order"
	}
	slices.Sort(ids)
	distinct := "distinct"
	if len(slices.Compact(ids)) != 3 {
		distinct = "not distinct"
	}
	return fmt.Sprintf("%d ids, %s, %s", len(got), order, distinct)
}
