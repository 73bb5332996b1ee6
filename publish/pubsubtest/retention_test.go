package pubsubtest

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// keptFor sets the retention of a subscription.
func keptFor(d time.Duration) func(*pubsubpb.Subscription) {
	return func(s *pubsubpb.Subscription) { s.MessageRetentionDuration = durationpb.New(d) }
}

func retainAcked(s *pubsubpb.Subscription) { s.RetainAckedMessages = true }

func TestRetentionEnds(t *testing.T) {
	for name, ordered := range map[string]bool{"ordered": true, "unordered": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{}, keptFor(10*time.Minute), func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = ordered })
			two := func(req *pubsubpb.StreamingPullRequest) {
				req.MaxOutstandingMessages, req.StreamAckDeadlineSeconds = 2, 600
			}
			r.send(t, "k", "a0", "a1", "a2")
			p := r.open(t, two)
			old := p.wantTexts("a0", "a1") // a2 waits
			r.modify(t, 600, old...)
			r.Advance(9 * time.Minute)
			r.send(t, "k", "b0", "b1")
			p.wantNone()
			r.modify(t, 600, old...)
			r.Advance(time.Minute) // the retention of a0 to a2 is over, leased or not
			got := p.wantTexts("b0", "b1")
			r.ack(t, old...) // stale
			r.ack(t, got...)
			r.wantDrained(t)
			if c := r.Counters(); c.Dropped != 3 || c.AcksStale != 2 || c.Acks != 2 {
				t.Errorf("counters %+v", c)
			}
		})
	}
}

// The back-off of a message doesn't keep it longer, and what is dropped meanwhile
// doesn't come back.
func TestRetentionEndsDuringBackOff(t *testing.T) {
	for _, key := range []string{"k", ""} {
		r := newRig(t, Config{}, keptFor(10*time.Minute), func(s *pubsubpb.Subscription) {
			s.RetryPolicy = &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(10 * time.Minute), MaximumBackoff: durationpb.New(10 * time.Minute)}
		})
		r.send(t, key, "a0")
		p := r.open(t)
		r.Advance(5 * time.Minute) // comes once more
		p.wantTexts("a0")
		r.Advance(5 * time.Minute)
		r.send(t, key, "a1")
		r.ack(t, p.wantTexts("a1")...)
		r.Advance(10 * time.Minute)
		p.wantNone()
		r.wantDrained(t)
	}
}

// A timer of the server ends a retention, not only Advance or a call.
func TestRetentionIsArmed(t *testing.T) {
	r := newRig(t, Config{KeyRate: KeyRateOff}, keptFor(time.Hour))
	r.send(t, "k", "a0")
	if d := r.nextDueIn(); d > time.Hour || d < 59*time.Minute {
		t.Errorf("the next timer is due in %s", d)
	}
	r.mu.Lock()
	armed := time.Duration(r.armed - r.now())
	r.mu.Unlock()
	if armed > time.Hour || armed <= 0 {
		t.Errorf("the timer is set to %s from now", armed)
	}
}

func TestRetainAcked(t *testing.T) {
	r := newRig(t, Config{}, keptFor(time.Hour), retainAcked)
	start := r.Now()
	r.send(t, "k", "a0", "a1")
	p := r.open(t)
	r.ack(t, p.wantTexts("a0", "a1")...)
	r.Advance(30 * time.Minute)
	r.send(t, "k", "b0")
	r.ack(t, p.wantTexts("b0")...)
	if n := r.Backlog(testSub); n != 0 {
		t.Errorf("acked messages count as a backlog of %d", n)
	}
	r.seek(t, start)
	r.ack(t, p.wantTexts("a0", "a1", "b0")...)
	r.Advance(30 * time.Minute) // a0 and a1 are over
	r.seek(t, start)
	r.ack(t, p.wantTexts("b0")...)
	p.wantNone()
	if _, err := r.sub.UpdateSubscription(t.Context(), &pubsubpb.UpdateSubscriptionRequest{
		Subscription: &pubsubpb.Subscription{Name: testSub}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"retain_acked_messages"}},
	}); err != nil {
		t.Fatal(err)
	}
	r.seek(t, start)
	p.wantNone()
	r.wantDrained(t)
	if c := r.Counters(); c.Dropped != 0 {
		t.Errorf("%d unacked messages dropped", c.Dropped)
	}
}

