package pubsubtest

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The targets below send foreign bytes to the real server. A panic of it ends the
// test process; fuzzLimit bounds how long an answer may take.
const fuzzLimit = 20 * time.Second

// invoke sends bytes to a unary method and checks that an answer comes.
func (r *rig) invoke(t *testing.T, method string, data []byte) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), fuzzLimit)
	defer cancel()
	err := r.conn.Invoke(ctx, method, &frame{data}, &frame{}, byBytesOption)
	if code := status.Code(err); code == codes.DeadlineExceeded || code == codes.Unavailable {
		t.Fatalf("%s: %v", method, err)
	}
	return err
}

// FuzzPublish: what is accepted is delivered as something that the generated
// types read.
func FuzzPublish(f *testing.F) {
	r := newRig(f, Config{PullWait: time.Nanosecond, KeyRate: KeyRateRefused}, func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = 600 })
	filtered := &pubsubpb.Subscription{Name: testSub + "-filtered", Topic: testTopic, Filter: `attributes.a = "b" OR NOT attributes:c`}
	if err := r.CreateSubscription(filtered); err != nil {
		f.Fatal(err)
	}
	req := publishOf("k", "a", "b")
	f.Add(mustMarshal(f, req))
	req.Messages[0].Attributes = map[string]string{"a": "b", "goog": ""}
	f.Add(mustMarshal(f, req))
	req.Messages = append(req.Messages[:1], &pubsubpb.PubsubMessage{})
	f.Add(mustMarshal(f, req))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r.invoke(t, pubsubpb.Publisher_Publish_FullMethodName, data) != nil {
			return
		}
		for _, sub := range []string{testSub, filtered.GetName()} {
			resp, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: sub, MaxMessages: 1000})
			if err != nil {
				t.Fatalf("accepted, but not delivered: %v", err)
			}
			if len(resp.GetReceivedMessages()) == 0 && sub == testSub {
				t.Fatal("accepted, but not delivered")
			}
			for _, m := range resp.GetReceivedMessages() {
				if len(m.GetMessage().GetMessageId()) != messageIDBytes || m.GetMessage().GetPublishTime() == nil {
					t.Fatalf("delivered as %v", m)
				}
			}
			if ids := ackIDsOf(resp.GetReceivedMessages()); len(ids) > 0 {
				if _, err := r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{Subscription: sub, AckIds: ids}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzStreamRequest: the first and a later request of a stream, which ends after
// them in one way or another. Each stream has messages to deliver and ack.
func FuzzStreamRequest(f *testing.F) {
	r := newRig(f, Config{})
	opening := &pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 10, MaxOutstandingMessages: 1, ProtocolVersion: 1}
	first := mustMarshal(f, opening)
	opening.AckIds = []string{r.idOf(0)}
	f.Add(mustMarshal(f, opening), []byte{})
	f.Add(first, mustMarshal(f, &pubsubpb.StreamingPullRequest{AckIds: []string{r.idOf(0)}, StreamAckDeadlineSeconds: 600}))
	f.Add(first, mustMarshal(f, &pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{r.idOf(0), "x"}, ModifyDeadlineSeconds: []int32{0, 600}}))
	f.Add(first, mustMarshal(f, &pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: []string{r.idOf(0)}, ModifyDeadlineSeconds: []int32{-1}}))
	f.Add([]byte{}, first)
	f.Fuzz(func(t *testing.T, first, later []byte) {
		r.fill(t)
		ctx, cancel := context.WithTimeout(t.Context(), fuzzLimit)
		defer cancel()
		stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
			pubsubpb.Subscriber_StreamingPull_FullMethodName, byBytesOption)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.SendMsg(&frame{first})
		_ = stream.SendMsg(&frame{later})
		_ = stream.CloseSend()
		for err = nil; err == nil; err = stream.RecvMsg(&frame{}) {
		}
		if code := status.Code(err); code == codes.DeadlineExceeded || code == codes.Unavailable {
			t.Fatal(err)
		}
	})
}

// FuzzSubscriberRequest: Acknowledge, ModifyAckDeadline and Pull.
func FuzzSubscriberRequest(f *testing.F) {
	r := newRig(f, Config{PullWait: time.Nanosecond})
	methods := []string{
		pubsubpb.Subscriber_Acknowledge_FullMethodName, pubsubpb.Subscriber_ModifyAckDeadline_FullMethodName, pubsubpb.Subscriber_Pull_FullMethodName,
	}
	f.Add(uint8(0), mustMarshal(f, &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: []string{r.idOf(0), r.idOf(1)}}))
	f.Add(uint8(1), mustMarshal(f, &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: []string{r.idOf(1)}, AckDeadlineSeconds: 600}))
	f.Add(uint8(1), mustMarshal(f, &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: []string{r.idOf(0)}, AckDeadlineSeconds: -1}))
	f.Add(uint8(2), mustMarshal(f, &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1}))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		r.fill(t)
		_ = r.invoke(t, methods[int(which)%len(methods)], data)
	})
}

