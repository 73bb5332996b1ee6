package pubsubtest

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// create asks for a subscription with one changed setting.
func (r *rig) create(tb testing.TB, change func(*pubsubpb.Subscription)) (*pubsubpb.Subscription, error) {
	tb.Helper()
	sub := &pubsubpb.Subscription{Name: "projects/p/subscriptions/other", Topic: testTopic}
	change(sub)
	got, err := r.sub.CreateSubscription(tb.Context(), sub)
	if err == nil {
		if _, err := r.sub.DeleteSubscription(tb.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: sub.GetName()}); err != nil {
			tb.Error(err)
		}
	}
	return got, err
}

func TestRuleResourceName(t *testing.T) {
	r := newRig(t, Config{})
	for _, id := range []string{"ab", "1abc", "goog-topic", "a b c", "a/b/c", strings.Repeat("a", 256)} {
		name := "projects/p/topics/" + id
		_, err := r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: name})
		r.wantRefused(t, RuleResourceName, codes.InvalidArgument,
			"Invalid [topics] name: (name="+name+"). Refer to https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information.", err)
	}
	_, err := r.create(t, func(s *pubsubpb.Subscription) { s.Name = "projects/p/topics/abc" })
	r.wantRefused(t, RuleResourceName, codes.InvalidArgument,
		"Invalid [subscriptions] name: (name=projects/p/topics/abc). Refer to https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information.", err)
	for _, name := range []string{"orders", "projects/p/subscriptions/orders", deletedTopic} {
		req := publishOf("k", "a")
		req.Topic = name
		_, err := r.pub.Publish(t.Context(), req)
		r.wantRefused(t, RuleResourceName, codes.InvalidArgument,
			"Invalid resource name given (name="+name+"). Refer to https://cloud.google.com/pubsub/docs/admin#resource_names for more information.", err)
	}
	for _, id := range []string{"abc", "A-1_.~+%", strings.Repeat("a", 255)} {
		if _, err := r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: "projects/p/topics/" + id}); err != nil {
			t.Error(err)
		}
	}
}

func TestRuleExists(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: testTopic})
	r.wantRefused(t, RuleExists, codes.AlreadyExists, "Resource already exists in the project (resource=orders).", err)
	_, err = r.sub.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: testSub, Topic: testTopic})
	r.wantRefused(t, RuleExists, codes.AlreadyExists, "Resource already exists in the project (resource=orders-sink).", err)
}

func TestRuleTopicMissing(t *testing.T) {
	r := newServer(t, Config{})
	calls := map[string]func() error{
		"Publish": func() error { _, err := r.pub.Publish(t.Context(), publishOf("k", "a")); return err },
		"GetTopic": func() error {
			_, err := r.pub.GetTopic(t.Context(), &pubsubpb.GetTopicRequest{Topic: testTopic})
			return err
		},
		"UpdateTopic": func() error {
			_, err := r.pub.UpdateTopic(t.Context(), &pubsubpb.UpdateTopicRequest{Topic: &pubsubpb.Topic{Name: testTopic}})
			return err
		},
		"DeleteTopic": func() error {
			_, err := r.pub.DeleteTopic(t.Context(), &pubsubpb.DeleteTopicRequest{Topic: testTopic})
			return err
		},
		"ListTopicSubscriptions": func() error {
			_, err := r.pub.ListTopicSubscriptions(t.Context(), &pubsubpb.ListTopicSubscriptionsRequest{Topic: testTopic})
			return err
		},
		"CreateSubscription": func() error {
			_, err := r.sub.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: testSub, Topic: testTopic})
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			r.wantRefused(t, RuleTopicMissing, codes.NotFound, "Resource not found (resource=orders).", call())
		})
	}
}

func TestRuleSubscriptionMissing(t *testing.T) {
	r := newServer(t, Config{})
	calls := map[string]func() error{
		"GetSubscription": func() error {
			_, err := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
			return err
		},
		"UpdateSubscription": func() error {
			_, err := r.sub.UpdateSubscription(t.Context(), &pubsubpb.UpdateSubscriptionRequest{Subscription: &pubsubpb.Subscription{Name: testSub}})
			return err
		},
		"DeleteSubscription": func() error {
			_, err := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: testSub})
			return err
		},
		"DetachSubscription": func() error {
			_, err := r.pub.DetachSubscription(t.Context(), &pubsubpb.DetachSubscriptionRequest{Subscription: testSub})
			return err
		},
		"Pull": func() error {
			_, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1})
			return err
		},
		"Acknowledge": func() error {
			_, err := r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: []string{r.anyAckID()}})
			return err
		},
		"ModifyAckDeadline": func() error {
			_, err := r.sub.ModifyAckDeadline(t.Context(), &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: []string{r.anyAckID()}})
			return err
		},
		"StreamingPull": func() error { return r.open(t).wantEnd(codes.NotFound) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			r.wantRefused(t, RuleSubscriptionMissing, codes.NotFound, "Resource not found (resource=orders-sink).", call())
		})
	}
	t.Run("deleted meanwhile", func(t *testing.T) {
		r := newRig(t, Config{})
		p := r.open(t)
		if _, err := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: testSub}); err != nil {
			t.Fatal(err)
		}
		r.wantRefused(t, RuleSubscriptionMissing, codes.NotFound, "Resource not found (resource=orders-sink).", p.wantEnd(codes.NotFound))
	})
}

