package pubsubtest

import (
	"context"
	"encoding/base64"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// reservedPrefix starts the attribute keys that only Google's clients set, under
// clientPrefix.
const (
	reservedPrefix = "goog"
	clientPrefix   = "googclient_"
)

// Limits of a publish request.
const (
	maxPublishMessages  = 1_000
	maxPublishBytes     = 10_000_000
	maxOrderingKeyBytes = 1_024
	maxAttributes       = 100
	maxAttributeKey     = 256
	maxAttributeValue   = 1_024
)

// telemetryHeader carries a base64 PubsubClientTelemetry.
const telemetryHeader = "x-goog-pubsub-client-telemetry"

// GetTopic makes the name visible to fault filters.
func (r *publishRequest) GetTopic() string { return r.topic }

// publish answers Publish.
func (s *Server) publish(ctx context.Context, req *publishRequest) (*frame, error) {
	keys := int64(req.distinctKeys())
	refused := s.checkPublish(req, keys)
	first, answerAt, err := s.accept(req, keys, hedged(ctx), refused)
	if err != nil {
		return nil, err
	}
	if err := s.waitUntil(ctx, answerAt); err != nil {
		return nil, err
	}
	n := len(req.messages)
	return &frame{appendPublishResponse(make([]byte, 0, n*(2+messageIDBytes)), first, n)}, nil
}

// accept counts a request and stores it unless it is refused. It returns the id
// of the first message and when the request may be answered.
func (s *Server) accept(req *publishRequest, keys int64, hedge bool, refused error) (first uint64, answerAt int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.Requests++
	s.count.RequestBytes += int64(req.size)
	s.count.MaxKeysPerRequest = max(s.count.MaxKeysPerRequest, keys)
	s.count.MaxMessagesPerRequest = max(s.count.MaxMessagesPerRequest, int64(req.count()))
	if hedge {
		s.count.HedgedRequests++
	}
	if refused != nil {
		return 0, 0, refused
	}
	t := s.topics[req.topic]
	if t == nil {
		return 0, 0, s.topicMissing(req.topic)
	}
	if answerAt, err = s.checkRate(t, req); err != nil {
		return 0, 0, err
	}
	return s.store(t, req)[0].id, answerAt, nil
}

// topicMissing refuses a request for a topic that isn't there.
func (s *Server) topicMissing(name string) error {
	if m := resourceName.FindStringSubmatch(name); m == nil || m[1] != "topics" {
		return s.refusals.refuse(RuleResourceName, codes.InvalidArgument,
			"Invalid resource name given (name=%s). Refer to https://cloud.google.com/pubsub/docs/admin#resource_names for more information.", name)
	}
	return s.notFound(RuleTopicMissing, name)
}

// store gives messages their ids and time and hands them to the topic's
// subscriptions. The caller holds mu.
func (s *Server) store(t *topic, req *publishRequest) []message {
	now := s.now()
	s.nextReq++
	key := string(req.messages[0].key)
	msgs := make([]message, len(req.messages))
	all := make([]*message, len(msgs))
	for i := range msgs {
		msgs[i] = message{id: s.nextID, time: now, body: req.messages[i].body, key: key, req: s.nextReq}
		s.nextID++
		s.count.PublishedBytes += int64(len(msgs[i].body))
		all[i] = &msgs[i]
	}
	s.count.Published += int64(len(msgs))
	if len(t.subs) == 0 && t.retention() == 0 {
		s.count.Vanished += int64(len(msgs))
		return msgs
	}
	if s.sabotage != nil {
		all = s.sabotage.store(t, all, &s.count)
	}
	if s.cfg.Record {
		t.record = append(t.record, all...)
	}
	t.keep(all)
	s.arm(t.oldestEnd())
	for _, sub := range t.subs {
		matching := sub.filter.matching(all)
		s.count.FilterAcked += int64(len(all) - len(matching))
		sub.backlog.publish(matching)
		s.arm(sub.backlog.oldestEnd())
	}
	return msgs
}

func (s *Server) checkPublish(req *publishRequest, keys int64) error {
	refuse := s.refusals.refuse
	switch n := req.count(); {
	case req.topic == "":
		return refuse(RuleArgumentMissing, codes.InvalidArgument, "A required argument is missing in the request: (argument=\"topic\").")
	case n == 0:
		return refuse(RuleArgumentMissing, codes.InvalidArgument, "A required argument is missing in the request: (argument=\"messages\").")
	case n > maxPublishMessages:
		return refuse(RulePublishMessages, codes.InvalidArgument, "The value for %d is too large. You passed message_count in the request, but the maximum value is %d.", n, maxPublishMessages)
	case req.size > maxPublishBytes:
		return refuse(RulePublishBytes, codes.InvalidArgument, "The value for %d is too large. You passed request_size in the request, but the maximum value is %d.", req.size, maxPublishBytes)
	case keys > 1:
		return refuse(RuleOneKey, codes.FailedPrecondition, "In a single publish request, all messages must have no ordering key or they must all have the same ordering key. [code=539b]")
	}
	for i := range req.messages {
		if err := s.checkMessage(&req.messages[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) checkMessage(m *publishMessage) error {
	refuse := s.refusals.refuse
	tooLarge := func(rule RuleID, what string, n, limit int) error {
		return refuse(rule, codes.InvalidArgument, "The value for %d is too large. You passed %s in the request, but the maximum value is %d.", n, what, limit)
	}
	switch {
	case m.data == 0 && m.attributes == 0:
		return refuse(RuleMessageEmpty, codes.InvalidArgument, "One or more messages in the publish request is empty. Each message must contain either non-empty data, or at least one attribute.")
	case len(m.key) > maxOrderingKeyBytes:
		return tooLarge(RuleOrderingKeyBytes, "ordering_key", len(m.key), maxOrderingKeyBytes)
	case m.attributes > maxAttributes:
		return tooLarge(RuleAttributes, "attribute_count", m.attributes, maxAttributes)
	case m.longestKey > maxAttributeKey:
		return refuse(RuleAttributes, codes.InvalidArgument, "The attribute \"\" in the request has a key that is too long. The length is %d characters, but the maximum allowed is %d. Refer to https://cloud.google.com/pubsub/quotas for more information.", m.longestKey, maxAttributeKey)
	case m.longestValue > maxAttributeValue:
		return refuse(RuleAttributes, codes.InvalidArgument, "The attribute %q in the request has a value that is too long. The length is %d characters, but the maximum allowed is %d. Refer to https://cloud.google.com/pubsub/quotas for more information.", m.longestValueKey, m.longestValue, maxAttributeValue)
	case m.reserved != nil:
		return refuse(RuleAttributeReserved, codes.InvalidArgument, "The attribute %q in the request has a key that starts with %s.", m.reserved, reservedPrefix)
	}
	return nil
}

// hedged reports whether the client library marked the request as a hedge: an
// attempt sent while an earlier one is unanswered.
func hedged(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, v := range md.Get(telemetryHeader) {
		raw, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			continue
		}
		var telemetry pubsubpb.PubsubClientTelemetry
		if proto.Unmarshal(raw, &telemetry) == nil && telemetry.GetPublishOperation().GetHedgedAttemptCount() > 0 {
			return true
		}
	}
	return false
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
