package pubsubtest

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func seekTo(at time.Time) *pubsubpb.SeekRequest {
	return &pubsubpb.SeekRequest{Subscription: testSub, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(at)}}
}

func (r *rig) seek(tb testing.TB, at time.Time) {
	tb.Helper()
	if _, err := r.sub.Seek(tb.Context(), seekTo(at)); err != nil {
		tb.Fatal(err)
	}
}

func TestSeekPast(t *testing.T) {
	r := newRig(t, Config{}, retainAcked)
	p := r.open(t, longLease)
	r.send(t, "k", "a0", "a1")
	r.Advance(time.Minute)
	middle := r.Now()
	r.send(t, "k", "a2", "a3", "a4")
	r.send(t, "l", "b0")
	r.send(t, "", "c0")
	got := p.take(7)
	r.ack(t, got[:3]...) // a0 to a2
	r.seek(t, middle)
	again := map[string][]string{}
	var msgs []*pubsubpb.ReceivedMessage
	for _, m := range p.take(5) {
		key := m.GetMessage().GetOrderingKey()
		again[key] = append(again[key], string(m.GetMessage().GetData()))
		msgs = append(msgs, m)
	}
	if s := fmt.Sprint(again); s != "map[:[c0] k:[a2 a3 a4] l:[b0]]" {
		t.Errorf("delivered again: %s", s)
	}
	r.ack(t, got[3:]...) // from before the seek: stale
	p.wantNone()
	if n := r.Backlog(testSub); n != 5 {
		t.Errorf("backlog %d, want 5", n)
	}
	r.ack(t, msgs...)
	if n := r.Backlog(testSub); n != 0 {
		t.Errorf("backlog %d, want 0", n)
	}
	// The publish time of a message finds that message.
	r.seek(t, msgs[0].GetMessage().GetPublishTime().AsTime())
	p.take(5)
	if c := r.Counters(); c.AcksStale != 4 || c.Nacks != 0 || c.Expired != 0 {
		t.Errorf("counters %+v", c)
	}
}

// What wasn't retained can't come back: only what is unacked does.
func TestSeekPastWithoutRetention(t *testing.T) {
	r := newRig(t, Config{})
	start := r.Now()
	p := r.open(t)
	r.send(t, "k", "a0", "a1", "a2")
	r.ack(t, p.wantTexts("a0", "a1", "a2")[0])
	r.seek(t, start)
	r.ack(t, p.wantTexts("a1", "a2")...)
	p.wantNone()
	r.wantDrained(t)
}

func TestSeekPurges(t *testing.T) {
	for name, ahead := range map[string]func(time.Time) time.Time{
		"now":            func(now time.Time) time.Time { return now },
		"in an hour":     func(now time.Time) time.Time { return now.Add(time.Hour) },
		"in 5,000 years": func(now time.Time) time.Time { return now.AddDate(5_000, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.MaxOutstandingMessages = 2 })
			r.send(t, "k", "a0", "a1", "a2")
			r.send(t, "", "b0")
			p.take(2)
			r.seek(t, ahead(r.Now()))
			r.wantDrained(t)
			r.send(t, "k", "a3") // not purged, though published before the time
			r.ack(t, p.wantTexts("a3")...)
			r.Advance(time.Hour)
			p.wantNone()
			r.wantDrained(t)
		})
	}
}

// A delayed message is as the seek says; its back-off doesn't double it.
func TestSeekDuringBackOff(t *testing.T) {
	for _, key := range []string{"k", ""} {
		r := newDeadRig(t, Config{}, retainAcked, func(s *pubsubpb.Subscription) {
			s.RetryPolicy = &pubsubpb.RetryPolicy{}
		})
		start := r.Now()
		p := r.open(t)
		r.send(t, key, "a0")
		r.modify(t, 0, p.wantTexts("a0")...)
		r.seek(t, start)
		again := p.wantTexts("a0")
		if n := again[0].GetDeliveryAttempt(); n != 2 {
			t.Errorf("attempt %d: a seek is no failure and forgets none", n)
		}
		r.ack(t, again...)
		r.Advance(time.Minute)
		p.wantNone()
	}
}

func TestRuleSeekTime(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.sub.Seek(t.Context(), &pubsubpb.SeekRequest{Subscription: testSub, Target: &pubsubpb.SeekRequest_Time{Time: &timestamppb.Timestamp{Nanos: -1}}})
	r.wantRefused(t, RuleSeekTime, codes.InvalidArgument, "You have passed an invalid argument to the service (argument=time).", err)
	_, err = r.sub.Seek(t.Context(), &pubsubpb.SeekRequest{Subscription: testSub})
	r.wantRefused(t, RuleArgumentMissing, codes.InvalidArgument, `A required argument is missing in the request: (argument="target").`, err)
	req := seekTo(r.Now())
	req.Subscription = "projects/p/subscriptions/unknown"
	_, err = r.sub.Seek(t.Context(), req)
	r.wantRefused(t, RuleSubscriptionMissing, codes.NotFound, "Resource not found (resource=unknown).", err)
	r.seek(t, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)) // the earliest valid time
}