// anyAckID is a well-formed ack id that names nothing.
func (r *rig) anyAckID() string {
	return string(appendAckID(nil, ackID{sub: 9, slot: 9, gen: 9}, r.cfg.AckIDBytes))
}

func TestRuleArgumentMissing(t *testing.T) {
	r := newRig(t, Config{})
	missing := func(name string) string {
		return `A required argument is missing in the request: (argument="` + name + `").`
	}
	_, err := r.pub.Publish(t.Context(), &pubsubpb.PublishRequest{})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, missing("topic"), err)
	_, err = r.pub.Publish(t.Context(), &pubsubpb.PublishRequest{Topic: testTopic})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, missing("messages"), err)
	_, err = r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{AckIds: []string{r.anyAckID()}})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, missing("subscription"), err)
	_, err = r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{Subscription: testSub})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, "You have not specified an ack ID in the request.", err)
	_, err = r.sub.ModifyAckDeadline(t.Context(), &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, "You have not specified an ack ID in the request.", err)
	_, err = r.sub.Seek(t.Context(), &pubsubpb.SeekRequest{Subscription: testSub})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, missing("target"), err)
	p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.Subscription = "" })
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, missing("subscription"), p.wantEnd(codes.InvalidArgument))
}

func TestRuleUpdateMask(t *testing.T) {
	r := newRig(t, Config{})
	updateSub := func(sub *pubsubpb.Subscription, paths ...string) error {
		sub.Name = testSub
		_, err := r.sub.UpdateSubscription(t.Context(), &pubsubpb.UpdateSubscriptionRequest{Subscription: sub, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		return err
	}
	r.wantRefused(t, RuleUpdateMask, codes.InvalidArgument, "The update_mask in the request must be set and not empty.", updateSub(&pubsubpb.Subscription{}))
	for _, field := range []string{"name", "topic", "enable_message_ordering", "filter", "detached", "nonsense"} {
		r.wantRefused(t, RuleUpdateMask, codes.InvalidArgument,
			`Invalid update_mask provided in the request: "`+field+`" is not a known Subscription field or can't be changed.`, updateSub(&pubsubpb.Subscription{}, field))
	}
	_, err := r.pub.UpdateTopic(t.Context(), &pubsubpb.UpdateTopicRequest{Topic: &pubsubpb.Topic{Name: testTopic}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"state"}}})
	r.wantRefused(t, RuleUpdateMask, codes.InvalidArgument, `Invalid update_mask provided in the request: "state" is not a known Topic field or can't be changed.`, err)

	if err := updateSub(&pubsubpb.Subscription{AckDeadlineSeconds: 77, Labels: map[string]string{"a": "b"}}, "ack_deadline_seconds"); err != nil {
		t.Fatal(err)
	}
	got, err := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
	if err != nil || got.GetAckDeadlineSeconds() != 77 || len(got.GetLabels()) != 0 || !got.GetEnableMessageOrdering() {
		t.Errorf("after the update: %v, %v", got, err)
	}
	_, err = r.pub.UpdateTopic(t.Context(), &pubsubpb.UpdateTopicRequest{
		Topic:      &pubsubpb.Topic{Name: testTopic, MessageRetentionDuration: durationpb.New(time.Hour)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"message_retention_duration"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err = r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
	if err != nil || got.GetTopicMessageRetentionDuration().AsDuration() != time.Hour {
		t.Errorf("topic retention in the subscription: %v, %v", got, err)
	}
}

func TestRuleRetention(t *testing.T) {
	r := newRig(t, Config{})
	text := func(secs string) string {
		return "Invalid message retention duration given: (messageRetentionDuration=" + secs + "s); it must be between 600s and 2678400s."
	}
	for secs, d := range map[string]time.Duration{"599": 599 * time.Second, "2678401": maxRetention + time.Second} {
		_, err := r.create(t, func(s *pubsubpb.Subscription) { s.MessageRetentionDuration = durationpb.New(d) })
		r.wantRefused(t, RuleRetention, codes.InvalidArgument, text(secs), err)
		_, err = r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: testTopic + "2", MessageRetentionDuration: durationpb.New(d)})
		r.wantRefused(t, RuleRetention, codes.InvalidArgument, text(secs), err)
	}
	for _, d := range []time.Duration{minRetention, maxRetention} {
		if _, err := r.create(t, func(s *pubsubpb.Subscription) { s.MessageRetentionDuration = durationpb.New(d) }); err != nil {
			t.Error(err)
		}
	}
}

func TestRuleAckDeadline(t *testing.T) {
	r := newRig(t, Config{})
	for secs, text := range map[int32]string{9: "9", 601: "601", -1: "-1"} {
		_, err := r.create(t, func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = secs })
		r.wantRefused(t, RuleAckDeadline, codes.InvalidArgument, "Invalid ack deadline given (ack_deadline="+text+"). The ack deadline must be between 10 and 600 seconds.", err)
	}
	for secs, want := range map[int32]int32{0: 10, 10: 10, 600: 600} {
		got, err := r.create(t, func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = secs })
		if err != nil || got.GetAckDeadlineSeconds() != want {
			t.Errorf("%d s became %d, %v", secs, got.GetAckDeadlineSeconds(), err)
		}
	}
}

