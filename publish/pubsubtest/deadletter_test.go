package pubsubtest

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
)

const (
	deadTopic = "projects/p/topics/dead"
	deadSub   = "projects/p/subscriptions/dead-reader"
)

func onDead(req *pubsubpb.StreamingPullRequest) {
	req.Subscription = deadSub
	longLease(req)
}

func longLease(req *pubsubpb.StreamingPullRequest) { req.StreamAckDeadlineSeconds = 600 }

// newDeadRig is a rig whose subscription forwards after 5 attempts to a topic
// with a subscription of its own.
func newDeadRig(t *testing.T, cfg Config, change ...func(*pubsubpb.Subscription)) *rig {
	t.Helper()
	r := newRig(t, cfg)
	if err := r.CreateTopic(deadTopic); err != nil {
		t.Fatal(err)
	}
	if err := r.CreateSubscription(&pubsubpb.Subscription{Name: deadSub, Topic: deadTopic, EnableMessageOrdering: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: testSub}); err != nil {
		t.Fatal(err)
	}
	sub := &pubsubpb.Subscription{
		Name: testSub, Topic: testTopic, EnableMessageOrdering: true,
		DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: deadTopic, MaxDeliveryAttempts: 5},
	}
	for _, f := range change {
		f(sub)
	}
	if err := r.CreateSubscription(sub); err != nil {
		t.Fatal(err)
	}
	return r
}

// failTimes takes one message n times and fails it each time: by a nack and by
// its deadline in turns.
func (r *rig) failTimes(t *testing.T, p *puller, text string, n int) {
	t.Helper()
	for i := range n {
		m := p.wantTexts(text)
		if got := m[0].GetDeliveryAttempt(); got != int32(i+1) {
			t.Fatalf("attempt %d, want %d", got, i+1)
		}
		if i%2 == 0 {
			r.modify(t, 0, m...)
		} else {
			r.Advance(10 * time.Second)
		}
	}
}

func TestDeadLetter(t *testing.T) {
	r := newDeadRig(t, Config{Record: true}, func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = false })
	req := publishOf("k", "poison")
	req.Messages[0].Attributes = map[string]string{"op": "c"}
	resp, err := r.pub.Publish(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	p := r.open(t)
	r.failTimes(t, p, "poison", 5)
	p.wantNone()
	r.wantDrained(t)

	dead := r.open(t, onDead).wantTexts("poison")[0]
	m := dead.GetMessage()
	if m.GetMessageId() == resp.GetMessageIds()[0] || m.GetOrderingKey() != "k" || dead.GetDeliveryAttempt() != 0 {
		t.Errorf("forwarded: %v", dead)
	}
	published := r.Stored(testTopic)[0].PublishTime
	want := map[string]string{
		"op": "c",
		"CloudPubSubDeadLetterSourceDeliveryCount":       "5",
		"CloudPubSubDeadLetterSourceSubscription":        "orders-sink",
		"CloudPubSubDeadLetterSourceSubscriptionProject": "p",
		"CloudPubSubDeadLetterSourceTopicPublishTime":    published.Format("2006-01-02T15:04:05.000") + "+00:00",
	}
	if diff := cmp.Diff(want, m.GetAttributes()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if !m.GetPublishTime().AsTime().After(published) {
		t.Error("the publish time is not that of the forwarding")
	}
	if c := r.Counters(); c.DeadLettered != 1 || c.Published != 2 || c.Nacks != 3 || c.Expired != 2 {
		t.Errorf("counters %+v", c)
	}
}

// A dead-letter topic without a subscription loses what is forwarded.
func TestDeadLetterVanishes(t *testing.T) {
	r := newDeadRig(t, Config{})
	if _, err := r.sub.DeleteSubscription(t.Context(), &pubsubpb.DeleteSubscriptionRequest{Subscription: deadSub}); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "poison")
	r.failTimes(t, r.open(t), "poison", 5)
	r.wantDrained(t)
	if c := r.Counters(); c.DeadLettered != 1 || c.Vanished != 1 {
		t.Errorf("counters %+v", c)
	}
}

// The topic of the subscription may be its dead-letter topic: the message comes
// back as a new one.
func TestDeadLetterToOwnTopic(t *testing.T) {
	r := newDeadRig(t, Config{}, func(s *pubsubpb.Subscription) { s.DeadLetterPolicy.DeadLetterTopic = testTopic })
	r.send(t, "k", "poison", "next")
	p := r.open(t)
	for range 5 {
		got := p.wantTexts("poison", "next")
		r.modify(t, 0, got[0])
	}
	again := p.wantTexts("poison")
	if n := again[0].GetMessage().GetAttributes()[deadLetterCount]; n != "5" || again[0].GetDeliveryAttempt() != 1 {
		t.Errorf("forwarded to its own topic: %v", again[0])
	}
}