func TestTopicRetention(t *testing.T) {
	r := newServer(t, Config{})
	start := r.Now()
	if _, err := r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: testTopic, MessageRetentionDuration: durationpb.New(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "before")
	if c := r.Counters(); c.Vanished != 0 {
		t.Errorf("%d vanished though the topic keeps them", c.Vanished)
	}
	sub := &pubsubpb.Subscription{Name: testSub, Topic: testTopic, EnableMessageOrdering: true}
	keptFor(10 * time.Minute)(sub)
	if err := r.CreateSubscription(sub); err != nil {
		t.Fatal(err)
	}
	p := r.open(t)
	p.wantNone()
	r.send(t, "k", "a0", "a1")
	r.ack(t, p.wantTexts("a0", "a1")[0])
	r.seek(t, start)
	r.ack(t, p.wantTexts("before", "a0", "a1")...)
	r.Advance(time.Hour)
	r.send(t, "k", "b0")
	r.Advance(30 * time.Minute) // beyond the subscription's retention, within the topic's
	r.ack(t, p.wantTexts("b0", "b0")[1])
	r.seek(t, start)
	r.ack(t, p.wantTexts("before", "a0", "a1", "b0")...)
	r.Advance(30 * time.Minute)
	r.seek(t, start)
	r.ack(t, p.wantTexts("b0")...)
	r.Advance(2 * time.Hour)
	r.wantDrained(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.topics[testTopic].kept); n != 0 {
		t.Errorf("the topic keeps %d", n)
	}
}

// TestTopicRetentionChanges: a topic's retention holds for what its subscriptions
// have already, and ends with the topic.
func TestTopicRetentionChanges(t *testing.T) {
	r := newRig(t, Config{}, keptFor(10*time.Minute))
	start := r.Now()
	r.send(t, "k", "a0")
	keep := func(d *durationpb.Duration) {
		t.Helper()
		if _, err := r.pub.UpdateTopic(t.Context(), &pubsubpb.UpdateTopicRequest{
			Topic:      &pubsubpb.Topic{Name: testTopic, MessageRetentionDuration: d},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"message_retention_duration"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	keep(durationpb.New(time.Hour))
	r.send(t, "k", "a1")
	r.Advance(30 * time.Minute)
	if n := r.Backlog(testSub); n != 2 {
		t.Errorf("%d messages after 30 min, want 2", n)
	}
	if s := r.settings(t); s.GetTopicMessageRetentionDuration().AsDuration() != time.Hour {
		t.Errorf("the subscription says %v", s)
	}
	keep(nil)
	r.Advance(time.Second)
	if n := r.Backlog(testSub); n != 0 {
		t.Errorf("%d messages are kept by the subscription, 10 min, alone", n)
	}
	keep(durationpb.New(time.Hour))
	r.send(t, "k", "b0")
	r.ack(t, r.open(t).wantTexts("b0")...)
	if _, err := r.pub.DeleteTopic(t.Context(), &pubsubpb.DeleteTopicRequest{Topic: testTopic}); err != nil {
		t.Fatal(err)
	}
	r.seek(t, start)
	if s, n := r.settings(t), r.Backlog(testSub); n != 0 || s.GetTopicMessageRetentionDuration() != nil {
		t.Errorf("%d messages come from a deleted topic; the subscription says %v", n, s)
	}
}

func (r *rig) settings(t *testing.T) *pubsubpb.Subscription {
	t.Helper()
	s, err := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDeletedTopicIsArmed: without its topic's retention a subscription's ends
// earlier, and the timer knows.
func TestDeletedTopicIsArmed(t *testing.T) {
	r := newServer(t, Config{KeyRate: KeyRateOff})
	if _, err := r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: testTopic, MessageRetentionDuration: durationpb.New(day)}); err != nil {
		t.Fatal(err)
	}
	sub := &pubsubpb.Subscription{Name: testSub, Topic: testTopic, ExpirationPolicy: &pubsubpb.ExpirationPolicy{}}
	keptFor(10 * time.Minute)(sub)
	if err := r.CreateSubscription(sub); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "a0")
	if _, err := r.pub.DeleteTopic(t.Context(), &pubsubpb.DeleteTopicRequest{Topic: testTopic}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the timer to be set", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.armed != 0 && r.armed-r.now() <= int64(10*time.Minute)
	})
}