func TestRuleExpiration(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.create(t, func(s *pubsubpb.Subscription) {
		s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(minExpiration - time.Second)}
	})
	r.wantRefused(t, RuleExpiration, codes.InvalidArgument, "Invalid expiration policy given: (ttl=86399s); it must be at least 86400s.", err)
	got, err := r.create(t, func(s *pubsubpb.Subscription) { s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{} })
	if err != nil || got.GetExpirationPolicy() == nil || got.GetExpirationPolicy().GetTtl() != nil {
		t.Errorf("never expire became %v, %v", got.GetExpirationPolicy(), err)
	}
}

func TestRuleRetryPolicy(t *testing.T) {
	r := newRig(t, Config{})
	policy := func(low, high time.Duration) func(*pubsubpb.Subscription) {
		return func(s *pubsubpb.Subscription) {
			s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(low), MaximumBackoff: durationpb.New(high)}
		}
	}
	_, err := r.create(t, policy(time.Second, 601*time.Second))
	r.wantRefused(t, RuleRetryPolicy, codes.InvalidArgument, "Invalid retry policy given: (minimumBackoff=1s, maximumBackoff=10m1s); both must be between 0s and 10m0s, the minimum not above the maximum.", err)
	_, err = r.create(t, policy(-time.Second, time.Second))
	r.wantRefused(t, RuleRetryPolicy, codes.InvalidArgument, "Invalid retry policy given: (minimumBackoff=-1s, maximumBackoff=1s); both must be between 0s and 10m0s, the minimum not above the maximum.", err)
	got, err := r.create(t, func(s *pubsubpb.Subscription) { s.RetryPolicy = &pubsubpb.RetryPolicy{} })
	if p := got.GetRetryPolicy(); err != nil || p.GetMinimumBackoff().AsDuration() != 10*time.Second || p.GetMaximumBackoff().AsDuration() != 600*time.Second {
		t.Errorf("the default policy is %v, %v", p, err)
	}
}

func TestRuleDeadLetterAttempts(t *testing.T) {
	r := newRig(t, Config{})
	policy := func(n int32) func(*pubsubpb.Subscription) {
		return func(s *pubsubpb.Subscription) {
			s.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: testTopic, MaxDeliveryAttempts: n}
		}
	}
	for n, text := range map[int32]string{4: "4", 101: "101"} {
		_, err := r.create(t, policy(n))
		r.wantRefused(t, RuleDeadLetterAttempts, codes.InvalidArgument, "Invalid dead letter policy given: (maxDeliveryAttempts="+text+"); it must be between 5 and 100.", err)
	}
	for n, want := range map[int32]int32{0: 5, 5: 5, 100: 100} {
		got, err := r.create(t, policy(n))
		if err != nil || got.GetDeadLetterPolicy().GetMaxDeliveryAttempts() != want {
			t.Errorf("%d attempts became %v, %v", n, got.GetDeadLetterPolicy(), err)
		}
	}
}

func TestRuleDeadLetterTopic(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.create(t, func(s *pubsubpb.Subscription) {
		s.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: "projects/p/topics/dead", MaxDeliveryAttempts: 5}
	})
	r.wantRefused(t, RuleDeadLetterTopic, codes.NotFound, "Resource not found (resource=dead).", err)
}

func TestRuleFilterBytes(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.create(t, func(s *pubsubpb.Subscription) { s.Filter = strings.Repeat("x", 257) })
	r.wantRefused(t, RuleFilter, codes.InvalidArgument, "The filter is 257 bytes long; the maximum is 256.", err)
	if _, err = r.create(t, func(s *pubsubpb.Subscription) { s.Filter = "attributes:" + strings.Repeat("x", 245) }); err != nil {
		t.Errorf("a filter of 256 bytes: %v", err)
	}
}

