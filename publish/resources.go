package publish

import (
	"fmt"
	"strconv"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Settings of every subscription that Init creates.
const (
	ackDeadlineSeconds = 60
	retryMinBackoff    = 10 * time.Second
	retryMaxBackoff    = 600 * time.Second
)

// Pair is a topic with its one subscription of ours. Other subscriptions of the
// topic are nobody's business.
type Pair struct {
	// Use is what the pair is for, as in the configuration: ordered, unordered,
	// dead_letter, requests.
	Use string
	// Topic and Subscription are the names without projects/….
	Topic        string
	Subscription string
	// Ordered: the subscription delivers in the order of the keys. Fixed at creation.
	Ordered bool
}

// Resources is what a database needs in Pub/Sub.
type Resources struct {
	Project string
	// Retention is how long the subscriptions keep a message that isn't acked,
	// 10 minutes to 31 days. Pub/Sub's default of 7 days loses data after a week.
	Retention time.Duration
	Pairs     []Pair
}

// TopicName returns the full name of a topic of the project.
func (r Resources) TopicName(topic string) string {
	return fmt.Sprintf("projects/%s/topics/%s", r.Project, topic)
}

// SubscriptionName returns the full name of a subscription of the project.
func (r Resources) SubscriptionName(subscription string) string {
	return fmt.Sprintf("projects/%s/subscriptions/%s", r.Project, subscription)
}

// subscription returns p's subscription as it should be.
func (r Resources) subscription(p Pair) *pubsubpb.Subscription {
	return &pubsubpb.Subscription{
		Name:                     r.SubscriptionName(p.Subscription),
		Topic:                    r.TopicName(p.Topic),
		AckDeadlineSeconds:       ackDeadlineSeconds,
		MessageRetentionDuration: durationpb.New(r.Retention),
		EnableMessageOrdering:    p.Ordered,
		ExpirationPolicy:         &pubsubpb.ExpirationPolicy{}, // no ttl: never
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(retryMinBackoff),
			MaximumBackoff: durationpb.New(retryMaxBackoff),
		},
	}
}

// createTopicLine is the gcloud command that creates p's topic.
func (r Resources) createTopicLine(p Pair) string {
	return fmt.Sprintf("gcloud pubsub topics create %s --project=%s", p.Topic, r.Project)
}

// createLine is the gcloud command that creates p's subscription.
func (r Resources) createLine(p Pair) string {
	line := fmt.Sprintf("gcloud pubsub subscriptions create %s --project=%s --topic=%s --ack-deadline=%d"+
		" --message-retention-duration=%s --expiration-period=never --min-retry-delay=%s --max-retry-delay=%s",
		p.Subscription, r.Project, p.Topic, ackDeadlineSeconds, seconds(r.Retention), seconds(retryMinBackoff), seconds(retryMaxBackoff))
	if p.Ordered {
		line += " --enable-message-ordering"
	}
	return line
}

// recreateLine is for what is fixed at creation. What the old subscription has
// not delivered is lost with it.
func (r Resources) recreateLine(p Pair) string {
	return fmt.Sprintf("let cdc-sink finish, stop cdc-publisher, then: gcloud pubsub subscriptions delete %s --project=%s && %s",
		p.Subscription, r.Project, r.createLine(p))
}

// updateLine is the gcloud command that sets flags of p's subscription.
func (r Resources) updateLine(p Pair, flags string) string {
	return fmt.Sprintf("gcloud pubsub subscriptions update %s --project=%s %s", p.Subscription, r.Project, flags)
}

// seconds writes d as gcloud takes it.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
