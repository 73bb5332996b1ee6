package pubsubtest

import (
	"fmt"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

// TestNameLeftOut: a call on nothing lacks an argument; NOT_FOUND is for what has a name.
func TestNameLeftOut(t *testing.T) {
	r := newRig(t, Config{})
	_, getTopic := r.pub.GetTopic(t.Context(), &pubsubpb.GetTopicRequest{})
	_, deleteTopic := r.pub.DeleteTopic(t.Context(), &pubsubpb.DeleteTopicRequest{})
	_, getSub := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{})
	_, deleteSub := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{})
	_, detach := r.pub.DetachSubscription(t.Context(), &pubsubpb.DetachSubscriptionRequest{})
	for _, row := range []struct {
		what string
		err  error
	}{{"topic", getTopic}, {"topic", deleteTopic}, {"subscription", getSub}, {"subscription", deleteSub}, {"subscription", detach}} {
		r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, fmt.Sprintf("A required argument is missing in the request: (argument=%q).", row.what), row.err)
	}
}