func TestDeadLetterOrdered(t *testing.T) {
	r := newDeadRig(t, Config{Record: true})
	p := r.open(t)
	r.send(t, "k", "a0", "a1", "a2", "a3")
	r.send(t, "l", "b0")
	got := p.take(5)
	r.ack(t, got[0], got[4])
	a := got[1:4]
	for range 4 {
		r.modify(t, 0, a[0]) // a1 fails and drags a2 and a3 along
		a = p.wantTexts("a1", "a2", "a3")
	}
	if n := a[1].GetDeliveryAttempt(); n != 1 {
		t.Errorf("a2 has never failed, but its attempt is %d", n)
	}
	r.ack(t, a[2])       // a3, out of order: deferred
	r.modify(t, 0, a[0]) // the fifth failure of a1
	dead := r.open(t, onDead)
	if m := dead.wantTexts("a1")[0].GetMessage(); m.GetOrderingKey() != "k" {
		t.Errorf("ordering key %q", m.GetOrderingKey())
	}
	if key := r.Stored(deadTopic)[0].OrderingKey; key != "k" {
		t.Errorf("stored under the key %q", key)
	}
	p.wantNone() // a2 is outstanding still
	r.send(t, "k", "a4")
	a4 := p.wantTexts("a4")
	r.ack(t, a[1])
	r.ack(t, a4...)
	r.wantDrained(t)
	if c := r.Counters(); c.AcksOutOfOrder != 1 || c.AcksStale != 0 {
		t.Errorf("counters %+v", c)
	}
}

// Messages whose deadlines pass together fail together, and are forwarded in
// their order.
func TestDeadLetterWholeKey(t *testing.T) {
	r := newDeadRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0", "a1", "a2")
	for want := int32(1); want <= 5; want++ {
		for _, m := range p.wantTexts("a0", "a1", "a2") {
			if m.GetDeliveryAttempt() != want {
				t.Errorf("%q has attempt %d, want %d", m.GetMessage().GetData(), m.GetDeliveryAttempt(), want)
			}
		}
		r.Advance(10 * time.Second)
	}
	r.open(t, onDead).wantTexts("a0", "a1", "a2")
	p.wantNone()
	r.wantDrained(t)
}

func TestDeadLetterBestEffort(t *testing.T) {
	t.Run("copies", func(t *testing.T) {
		r := newDeadRig(t, Config{DeadLetterCopies: 2})
		r.send(t, "k", "poison")
		p, dead := r.open(t), r.open(t, onDead)
		r.failTimes(t, p, "poison", 6)
		for i, m := range dead.wantTexts("poison", "poison") {
			if n := m.GetMessage().GetAttributes()[deadLetterCount]; n != []string{"5", "6"}[i] {
				t.Errorf("copy %d says %s attempts", i, n)
			}
		}
		r.wantDrained(t)
	})
	for offset, attempts := range map[int]int{-2: 3, 2: 7, -10: 1} {
		r := newDeadRig(t, Config{DeadLetterOffset: offset})
		r.send(t, "k", "poison")
		r.failTimes(t, r.open(t), "poison", attempts)
		r.open(t, onDead).wantTexts("poison")
		r.wantDrained(t)
	}
	t.Run("attempts forgotten", func(t *testing.T) {
		r := newDeadRig(t, Config{ForgetAttempts: true})
		r.send(t, "k", "poison")
		p := r.open(t)
		r.failTimes(t, p, "poison", 4)
		last := p.wantTexts("poison")
		p.cancel()
		r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == 0 })
		r.modify(t, 0, last...)
		if n := r.open(t).wantTexts("poison")[0].GetDeliveryAttempt(); n != 2 {
			t.Errorf("attempt %d, want 2", n)
		}
	})
}

func TestDeadLetterTopicDeleted(t *testing.T) {
	r := newDeadRig(t, Config{})
	if _, err := r.pub.DeleteTopic(t.Context(), &pubsubpb.DeleteTopicRequest{Topic: deadTopic}); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "poison")
	p := r.open(t)
	for range 7 {
		m := p.wantTexts("poison")
		if n := m[0].GetDeliveryAttempt(); n != 1 {
			t.Fatalf("attempt %d counted without a topic", n)
		}
		r.modify(t, 0, m...)
	}
	if err := r.CreateTopic(deadTopic); err != nil {
		t.Fatal(err)
	}
	r.failTimes(t, p, "poison", 5)
	r.wantDrained(t)
	if c := r.Counters(); c.DeadLettered != 1 {
		t.Errorf("counters %+v", c)
	}
}
