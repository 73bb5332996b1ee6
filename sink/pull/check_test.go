package pull

import (
	"slices"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// Everything that breaks order or acks, or drops messages, is found; several at once.
func TestFindings(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(s *pubsubpb.Subscription)
		want  []string
	}{
		"good":      {func(*pubsubpb.Subscription) {}, nil},
		"unordered": {func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = false }, []string{"subscription_ordering"}},
		"exactly":   {func(s *pubsubpb.Subscription) { s.EnableExactlyOnceDelivery = true }, []string{"subscription_exactly_once"}},
		"push":      {func(s *pubsubpb.Subscription) { s.PushConfig = &pubsubpb.PushConfig{PushEndpoint: "https://x"} }, []string{"subscription_not_pull"}},
		"bigquery":  {func(s *pubsubpb.Subscription) { s.BigqueryConfig = &pubsubpb.BigQueryConfig{} }, []string{"subscription_not_pull"}},
		"bigtable":  {func(s *pubsubpb.Subscription) { s.BigtableConfig = &pubsubpb.BigtableConfig{} }, []string{"subscription_not_pull"}},
		"storage":   {func(s *pubsubpb.Subscription) { s.CloudStorageConfig = &pubsubpb.CloudStorageConfig{} }, []string{"subscription_not_pull"}},
		"detached":  {func(s *pubsubpb.Subscription) { s.Detached = true }, []string{"subscription_detached"}},
		"deleted":   {func(s *pubsubpb.Subscription) { s.Topic = "_deleted-topic_" }, []string{"subscription_topic_deleted"}},
		"filter":    {func(s *pubsubpb.Subscription) { s.Filter = `attributes.op = "c"` }, []string{"subscription_has_filter"}},
		"transform": {func(s *pubsubpb.Subscription) { s.MessageTransforms = []*pubsubpb.MessageTransform{{}} }, []string{"subscription_has_transform"}},
		"two": {func(s *pubsubpb.Subscription) {
			s.EnableMessageOrdering, s.EnableExactlyOnceDelivery = false, true
		}, []string{"subscription_ordering", "subscription_exactly_once"}},
	} {
		s := &pubsubpb.Subscription{Topic: "projects/p/topics/t", EnableMessageOrdering: true, PushConfig: &pubsubpb.PushConfig{}}
		tt.spoil(s)
		var codes []string
		for _, err := range findings("projects/p/subscriptions/s", s) {
			if e, ok := err.(*Error); ok && e.Fix() != "" {
				codes = append(codes, e.Code())
			}
		}
		if !slices.Equal(codes, tt.want) {
			t.Errorf("%s: %v, want %v", name, codes, tt.want)
		}
	}
}
