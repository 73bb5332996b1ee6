package pull

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Check holds the subscription to what order and acks rely on. It returns all
// findings at once, each with a Code and a Fix. The codes are those that
// cdc-publisher has for the same finding.
func (p *Puller) Check(ctx context.Context) error {
	name := p.cfg.Subscription
	sub, err := p.client.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: name}, gax.WithTimeout(time.Minute))
	if err != nil {
		what := "get subscription " + name
		switch status.Code(err) {
		case codes.NotFound:
			return &Error{what, "subscription_missing", "create it (cdc-publisher init) or correct pubsub.ordered.subscription", err}
		case codes.PermissionDenied, codes.Unauthenticated:
			return &Error{what, "subscription_permission", "grant roles/pubsub.subscriber and roles/pubsub.viewer on the subscription to the account of cdc-sink", err}
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(findings(name, sub)...)
}

// findings returns what is wrong with a subscription that exists.
func findings(name string, sub *pubsubpb.Subscription) (all []error) {
	find := func(wrong bool, what, code, fix string) {
		if wrong {
			all = append(all, &Error{"subscription " + name + ": " + what, code, fix, nil})
		}
	}
	find(!sub.GetEnableMessageOrdering(), "message ordering is off", "subscription_ordering",
		"it can't be switched on later: create another subscription with it and name that in pubsub.ordered.subscription")
	find(sub.GetEnableExactlyOnceDelivery(), "exactly-once delivery is on", "subscription_exactly_once",
		"switch it off: with ordering and batches its acks fail; what comes twice does no harm here")
	find(sub.GetPushConfig().GetPushEndpoint() != "" || sub.GetBigqueryConfig() != nil || sub.GetCloudStorageConfig() != nil || sub.GetBigtableConfig() != nil,
		"it isn't a pull subscription", "subscription_not_pull", "change its delivery type to pull")
	const again = "delete it and create it again on the topic (cdc-publisher init); what was published meanwhile is lost to it: until a version with resync, copy the tables anew"
	find(sub.GetDetached(), "it is detached from its topic", "subscription_detached", again)
	find(sub.GetTopic() == "_deleted-topic_", "its topic was deleted", "subscription_topic_deleted", again)
	find(sub.GetFilter() != "", "it has a filter, which acks what doesn't match", "subscription_has_filter", again)
	find(len(sub.GetMessageTransforms()) > 0, "it has a message transform, which may change or drop messages", "subscription_has_transform",
		"remove it (gcloud pubsub subscriptions update --clear-message-transforms)")
	return all
}
