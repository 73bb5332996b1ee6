package pubsubtest

import (
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

func (s *Server) detached(sub *subscription) error {
	return s.refusals.refuse(RuleDetached, codes.FailedPrecondition,
		"The subscription is detached from its topic (resource=%s).", lastPart(sub.proto.GetName()))
}

// attached finds a subscription that isn't detached. The caller holds mu.
func (s *Server) attached(name string) (*subscription, error) {
	if name == "" {
		return nil, s.refusals.refuse(RuleArgumentMissing, codes.InvalidArgument, "A required argument is missing in the request: (argument=\"subscription\").")
	}
	sub := s.subs[name]
	if sub == nil {
		return nil, s.notFound(RuleSubscriptionMissing, name)
	}
	if sub.proto.GetDetached() {
		return nil, s.detached(sub)
	}
	return sub, nil
}

// pullable finds a subscription that can be pulled from. The caller holds mu.
func (s *Server) pullable(name string) (*subscription, error) {
	sub, err := s.attached(name)
	if err != nil {
		return nil, err
	}
	if sub.undelivered != "" {
		return nil, s.notYet(sub.undelivered)
	}
	return sub, nil
}

// undelivered names a setting that can be stored and shown but whose delivery
// isn't implemented.
func undelivered(p *pubsubpb.Subscription) string {
	switch {
	case p.GetEnableExactlyOnceDelivery():
		return "exactly-once delivery"
	case len(p.GetMessageTransforms()) > 0:
		return "delivery through a message transform"
	case p.GetPushConfig().GetPushEndpoint() != "":
		return "push delivery"
	case p.GetBigqueryConfig() != nil, p.GetCloudStorageConfig() != nil, p.GetBigtableConfig() != nil:
		return "export delivery"
	}
	return ""
}
