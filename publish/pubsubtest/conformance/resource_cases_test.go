package conformance

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func nameCases() []testCase {
	const text = "An id starts with a letter, has 3 to 255 letters, digits and - _ . ~ + %, and doesn't start with goog."
	const want = "good=OK short=InvalidArgument long=InvalidArgument digit=InvalidArgument space=InvalidArgument goog=InvalidArgument bare=InvalidArgument"
	return []testCase{
		{
			id: "name-of-topic", page: pageNames, text: text, want: want,
			run: func(e *env) string {
				return eachName(e, "topics", func(name string) error { return e.tryTopic(&pubsubpb.Topic{Name: name}) })
			},
		},
		{
			id: "name-of-subscription", page: pageNames, text: text, want: want,
			run: func(e *env) string {
				topic := e.topic()
				return eachName(e, "subscriptions", func(name string) error {
					return e.trySubscription(&pubsubpb.Subscription{Name: name, Topic: topic})
				})
			},
		},
		{
			id: "name-taken", page: pageRPC + "Publisher", want: "topic=AlreadyExists subscription=AlreadyExists",
			text: "Creating a topic or subscription that exists: ALREADY_EXISTS.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				return list("topic", code(e.tryTopic(&pubsubpb.Topic{Name: topic})),
					"subscription", code(e.trySubscription(&pubsubpb.Subscription{Name: sub, Topic: topic})))
			},
		},
	}
}

// eachName creates something under good and bad names. The prefix of the run
// stays in all of them, where a name can have it.
func eachName(e *env, kind string, create func(name string) error) string {
	base := e.projectName() + "/" + kind + "/"
	return list(
		"good", code(create(base+e.prefix+"a-_.~+%Z9")),
		"short", code(create(base+"ab")),
		"long", code(create(base+e.prefix+strings.Repeat("a", 256-len(e.prefix)))),
		"digit", code(create(base+"1"+e.prefix+"abc")),
		"space", code(create(base+e.prefix+"a b")),
		"goog", code(create(base+"goog-"+e.prefix+"abc")),
		"bare", code(create(e.prefix+"abc")),
	)
}

func resourceCases() []testCase {
	return slices.Concat(missingCases(), updateCases(), deletedCases())
}

func missingCases() []testCase {
	return []testCase{
		{
			id: "missing-topic", page: pageRPC + "Publisher",
			text: "Publish, GetTopic, UpdateTopic, DeleteTopic and CreateSubscription on a topic that doesn't exist: NOT_FOUND.",
			want: "publish=NotFound get=NotFound update=NotFound delete=NotFound subscribe=NotFound",
			run:  missingTopic,
		},
		{
			id: "missing-subscription", page: pageRPC + "Subscriber",
			text: "Every call on a subscription that doesn't exist: NOT_FOUND.",
			want: "get=NotFound update=NotFound delete=NotFound pull=NotFound stream=NotFound ack=NotFound modify=NotFound",
			run:  missingSubscription,
		},
		{
			id: "missing-argument", page: pageRPC + "AcknowledgeRequest",
			text: "What the reference calls required can't be left out: INVALID_ARGUMENT.",
			want: "topic=InvalidArgument subscription=InvalidArgument acks=InvalidArgument stream=InvalidArgument",
			run: func(e *env) string {
				_, sub := e.orderedPair()
				_, get := e.sub.GetSubscription(e.ctx, &pubsubpb.GetSubscriptionRequest{})
				return list("topic", code(e.publish("", message("", "x"))), "subscription", code(get),
					"acks", code(e.ack(sub)), "stream", e.open("").end())
			},
		},
	}
}

func missingTopic(e *env) string {
	topic := e.name("topics")
	_, get := e.pub.GetTopic(e.ctx, &pubsubpb.GetTopicRequest{Topic: topic})
	_, update := e.pub.UpdateTopic(e.ctx, &pubsubpb.UpdateTopicRequest{
		Topic: &pubsubpb.Topic{Name: topic, Labels: map[string]string{"a": "b"}}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}},
	})
	_, remove := e.pub.DeleteTopic(e.ctx, &pubsubpb.DeleteTopicRequest{Topic: topic})
	return list("publish", code(e.publish(topic, message("", "x"))), "get", code(get), "update", code(update), "delete", code(remove),
		"subscribe", e.with(topic))
}

func missingSubscription(e *env) string {
	topic, other := e.orderedPair()
	e.send(topic, "k", "a0")
	ids := ackIDs(e.open(other).need(1)) // well-formed, whatever that is here
	sub := e.name("subscriptions")
	_, get := e.sub.GetSubscription(e.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: sub})
	update := e.update(&pubsubpb.Subscription{Name: sub, AckDeadlineSeconds: 20}, "ack_deadline_seconds")
	_, remove := e.sub.DeleteSubscription(e.ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: sub})
	_, pull := e.pull(sub, 1)
	_, ack := e.sub.Acknowledge(e.ctx, &pubsubpb.AcknowledgeRequest{Subscription: sub, AckIds: ids})
	_, modify := e.sub.ModifyAckDeadline(e.ctx, &pubsubpb.ModifyAckDeadlineRequest{Subscription: sub, AckIds: ids, AckDeadlineSeconds: 10})
	return list("get", code(get), "update", code(update), "delete", code(remove), "pull", code(pull),
		"stream", e.open(sub).end(), "ack", code(ack), "modify", code(modify))
}

