package pubsubtest

import (
	"context"
	"slices"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Bounds and defaults of a subscription's settings.
const (
	minAckDeadline     = 10
	maxAckDeadline     = 600
	defaultRetention   = 7 * 24 * time.Hour
	defaultExpiration  = 31 * 24 * time.Hour
	minExpiration      = 24 * time.Hour
	maxBackoff         = 600 * time.Second
	defaultMinBackoff  = 10 * time.Second
	minDeliveries      = 5
	maxDeliveries      = 100
	maxFilterBytes     = 256
	defaultAckDeadline = minAckDeadline
)

// subscription is a subscription with what it has still to deliver.
type subscription struct {
	proto   *pubsubpb.Subscription
	topic   *topic // nil: deleted or detached
	filter  filter
	backlog *backlog
	enc     encoder
	streams map[*pullStream]struct{}
	// undelivered names the setting with which nothing can be delivered, or is "".
	undelivered string
	// activeAt is when a subscriber was last seen or a setting changed, ns.
	activeAt int64
}

// subscriberService answers the administrative methods of google.pubsub.v1.Subscriber.
type subscriberService struct {
	pubsubpb.UnimplementedSubscriberServer
	s *Server
}

func (p *subscriberService) CreateSubscription(_ context.Context, req *pubsubpb.Subscription) (*pubsubpb.Subscription, error) {
	s := p.s
	if err := s.checkName("subscriptions", req.GetName()); err != nil {
		return nil, err
	}
	settings := withSubscriptionDefaults(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSubscription(settings); err != nil {
		return nil, err
	}
	if s.subs[req.GetName()] != nil {
		return nil, s.alreadyExists(req.GetName())
	}
	t := s.topics[req.GetTopic()]
	if t == nil {
		return nil, s.notFound(RuleTopicMissing, req.GetTopic())
	}
	s.subCount++
	sub := &subscription{proto: settings, topic: t, streams: map[*pullStream]struct{}{}}
	sub.enc = encoder{
		sub: s.subCount, ackIDBytes: s.cfg.AckIDBytes,
		properties: appendProperties(nil, settings.GetEnableMessageOrdering()),
	}
	sub.filter, _ = parseFilter(settings.GetFilter()) // checked above; it never changes
	sub.reset(s)
	t.subs = append(t.subs, sub)
	s.subs[req.GetName()] = sub
	sub.active(s)
	s.arm(sub.expiresAt())
	return sub.view(), nil
}

// reset starts an empty backlog.
func (sub *subscription) reset(s *Server) {
	sub.backlog = newBacklog(sub.proto.GetEnableMessageOrdering(), &s.count)
	sub.backlog.onAck, sub.backlog.onEnd = s.cfg.OutOfOrderAcks, s.cfg.EndedStreams
	sub.backlog.copies = s.cfg.DeadLetterCopies
	sub.backlog.canForward = func() bool { return s.canForward(sub) }
	sub.configure(s)
}

// configure takes over the settings that may change while messages flow.
func (sub *subscription) configure(s *Server) {
	b := sub.backlog
	b.backoffMin, b.backoffMax = 0, 0
	if r := sub.proto.GetRetryPolicy(); r != nil {
		b.backoffMin, b.backoffMax = int64(r.GetMinimumBackoff().AsDuration()), int64(r.GetMaximumBackoff().AsDuration())
	}
	b.maxAttempts = 0
	if d := sub.proto.GetDeadLetterPolicy(); d != nil {
		b.maxAttempts = max(1, int(d.GetMaxDeliveryAttempts())+s.cfg.DeadLetterOffset)
	}
	b.window = int64(sub.proto.GetMessageRetentionDuration().AsDuration())
	if sub.topic != nil {
		b.window = max(b.window, sub.topic.retention())
	}
	b.retain(sub.proto.GetRetainAckedMessages())
	b.puller.leaseSecs = sub.proto.GetAckDeadlineSeconds()
	sub.enc.attempts = sub.proto.GetDeadLetterPolicy() != nil
	sub.undelivered = undelivered(sub.proto)
}

// view is the subscription as the API shows it.
func (sub *subscription) view() *pubsubpb.Subscription {
	out := proto.CloneOf(sub.proto)
	if sub.topic != nil {
		out.TopicMessageRetentionDuration = proto.CloneOf(sub.topic.proto.GetMessageRetentionDuration())
	}
	return out
}

func withSubscriptionDefaults(req *pubsubpb.Subscription) *pubsubpb.Subscription {
	out := proto.CloneOf(req)
	out.State = pubsubpb.Subscription_ACTIVE
	out.Detached = false
	out.TopicMessageRetentionDuration = nil
	out.Tags = nil // input only
	if out.AckDeadlineSeconds == 0 {
		out.AckDeadlineSeconds = defaultAckDeadline
	}
	if out.MessageRetentionDuration == nil {
		out.MessageRetentionDuration = durationpb.New(defaultRetention)
	}
	if out.ExpirationPolicy == nil {
		out.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(defaultExpiration)}
	}
	if r := out.RetryPolicy; r != nil {
		if r.MinimumBackoff == nil {
			r.MinimumBackoff = durationpb.New(defaultMinBackoff)
		}
		if r.MaximumBackoff == nil {
			r.MaximumBackoff = durationpb.New(maxBackoff)
		}
	}
	if d := out.DeadLetterPolicy; d != nil && d.MaxDeliveryAttempts == 0 {
		d.MaxDeliveryAttempts = minDeliveries
	}
	if out.PushConfig == nil {
		out.PushConfig = &pubsubpb.PushConfig{}
	}
	return out
}

// checkSubscription refuses settings that the service refuses. The caller holds mu.
func (s *Server) checkSubscription(sub *pubsubpb.Subscription) error {
	refuse := s.refusals.refuse
	if d := sub.GetAckDeadlineSeconds(); d < minAckDeadline || d > maxAckDeadline {
		return refuse(RuleAckDeadline, codes.InvalidArgument, "Invalid ack deadline given (ack_deadline=%d). The ack deadline must be between %d and %d seconds.", d, minAckDeadline, maxAckDeadline)
	}
	if err := s.checkRetention(sub.GetMessageRetentionDuration().AsDuration()); err != nil {
		return err
	}
	if ttl := sub.GetExpirationPolicy().GetTtl(); ttl != nil && ttl.AsDuration() < minExpiration {
		return refuse(RuleExpiration, codes.InvalidArgument, "Invalid expiration policy given: (ttl=%ds); it must be at least %ds.", ttl.GetSeconds(), int64(minExpiration.Seconds()))
	}
	if r := sub.GetRetryPolicy(); r != nil {
		low, high := r.GetMinimumBackoff().AsDuration(), r.GetMaximumBackoff().AsDuration()
		if low < 0 || high > maxBackoff || low > high {
			return refuse(RuleRetryPolicy, codes.InvalidArgument, "Invalid retry policy given: (minimumBackoff=%s, maximumBackoff=%s); both must be between 0s and %s, the minimum not above the maximum.", low, high, maxBackoff)
		}
	}
	if d := sub.GetDeadLetterPolicy(); d != nil {
		if n := d.GetMaxDeliveryAttempts(); n < minDeliveries || n > maxDeliveries {
			return refuse(RuleDeadLetterAttempts, codes.InvalidArgument, "Invalid dead letter policy given: (maxDeliveryAttempts=%d); it must be between %d and %d.", n, minDeliveries, maxDeliveries)
		}
		if s.topics[d.GetDeadLetterTopic()] == nil {
			return s.notFound(RuleDeadLetterTopic, d.GetDeadLetterTopic())
		}
	}
	return s.checkFilter(sub.GetFilter())
}

func (p *subscriberService) GetSubscription(_ context.Context, req *pubsubpb.GetSubscriptionRequest) (*pubsubpb.Subscription, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	sub := p.s.subs[req.GetSubscription()]
	if sub == nil {
		return nil, p.s.notFound(RuleSubscriptionMissing, req.GetSubscription())
	}
	return sub.view(), nil
}

func (p *subscriberService) UpdateSubscription(_ context.Context, req *pubsubpb.UpdateSubscriptionRequest) (*pubsubpb.Subscription, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[req.GetSubscription().GetName()]
	if sub == nil {
		return nil, s.notFound(RuleSubscriptionMissing, req.GetSubscription().GetName())
	}
	updated, err := s.masked(sub.proto, req.GetSubscription(), req.GetUpdateMask(),
		"ack_deadline_seconds", "retain_acked_messages", "message_retention_duration", "labels",
		"expiration_policy", "dead_letter_policy", "retry_policy", "enable_exactly_once_delivery",
		"push_config", "bigquery_config", "cloud_storage_config", "bigtable_config", "message_transforms")
	if err != nil {
		return nil, err
	}
	detached := sub.proto.GetDetached()
	settings := withSubscriptionDefaults(updated.(*pubsubpb.Subscription))
	settings.Detached = detached
	if err := s.checkSubscription(settings); err != nil {
		return nil, err
	}
	sub.proto = settings
	sub.configure(s)
	if sub.undelivered != "" {
		sub.interrupt(s.notYet(sub.undelivered))
	}
	sub.active(s)
	s.followUp(sub)
	s.arm(sub.expiresAt())
	return sub.view(), nil
}

func (p *subscriberService) ListSubscriptions(_ context.Context, req *pubsubpb.ListSubscriptionsRequest) (*pubsubpb.ListSubscriptionsResponse, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	names := inProject(req.GetProject(), s.subs)
	names, next := page(names, req.GetPageSize(), req.GetPageToken())
	resp := &pubsubpb.ListSubscriptionsResponse{NextPageToken: next}
	for _, n := range names {
		resp.Subscriptions = append(resp.Subscriptions, s.subs[n].view())
	}
	return resp, nil
}

func (p *subscriberService) DeleteSubscription(_ context.Context, req *pubsubpb.DeleteSubscriptionRequest) (*emptypb.Empty, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[req.GetSubscription()]
	if sub == nil {
		return nil, s.notFound(RuleSubscriptionMissing, req.GetSubscription())
	}
	s.remove(sub)
	return &emptypb.Empty{}, nil
}

// unlink takes the subscription off its topic: it gets no further messages.
func (sub *subscription) unlink() {
	if sub.topic == nil {
		return
	}
	sub.topic.subs = slices.DeleteFunc(sub.topic.subs, func(o *subscription) bool { return o == sub })
	sub.topic = nil
}

// discard drops what the subscription has and ends its streams with err.
func (sub *subscription) discard(s *Server, err error) {
	sub.interrupt(err)
	for _, c := range sub.backlog.consumers {
		c.ready = keyList{} // a stream that is ending must not take them into the new backlog
	}
	sub.reset(s)
}

// interrupt ends the subscription's streams with err and makes a waiting Pull
// look again.
func (sub *subscription) interrupt(err error) {
	for st := range sub.streams {
		st.finish(err)
	}
	for _, c := range sub.backlog.consumers {
		c.wakeNow()
	}
}
