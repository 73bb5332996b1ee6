package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

func deadLetterCases() []testCase {
	const want = "deliveries=5 copies=1 data=a0 left=nothing attributes=CloudPubSubDeadLetterSourceDeliveryCount,CloudPubSubDeadLetterSourceSubscription," +
		"CloudPubSubDeadLetterSourceSubscriptionProject,CloudPubSubDeadLetterSourceTopicPublishTime,own"
	return []testCase{
		{
			id: "dead-letter", page: pageDeadLetters, want: want + " key=",
			text: "After max_delivery_attempts (5) a message goes to the dead-letter topic, with its attributes and four of Pub/Sub's, and is acked.",
			run:  forwarded("", unordered),
		},
		{
			id: "dead-letter-ordered", page: pageDeadLetters, want: want + " key=k",
			text: "The same with ordering; the key stays.", run: forwarded("k", ordered),
		},
		{
			id: "dead-letter-next-of-key", page: pageDeadLetters, want: "copies=1 next=a1",
			text: "After a message has been forwarded the later messages of its key are delivered.",
			run: func(e *env) string {
				topic, sub, dead := deadLetterTrio(e, ordered)
				e.send(topic, "k", "a0", "a1")
				_, others := nackAll(e.open(sub), "a0")
				next := others[max(0, len(others)-1):]
				return list("copies", someCopies(e.open(dead).all(1)), "next", texts(next))
			},
		},
		{
			id: "dead-letter-source", page: pageDeadLetters, want: "count=5 subscription=the source's project=the source's",
			text: "The attributes name the source subscription and the number of deliveries.",
			run: func(e *env) string {
				topic, sub, dead := deadLetterTrio(e, unordered)
				e.send(topic, "", "a0")
				nackAll(e.open(sub), "a0")
				a := e.open(dead).need(1)[0].GetMessage().GetAttributes()
				name, project := a["CloudPubSubDeadLetterSourceSubscription"], a["CloudPubSubDeadLetterSourceSubscriptionProject"]
				if strings.HasSuffix(sub, "/"+name) {
					name = "the source's"
				}
				if strings.HasPrefix(sub, "projects/"+project+"/") {
					project = "the source's"
				}
				return list("count", a["CloudPubSubDeadLetterSourceDeliveryCount"], "subscription", name, "project", project)
			},
		},
	}
}

// deadLetterTrio is a topic, its subscription that forwards after 5 attempts, and the subscription of the dead-letter topic.
func deadLetterTrio(e *env, ordering func(*pubsubpb.Subscription)) (topic, sub, dead string) {
	topic, deadTopic := e.topic(), e.topic()
	return topic, e.subscription(topic, ordering, deadLetters(deadTopic, 5)), e.subscription(deadTopic)
}

// nackAll nacks each delivery of a text until nothing comes any more, or it has
// come more often than a policy of 5 attempts allows.
func nackAll(p *puller, text string) (deliveries int, others []*pubsubpb.ReceivedMessage) {
	wait := p.e.patience
	for deliveries < 10 {
		m := p.within(wait, 1)
		wait = max(time.Second, 2*p.e.settle)
		switch {
		case len(m) == 0:
			return deliveries, others
		case string(m[0].GetMessage().GetData()) == text:
			deliveries++
			p.nack(m...)
		default:
			others = append(others, m...)
		}
	}
	return deliveries, others
}

func forwarded(key string, ordering func(*pubsubpb.Subscription)) func(e *env) string {
	return func(e *env) string {
		topic, sub, dead := deadLetterTrio(e, ordering)
		m := message(key, "a0")
		m.Attributes = map[string]string{"own": "1"}
		e.need("publish", e.publish(topic, m))
		p := e.open(sub)
		n, _ := nackAll(p, "a0")
		deliveries := fmt.Sprint(n)
		if n > 5 {
			deliveries = "more than 5"
		}
		copies := e.open(dead).all(1)
		if len(copies) == 0 {
			return list("deliveries", deliveries, "copies", "0", "left", texts(p.rest()))
		}
		got := copies[0].GetMessage()
		return list("deliveries", deliveries, "copies", someCopies(copies), "data", string(got.GetData()), "left", texts(p.rest()),
			"attributes", strings.Join(slices.Sorted(maps.Keys(got.GetAttributes())), ","), "key", got.GetOrderingKey())
	}
}

// someCopies counts messages: many is a number that changes from run to run.
func someCopies(messages []*pubsubpb.ReceivedMessage) string {
	if len(messages) > 1 {
		return "many"
	}
	return fmt.Sprint(len(messages))
}