func TestRuleDetached(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a0")
	p := r.open(t)
	p.take(1)
	if _, err := r.pub.DetachSubscription(t.Context(), &pubsubpb.DetachSubscriptionRequest{Subscription: testSub}); err != nil {
		t.Fatal(err)
	}
	const text = "The subscription is detached from its topic (resource=orders-sink)."
	r.wantRefused(t, RuleDetached, codes.FailedPrecondition, text, p.wantEnd(codes.FailedPrecondition))
	_, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1})
	r.wantRefused(t, RuleDetached, codes.FailedPrecondition, text, err)
	r.wantRefused(t, RuleDetached, codes.FailedPrecondition, text, r.open(t).wantEnd(codes.FailedPrecondition))
	got, err := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
	if err != nil || !got.GetDetached() || got.GetTopic() != testTopic {
		t.Errorf("detached: %v, %v", got, err)
	}
	r.send(t, "k", "a1")
	if c, n := r.Counters(), r.Backlog(testSub); c.Vanished != 1 || n != 0 {
		t.Errorf("vanished %d, want 1; %d messages of before are kept", c.Vanished, n)
	}
}

// TestRuleNotImplemented: each method and each setting that isn't done is refused.
func TestRuleNotImplemented(t *testing.T) {
	r := newRig(t, Config{})
	refused := func(what string, err error) {
		t.Helper()
		r.wantRefused(t, RuleNotImplemented, codes.Unimplemented, "pubsubtest: "+what+" isn't implemented by this stand-in.", err)
	}
	_, err := r.sub.Seek(t.Context(), &pubsubpb.SeekRequest{Subscription: testSub, Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: "projects/p/snapshots/s"}})
	refused("a snapshot", err)
	_, err = r.sub.ModifyPushConfig(t.Context(), &pubsubpb.ModifyPushConfigRequest{Subscription: testSub})
	refused("push delivery", err)

	const snapshot = "projects/p/snapshots/s"
	_, err = r.sub.CreateSnapshot(t.Context(), &pubsubpb.CreateSnapshotRequest{Name: snapshot, Subscription: testSub})
	refused("a snapshot", err)
	_, err = r.sub.GetSnapshot(t.Context(), &pubsubpb.GetSnapshotRequest{Snapshot: snapshot})
	refused("a snapshot", err)
	_, err = r.sub.ListSnapshots(t.Context(), &pubsubpb.ListSnapshotsRequest{Project: "projects/p"})
	refused("a snapshot", err)
	_, err = r.sub.UpdateSnapshot(t.Context(), &pubsubpb.UpdateSnapshotRequest{Snapshot: &pubsubpb.Snapshot{Name: snapshot}})
	refused("a snapshot", err)
	_, err = r.sub.DeleteSnapshot(t.Context(), &pubsubpb.DeleteSnapshotRequest{Snapshot: snapshot})
	refused("a snapshot", err)
	_, err = r.pub.ListTopicSnapshots(t.Context(), &pubsubpb.ListTopicSnapshotsRequest{Topic: testTopic})
	refused("a snapshot", err)

	for what, topic := range map[string]*pubsubpb.Topic{
		"a topic schema":                 {SchemaSettings: &pubsubpb.SchemaSettings{Schema: "projects/p/schemas/s"}},
		"ingestion into a topic":         {IngestionDataSourceSettings: &pubsubpb.IngestionDataSourceSettings{}},
		"a message transform on a topic": {MessageTransforms: []*pubsubpb.MessageTransform{{}}},
	} {
		topic.Name = testTopic + "2"
		_, err = r.pub.CreateTopic(t.Context(), topic)
		refused(what, err)
	}
	for what, change := range map[string]func(*pubsubpb.Subscription){
		"exactly-once delivery":                func(s *pubsubpb.Subscription) { s.EnableExactlyOnceDelivery = true },
		"delivery through a message transform": func(s *pubsubpb.Subscription) { s.MessageTransforms = []*pubsubpb.MessageTransform{{}} },
		"push delivery":                        func(s *pubsubpb.Subscription) { s.PushConfig = &pubsubpb.PushConfig{PushEndpoint: "https://x"} },
		"export delivery":                      func(s *pubsubpb.Subscription) { s.BigqueryConfig = &pubsubpb.BigQueryConfig{Table: "p.d.t"} },
	} {
		r := newRig(t, Config{}, change)
		text := "pubsubtest: " + what + " isn't implemented by this stand-in."
		_, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1})
		r.wantRefused(t, RuleNotImplemented, codes.Unimplemented, text, err)
		r.wantRefused(t, RuleNotImplemented, codes.Unimplemented, text, r.open(t).wantEnd(codes.Unimplemented))
	}
}