// FuzzAdmin: every unary method but those above.
func FuzzAdmin(f *testing.F) {
	r := newRig(f, Config{PullWait: time.Nanosecond})
	var methods []string
	for _, service := range []grpc.ServiceDesc{pubsubpb.Publisher_ServiceDesc, pubsubpb.Subscriber_ServiceDesc} {
		for _, m := range service.Methods {
			methods = append(methods, "/"+service.ServiceName+"/"+m.MethodName)
		}
	}
	add := func(method string, data []byte) {
		for i, m := range methods {
			if m == method {
				f.Add(uint8(i), data)
			}
		}
	}
	topic := &pubsubpb.Topic{Name: testTopic, MessageRetentionDuration: durationpb.New(time.Hour), Labels: map[string]string{"a": "b"}}
	sub := &pubsubpb.Subscription{
		Name: testSub, Topic: testTopic, AckDeadlineSeconds: 10, Filter: `attributes.a = "b"`,
		RetryPolicy:      &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(time.Second)},
		DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: testTopic, MaxDeliveryAttempts: 5},
		ExpirationPolicy: &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(25 * time.Hour)},
	}
	paths := &fieldmaskpb.FieldMask{Paths: []string{"labels", "message_retention_duration"}}
	add(pubsubpb.Publisher_CreateTopic_FullMethodName, mustMarshal(f, topic))
	add(pubsubpb.Publisher_UpdateTopic_FullMethodName, mustMarshal(f, &pubsubpb.UpdateTopicRequest{Topic: topic, UpdateMask: paths}))
	add(pubsubpb.Publisher_ListTopics_FullMethodName, mustMarshal(f, &pubsubpb.ListTopicsRequest{Project: "projects/p", PageSize: -1, PageToken: "x"}))
	add(pubsubpb.Publisher_DeleteTopic_FullMethodName, mustMarshal(f, &pubsubpb.DeleteTopicRequest{Topic: testTopic}))
	add(pubsubpb.Publisher_DetachSubscription_FullMethodName, mustMarshal(f, &pubsubpb.DetachSubscriptionRequest{Subscription: testSub}))
	add(pubsubpb.Subscriber_CreateSubscription_FullMethodName, mustMarshal(f, sub))
	add(pubsubpb.Subscriber_UpdateSubscription_FullMethodName, mustMarshal(f, &pubsubpb.UpdateSubscriptionRequest{Subscription: sub, UpdateMask: paths}))
	add(pubsubpb.Subscriber_ListSubscriptions_FullMethodName, mustMarshal(f, &pubsubpb.ListSubscriptionsRequest{Project: "projects/p", PageSize: 1}))
	add(pubsubpb.Subscriber_DeleteSubscription_FullMethodName, mustMarshal(f, &pubsubpb.DeleteSubscriptionRequest{Subscription: testSub}))
	add(pubsubpb.Subscriber_Seek_FullMethodName, mustMarshal(f, &pubsubpb.SeekRequest{
		Subscription: testSub, Target: &pubsubpb.SeekRequest_Time{Time: &timestamppb.Timestamp{Seconds: -1 << 40, Nanos: -1}},
	}))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		r.fill(t)
		_ = r.invoke(t, methods[int(which)%len(methods)], data)
	})
}

// idOf is the ack id of the first message in a lease slot of the subscription.
func (r *rig) idOf(slot uint32) string {
	return string(appendAckID(nil, ackID{sub: 1, slot: slot, gen: 1}, r.cfg.AckIDBytes))
}

// fill makes sure that topic, subscription and a few messages of two keys are
// there, and not many, and that nothing is leased.
func (r *rig) fill(t *testing.T) {
	t.Helper()
	r.Advance(maxLeaseSeconds * time.Second)
	if r.Backlog(testSub) > 100 {
		if _, err := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: testSub}); err != nil {
			t.Fatal(err)
		}
	}
	for _, create := range []func() error{
		func() error { return r.CreateTopic(testTopic) },
		func() error {
			return r.CreateSubscription(&pubsubpb.Subscription{Name: testSub, Topic: testTopic, EnableMessageOrdering: true})
		},
	} {
		if err := create(); err != nil && status.Code(err) != codes.AlreadyExists {
			t.Fatal(err)
		}
	}
	if r.Backlog(testSub) < 2 {
		r.send(t, "a", "0", "1")
		r.send(t, "b", "2")
	}
}