func (e *env) update(s *pubsubpb.Subscription, paths ...string) error {
	_, err := e.sub.UpdateSubscription(e.ctx, &pubsubpb.UpdateSubscriptionRequest{Subscription: s, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
	return err
}

func (e *env) settings(sub string) *pubsubpb.Subscription {
	s, err := e.sub.GetSubscription(e.ctx, &pubsubpb.GetSubscriptionRequest{Subscription: sub})
	e.need("get subscription", err)
	return s
}

func updateCases() []testCase {
	return []testCase{
		{
			id: "update-mask", page: pageRPC + "UpdateSubscriptionRequest", want: "empty=InvalidArgument unknown=InvalidArgument",
			text: "update_mask is specified and not empty; it names fields.",
			run: func(e *env) string {
				_, sub := e.orderedPair()
				s := &pubsubpb.Subscription{Name: sub, AckDeadlineSeconds: 20}
				return list("empty", code(e.update(s)), "unknown", code(e.update(s, "colour")))
			},
		},
		{
			id: "update-only-the-masked", page: pageRPC + "UpdateSubscriptionRequest", want: "deadline=20 retain_acked=true",
			text: "Only the fields of the mask are changed.",
			run: func(e *env) string {
				_, sub := e.orderedPair(func(s *pubsubpb.Subscription) { s.RetainAckedMessages = true })
				e.need("update", e.update(&pubsubpb.Subscription{Name: sub, AckDeadlineSeconds: 20}, "ack_deadline_seconds"))
				s := e.settings(sub)
				return list("deadline", fmt.Sprint(s.GetAckDeadlineSeconds()), "retain_acked", fmt.Sprint(s.GetRetainAckedMessages()))
			},
		},
		{
			id: "update-fixed-fields", page: pageRPC + "Subscription",
			text: "Ordering, filter and topic are of a subscription's creation and can't be changed.",
			want: "ordering=InvalidArgument filter=InvalidArgument topic=InvalidArgument",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				s := &pubsubpb.Subscription{Name: sub, Topic: topic + "x", Filter: "attributes:a"}
				return list("ordering", code(e.update(s, "enable_message_ordering")), "filter", code(e.update(s, "filter")), "topic", code(e.update(s, "topic")))
			},
		},
		{
			id: "list-pages", page: pageRPC + "ListTopicSubscriptionsRequest", want: "each once, at most 2 a page",
			text: "A list comes in pages of at most page_size.", run: listPages,
		},
	}
}

func listPages(e *env) string {
	topic := e.topic()
	want := map[string]int{}
	for range 3 {
		want[e.subscription(topic)]++
	}
	token, most := "", 0
	for {
		resp, err := e.pub.ListTopicSubscriptions(e.ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: topic, PageSize: 2, PageToken: token})
		e.need("list", err)
		most = max(most, len(resp.GetSubscriptions()))
		for _, name := range resp.GetSubscriptions() {
			want[name]--
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	for name, left := range want {
		if left != 0 {
			return fmt.Sprintf("%s: %d times", name, 1-left)
		}
	}
	return fmt.Sprintf("each once, at most %d a page", most)
}

func deletedCases() []testCase {
	return []testCase{
		{
			id: "delete-topic", page: pageRPC + "Publisher", want: "topic=_deleted-topic_ kept=a0 new=nothing",
			text: "A deleted topic's subscriptions stay, with topic _deleted-topic_; a new topic of that name has none of them.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				_, err := e.pub.DeleteTopic(e.ctx, &pubsubpb.DeleteTopicRequest{Topic: topic})
				e.need("delete topic", err)
				name := e.settings(sub).GetTopic()
				p := e.open(sub)
				kept := p.take(1)
				p.ack(kept...)
				e.need("create it again", e.tryTopic(&pubsubpb.Topic{Name: topic}))
				e.send(topic, "k", "a1")
				return list("topic", name, "kept", texts(kept), "new", texts(p.rest()))
			},
		},
		{
			id: "delete-subscription", page: pageRPC + "Subscriber", want: "stream=NotFound again=nothing",
			text: "A deleted subscription's messages are dropped; one created with the name is new.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				p := e.open(sub)
				e.send(topic, "k", "a0")
				p.need(1)
				_, err := e.sub.DeleteSubscription(e.ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: sub})
				e.need("delete subscription", err)
				end := p.end()
				e.need("create it again", e.trySubscription(&pubsubpb.Subscription{Name: sub, Topic: topic}))
				return list("stream", end, "again", texts(e.open(sub).rest()))
			},
		},
		{
			id: "detach", page: pageRPC + "Publisher", want: "detached=true open=FailedPrecondition pull=FailedPrecondition new=FailedPrecondition",
			text: "After DetachSubscription, Pull and StreamingPull return FAILED_PRECONDITION.",
			run:  detach,
		},
	}
}

func detach(e *env) string {
	topic, sub := e.orderedPair()
	p := e.open(sub)
	e.send(topic, "k", "a0")
	p.need(1)
	_, err := e.pub.DetachSubscription(e.ctx, &pubsubpb.DetachSubscriptionRequest{Subscription: sub})
	e.need("detach", err)
	_, pull := e.pull(sub, 1)
	return list("detached", fmt.Sprint(e.settings(sub).GetDetached()), "open", p.end(), "pull", code(pull), "new", e.open(sub).end())
}
