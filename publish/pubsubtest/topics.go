package pubsubtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// topic is a topic with its subscriptions in the order of their creation.
type topic struct {
	proto  *pubsubpb.Topic
	subs   []*subscription
	record []*message
	rates  keyRates
	kept   []*message // in storing order, for the topic's own retention
}

// publisherService answers the administrative methods of google.pubsub.v1.Publisher.
type publisherService struct {
	pubsubpb.UnimplementedPublisherServer
	s *Server
}

// Retention bounds of topics and subscriptions.
const (
	minRetention = 10 * time.Minute
	maxRetention = 31 * 24 * time.Hour
)

func (p *publisherService) CreateTopic(_ context.Context, req *pubsubpb.Topic) (*pubsubpb.Topic, error) {
	s := p.s
	if err := s.checkName("topics", req.GetName()); err != nil {
		return nil, err
	}
	if err := s.checkTopic(req); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topics[req.GetName()] != nil {
		return nil, s.alreadyExists(req.GetName())
	}
	t := &topic{proto: proto.CloneOf(req)}
	t.proto.State = pubsubpb.Topic_ACTIVE
	t.proto.SatisfiesPzs = false
	t.proto.Tags = nil // input only
	s.topics[req.GetName()] = t
	return proto.CloneOf(t.proto), nil
}

func (s *Server) checkTopic(t *pubsubpb.Topic) error {
	switch {
	case t.GetSchemaSettings() != nil:
		return s.notYet("a topic schema")
	case t.GetIngestionDataSourceSettings() != nil:
		return s.notYet("ingestion into a topic")
	case len(t.GetMessageTransforms()) > 0:
		return s.notYet("a message transform on a topic")
	case t.GetMessageRetentionDuration() != nil:
		return s.checkRetention(t.GetMessageRetentionDuration().AsDuration())
	}
	return nil
}

func (s *Server) checkRetention(d time.Duration) error {
	if d < minRetention || d > maxRetention {
		return s.refusals.refuse(RuleRetention, codes.InvalidArgument,
			"Invalid message retention duration given: (messageRetentionDuration=%ds); it must be between %ds and %ds.",
			int64(d.Seconds()), int64(minRetention.Seconds()), int64(maxRetention.Seconds()))
	}
	return nil
}

func (p *publisherService) GetTopic(_ context.Context, req *pubsubpb.GetTopicRequest) (*pubsubpb.Topic, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	t := p.s.topics[req.GetTopic()]
	if t == nil {
		return nil, p.s.notFound(RuleTopicMissing, req.GetTopic())
	}
	return proto.CloneOf(t.proto), nil
}

func (p *publisherService) UpdateTopic(_ context.Context, req *pubsubpb.UpdateTopicRequest) (*pubsubpb.Topic, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[req.GetTopic().GetName()]
	if t == nil {
		return nil, s.notFound(RuleTopicMissing, req.GetTopic().GetName())
	}
	updated, err := s.masked(t.proto, req.GetTopic(), req.GetUpdateMask(),
		"labels", "message_storage_policy", "message_retention_duration", "kms_key_name",
		"schema_settings", "ingestion_data_source_settings", "message_transforms")
	if err != nil {
		return nil, err
	}
	if err := s.checkTopic(updated.(*pubsubpb.Topic)); err != nil {
		return nil, err
	}
	t.proto = updated.(*pubsubpb.Topic)
	t.dropOld(s.now()) // all, if it has none any more
	for _, sub := range t.subs {
		sub.configure(s)
		s.arm(sub.backlog.next())
	}
	s.arm(t.oldestEnd())
	return proto.CloneOf(t.proto), nil
}

func (p *publisherService) ListTopics(_ context.Context, req *pubsubpb.ListTopicsRequest) (*pubsubpb.ListTopicsResponse, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	names := inProject(req.GetProject(), s.topics)
	names, next := page(names, req.GetPageSize(), req.GetPageToken())
	resp := &pubsubpb.ListTopicsResponse{NextPageToken: next}
	for _, n := range names {
		resp.Topics = append(resp.Topics, proto.CloneOf(s.topics[n].proto))
	}
	return resp, nil
}

func (p *publisherService) ListTopicSubscriptions(_ context.Context, req *pubsubpb.ListTopicSubscriptionsRequest) (*pubsubpb.ListTopicSubscriptionsResponse, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[req.GetTopic()]
	if t == nil {
		return nil, s.notFound(RuleTopicMissing, req.GetTopic())
	}
	var names []string
	for _, sub := range t.subs {
		names = append(names, sub.proto.GetName())
	}
	slices.Sort(names)
	names, next := page(names, req.GetPageSize(), req.GetPageToken())
	return &pubsubpb.ListTopicSubscriptionsResponse{Subscriptions: names, NextPageToken: next}, nil
}

// DeleteTopic leaves the subscriptions: they keep what they have and say that
// their topic is gone.
func (p *publisherService) DeleteTopic(_ context.Context, req *pubsubpb.DeleteTopicRequest) (*emptypb.Empty, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[req.GetTopic()]
	if t == nil {
		return nil, s.notFound(RuleTopicMissing, req.GetTopic())
	}
	for _, sub := range t.subs {
		sub.proto.Topic = deletedTopic
		sub.topic = nil
		sub.configure(s) // the topic's retention no longer holds
		s.arm(sub.backlog.next())
	}
	delete(s.topics, req.GetTopic())
	return &emptypb.Empty{}, nil
}

// retention is how long the topic itself keeps messages, in ns; 0: it doesn't.
func (t *topic) retention() int64 { return int64(t.proto.GetMessageRetentionDuration().AsDuration()) }

// keep notes stored messages for the topic's retention.
func (t *topic) keep(msgs []*message) {
	if t.retention() > 0 {
		t.kept = append(t.kept, msgs...)
	}
}

// dropOld forgets the messages whose retention by the topic is over.
func (t *topic) dropOld(now int64) {
	for at := t.oldestEnd(); at != 0 && at <= now; at = t.oldestEnd() {
		t.kept[0] = nil
		t.kept = t.kept[1:]
	}
}

// oldestEnd is when the topic's retention of its oldest message is over, or 0.
func (t *topic) oldestEnd() int64 {
	if len(t.kept) == 0 {
		return 0
	}
	return t.kept[0].time + t.retention()
}

func (p *publisherService) DetachSubscription(_ context.Context, req *pubsubpb.DetachSubscriptionRequest) (*pubsubpb.DetachSubscriptionResponse, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[req.GetSubscription()]
	if sub == nil {
		return nil, s.notFound(RuleSubscriptionMissing, req.GetSubscription())
	}
	sub.proto.Detached = true
	sub.unlink()
	sub.discard(s, s.detached(sub))
	return &pubsubpb.DetachSubscriptionResponse{}, nil
}

// inProject returns the sorted names of one project's resources.
func inProject[T any](project string, all map[string]T) []string {
	var names []string
	for n := range all {
		if strings.HasPrefix(n, project+"/") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// page cuts one page out of sorted names; the token is the first name of the
// next one.
func page(names []string, size int32, token string) ([]string, string) {
	from, _ := slices.BinarySearch(names, token)
	names = names[from:]
	if size <= 0 || size > 1000 {
		size = 1000
	}
	if len(names) > int(size) {
		return names[:size], names[size]
	}
	return names, ""
}
