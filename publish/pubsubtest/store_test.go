package pubsubtest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestNoSubscriptionVanishes(t *testing.T) {
	r := newServer(t, Config{Record: true})
	if err := r.CreateTopic(testTopic); err != nil {
		t.Fatal(err)
	}
	if ids := r.send(t, "k", "lost"); len(ids) != 1 {
		t.Fatalf("ids %q", ids)
	}
	if err := r.CreateSubscription(&pubsubpb.Subscription{Name: testSub, Topic: testTopic, EnableMessageOrdering: true}); err != nil {
		t.Fatal(err)
	}
	p := r.open(t)
	r.send(t, "k", "kept")
	p.wantTexts("kept")
	p.wantNone()
	if c := r.Counters(); c.Vanished != 1 || c.Published != 2 {
		t.Errorf("counters %+v", c)
	}
	if n := len(r.Stored(testTopic)); n != 1 {
		t.Errorf("%d stored, want 1", n)
	}
}

func TestServerFields(t *testing.T) {
	r := newRig(t, Config{Record: true})
	before := time.Now()
	r.Advance(time.Hour)
	req := publishOf("k", "a", "b")
	req.Messages[0].MessageId = "mine"
	req.Messages[0].PublishTime = timestamppb.New(time.Unix(7, 7))
	req.Messages[0].Attributes = map[string]string{"op": "c", "empty": ""}
	resp, err := r.pub.Publish(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	got := r.open(t).wantTexts("a", "b")
	for i, m := range got {
		id, sent := m.GetMessage().GetMessageId(), m.GetMessage().GetPublishTime().AsTime()
		if id != resp.GetMessageIds()[i] || id == "mine" || len(id) != messageIDBytes {
			t.Errorf("message id %q, answered %q", id, resp.GetMessageIds()[i])
		}
		if d := sent.Sub(before); d < time.Hour || d > time.Hour+time.Minute {
			t.Errorf("publish time is %s after the start", d)
		}
		if m.GetMessage().GetOrderingKey() != "k" {
			t.Errorf("ordering key %q", m.GetMessage().GetOrderingKey())
		}
	}
	if resp.GetMessageIds()[0] == resp.GetMessageIds()[1] {
		t.Error("two messages have one id")
	}
	stored := r.Stored(testTopic)
	want := StoredMessage{
		ID: resp.GetMessageIds()[0], PublishTime: got[0].GetMessage().GetPublishTime().AsTime(), OrderingKey: "k",
		Attributes: map[string]string{"op": "c", "empty": ""}, Data: []byte("a"), Request: 1,
	}
	if diff := cmp.Diff(want, stored[0]); diff != "" || len(stored) != 2 {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Attributes, got[0].GetMessage().GetAttributes()); diff != "" {
		t.Error(diff)
	}
}

func TestSubscriptionDefaults(t *testing.T) {
	r := newRig(t, Config{})
	got, err := r.create(t, func(*pubsubpb.Subscription) {})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetAckDeadlineSeconds() != 10 || got.GetMessageRetentionDuration().AsDuration() != 7*24*time.Hour ||
		got.GetExpirationPolicy().GetTtl().AsDuration() != 31*24*time.Hour || got.GetRetryPolicy() != nil ||
		got.GetDeadLetterPolicy() != nil || got.GetEnableMessageOrdering() || got.GetState() != pubsubpb.Subscription_ACTIVE {
		t.Errorf("defaults: %v", got)
	}
}

func TestTopicDeleted(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a")
	if _, err := r.pub.DeleteTopic(t.Context(), &pubsubpb.DeleteTopicRequest{Topic: testTopic}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pub.Publish(t.Context(), publishOf("k", "b")); status.Code(err) != codes.NotFound {
		t.Errorf("publish to a deleted topic: %v", err)
	}
	got, err := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
	if err != nil || got.GetTopic() != "_deleted-topic_" {
		t.Errorf("subscription of a deleted topic: %v, %v", got, err)
	}
	if err := r.CreateTopic(testTopic); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "c")
	p := r.open(t)
	p.wantTexts("a")
	p.wantNone()
}

func TestSubscriptionDeleted(t *testing.T) {
	r := newRig(t, Config{})
	r.send(t, "k", "a")
	p := r.open(t)
	old := p.take(1)
	if _, err := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: testSub}); err != nil {
		t.Fatal(err)
	}
	p.wantEnd(codes.NotFound)
	if err := r.CreateSubscription(&pubsubpb.Subscription{Name: testSub, Topic: testTopic, EnableMessageOrdering: true}); err != nil {
		t.Fatal(err)
	}
	p = r.open(t)
	r.send(t, "k", "b")
	p.wantTexts("b")
	r.ack(t, old...) // an id of the old subscription acks nothing of the new one
	r.Advance(10 * time.Second)
	p.wantTexts("b")
	p.wantNone()
}

