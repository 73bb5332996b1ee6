package publish

import (
	"fmt"
	"slices"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// Finding is something about Pub/Sub's set-up that would lose, change, hold back
// or reorder messages.
type Finding struct {
	// Code names what is wrong; it doesn't change between versions.
	Code string
	// Detail says it in words with names and values.
	Detail string
	// Fix is the command to type, or what to do.
	Fix string
	// mask is the field of the subscription that Init can set right; empty
	// if it is fixed at creation.
	mask string
}

// deletedTopic is the topic of a subscription whose topic was deleted (Subscription.topic
// in pubsub.proto).
const deletedTopic = "_deleted-topic_"

// compareTopic returns what is wrong with a topic that exists.
func (r Resources) compareTopic(p Pair, got *pubsubpb.Topic) []Finding {
	var fs []Finding
	if len(got.GetMessageTransforms()) > 0 {
		fs = append(fs, Finding{
			Code:   "topic_has_transform",
			Detail: fmt.Sprintf("%s: topic %s has a message transform, which may change or drop messages", p.Use, p.Topic),
			Fix:    fmt.Sprintf("gcloud pubsub topics update %s --project=%s --clear-message-transforms", p.Topic, r.Project),
		})
	}
	return fs
}

// compareSubscription returns what is wrong with a subscription that exists.
func (r Resources) compareSubscription(p Pair, got *pubsubpb.Subscription) []Finding {
	fs := slices.Concat(r.compareAttachment(p, got), r.compareContent(p, got), r.compareLifetime(p, got))
	if p.Ordered != got.GetEnableMessageOrdering() {
		detail := fmt.Sprintf("%s: subscription %s has message ordering off", p.Use, p.Subscription)
		if !p.Ordered {
			detail = fmt.Sprintf("%s: subscription %s has message ordering on, which holds back its messages", p.Use, p.Subscription)
		}
		fs = append(fs, Finding{Code: "subscription_ordering", Detail: detail, Fix: r.recreateLine(p)})
	}
	return fs
}

// compareAttachment: does it get the topic's messages, for cdc-sink to pull?
func (r Resources) compareAttachment(p Pair, got *pubsubpb.Subscription) []Finding {
	var fs []Finding
	switch want := r.TopicName(p.Topic); {
	case got.GetDetached():
		fs = append(fs, Finding{
			Code:   "subscription_detached",
			Detail: fmt.Sprintf("%s: subscription %s is detached from its topic: it gets nothing and has dropped what it held", p.Use, p.Subscription),
			Fix:    r.recreateLine(p),
		})
	case got.GetTopic() == deletedTopic:
		fs = append(fs, Finding{
			Code:   "subscription_topic_deleted",
			Detail: fmt.Sprintf("%s: the topic of subscription %s was deleted; a new topic of that name isn't attached to it", p.Use, p.Subscription),
			Fix:    r.recreateLine(p),
		})
	case got.GetTopic() != want:
		fs = append(fs, Finding{
			Code:   "subscription_other_topic",
			Detail: fmt.Sprintf("%s: subscription %s is attached to %s, not to %s", p.Use, p.Subscription, got.GetTopic(), want),
			Fix:    "correct the names in the configuration, or " + r.recreateLine(p),
		})
	}
	push := got.GetPushConfig().GetPushEndpoint() != ""
	if push || got.GetBigqueryConfig() != nil || got.GetCloudStorageConfig() != nil || got.GetBigtableConfig() != nil {
		fs = append(fs, Finding{
			Code:   "subscription_not_pull",
			Detail: fmt.Sprintf("%s: subscription %s delivers to somewhere else instead of being pulled", p.Use, p.Subscription),
			Fix:    r.recreateLine(p),
		})
	}
	if got.GetEnableExactlyOnceDelivery() {
		fs = append(fs, Finding{
			Code:   "subscription_exactly_once",
			Detail: fmt.Sprintf("%s: subscription %s has exactly-once delivery on: with ordering and batches its acks fail", p.Use, p.Subscription),
			Fix:    r.updateLine(p, "--no-enable-exactly-once-delivery"),
			mask:   "enable_exactly_once_delivery",
		})
	}
	return fs
}

// compareContent: does it get all messages, as they were published?
func (r Resources) compareContent(p Pair, got *pubsubpb.Subscription) []Finding {
	var fs []Finding
	if got.GetFilter() != "" {
		fs = append(fs, Finding{
			Code:   "subscription_has_filter",
			Detail: fmt.Sprintf("%s: subscription %s has a filter, which acks what doesn't match", p.Use, p.Subscription),
			Fix:    r.recreateLine(p),
		})
	}
	if len(got.GetMessageTransforms()) > 0 {
		fs = append(fs, Finding{
			Code:   "subscription_has_transform",
			Detail: fmt.Sprintf("%s: subscription %s has a message transform, which may change or drop messages", p.Use, p.Subscription),
			Fix:    r.updateLine(p, "--clear-message-transforms"),
		})
	}
	return fs
}

// compareLifetime: does it keep them long enough?
func (r Resources) compareLifetime(p Pair, got *pubsubpb.Subscription) []Finding {
	var fs []Finding
	if d := got.GetMessageRetentionDuration().AsDuration(); d != r.Retention {
		fs = append(fs, Finding{
			Code:   "subscription_retention",
			Detail: fmt.Sprintf("%s: subscription %s keeps messages for %v, the configuration says %v", p.Use, p.Subscription, d, r.Retention),
			Fix:    r.updateLine(p, "--message-retention-duration="+seconds(r.Retention)),
			mask:   "message_retention_duration",
		})
	}
	// Without a policy Pub/Sub's default holds, 31 days; a policy without ttl is never.
	if policy := got.GetExpirationPolicy(); policy == nil || policy.GetTtl() != nil {
		fs = append(fs, Finding{
			Code:   "subscription_expires",
			Detail: fmt.Sprintf("%s: subscription %s is deleted when nobody pulls for a time", p.Use, p.Subscription),
			Fix:    r.updateLine(p, "--expiration-period=never"),
			mask:   "expiration_policy",
		})
	}
	return fs
}