func TestList(t *testing.T) {
	r := newRig(t, Config{})
	for i := range 5 {
		if err := r.CreateTopic(fmt.Sprintf("projects/q/topics/t%02d", i)); err != nil {
			t.Fatal(err)
		}
		if err := r.CreateSubscription(&pubsubpb.Subscription{Name: fmt.Sprintf("projects/q/subscriptions/s%02d", i), Topic: testTopic}); err != nil {
			t.Fatal(err)
		}
	}
	var topics, subs, attached []string
	for token := ""; ; {
		resp, err := r.pub.ListTopics(t.Context(), &pubsubpb.ListTopicsRequest{Project: "projects/q", PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range resp.GetTopics() {
			topics = append(topics, lastPart(x.GetName()))
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	for token := ""; ; {
		resp, err := r.sub.ListSubscriptions(t.Context(), &pubsubpb.ListSubscriptionsRequest{Project: "projects/q", PageSize: 3, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range resp.GetSubscriptions() {
			subs = append(subs, lastPart(x.GetName()))
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	resp, err := r.pub.ListTopicSubscriptions(t.Context(), &pubsubpb.ListTopicSubscriptionsRequest{Topic: testTopic})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range resp.GetSubscriptions() {
		attached = append(attached, lastPart(x))
	}
	for _, pair := range [][2][]string{
		{topics, {"t00", "t01", "t02", "t03", "t04"}},
		{subs, {"s00", "s01", "s02", "s03", "s04"}},
		{attached, {"orders-sink", "s00", "s01", "s02", "s03", "s04"}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStoredOrder(t *testing.T) {
	r := newRig(t, Config{Record: true})
	for i := range 20 {
		r.send(t, strconv.Itoa(i%3), fmt.Sprint(i, "a"), fmt.Sprint(i, "b"))
	}
	stored := r.Stored(testTopic)
	for i, m := range stored {
		if want := fmt.Sprint(i/2, string("ab"[i%2])); string(m.Data) != want || m.Request != uint64(i/2+1) || m.OrderingKey != strconv.Itoa(i/2%3) {
			t.Fatalf("stored[%d] = %+v, want %q", i, m, want)
		}
	}
	if len(stored) != 40 {
		t.Errorf("%d stored, want 40", len(stored))
	}
	r.Stored("projects/p/topics/unknown")
}

// TestAckIDOfAnotherServer: after a kill and a start on the same port a client may
// still ack what the first server delivered. That is no ack of anything.
func TestAckIDOfAnotherServer(t *testing.T) {
	first, second := newRig(t, Config{}), newRig(t, Config{})
	for _, r := range []*rig{first, second} {
		r.send(t, "k", "a0")
	}
	old := first.open(t).wantTexts("a0")
	p := second.open(t)
	p.wantTexts("a0")
	second.ack(t, old...)
	if n, c := second.Backlog(testSub), second.Counters(); n != 1 || c.Acks != 0 || c.AcksStale != 1 {
		t.Errorf("backlog %d, want 1; counters %+v", n, c)
	}
}
