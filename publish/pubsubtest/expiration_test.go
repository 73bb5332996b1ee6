package pubsubtest

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

const day = 24 * time.Hour

func expiresAfter(d time.Duration) func(*pubsubpb.Subscription) {
	return func(s *pubsubpb.Subscription) {
		s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: durationpb.New(d)}
	}
}

func (r *rig) exists(t *testing.T) bool {
	t.Helper()
	_, err := r.sub.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: testSub})
	if err != nil && status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

func TestSubscriptionExpires(t *testing.T) {
	r := newRig(t, Config{PullWait: time.Millisecond}, expiresAfter(day))
	pull := func() {
		t.Helper()
		if _, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1}); err != nil {
			t.Fatal(err)
		}
	}
	ids := []string{r.anyAckID()}
	r.Advance(day - time.Minute) // so that the first activity counts as well
	for name, activity := range map[string]func(){
		"Pull":        pull,
		"Acknowledge": func() { r.ack(t, &pubsubpb.ReceivedMessage{AckId: ids[0]}) },
		"ModifyAckDeadline": func() {
			r.modify(t, 10, &pubsubpb.ReceivedMessage{AckId: ids[0]})
		},
		"Seek": func() { r.seek(t, r.Now()) },
		"UpdateSubscription": func() {
			if _, err := r.sub.UpdateSubscription(t.Context(), &pubsubpb.UpdateSubscriptionRequest{
				Subscription: &pubsubpb.Subscription{Name: testSub, AckDeadlineSeconds: 20}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"ack_deadline_seconds"}},
			}); err != nil {
				t.Fatal(err)
			}
		},
		"StreamingPull": func() {
			p := r.open(t)
			r.Advance(40 * day) // an open stream is activity all the time
			p.wantNone()
			p.cancel()
			r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == 0 })
		},
	} {
		activity()
		r.Advance(day - time.Minute)
		if !r.exists(t) {
			t.Fatalf("expired a day less a minute after %s", name)
		}
	}
	r.send(t, "k", "a") // publishing is no activity, nor was the Get above
	r.Advance(time.Minute)
	if r.exists(t) {
		t.Fatal("lives on without activity")
	}
	_, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 1})
	r.wantRefused(t, RuleSubscriptionMissing, codes.NotFound, "Resource not found (resource=orders-sink).", err)
	r.send(t, "k", "b")
	if c := r.Counters(); c.SubsExpired != 1 || c.Vanished != 1 {
		t.Errorf("counters %+v", c)
	}
}

func TestSubscriptionExpiresByDefault(t *testing.T) {
	r := newRig(t, Config{})
	r.Advance(30 * day)
	if !r.exists(t) {
		t.Fatal("expired before 31 days")
	}
	r.Advance(day)
	if r.exists(t) {
		t.Fatal("lives on after 31 days")
	}
}

func TestSubscriptionNeverExpires(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) { s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{} })
	r.Advance(1_000 * day)
	if !r.exists(t) {
		t.Error("expired though its policy has no ttl")
	}
	r.wantDrained(t)
}

// A timer of the server expires the subscription, not only Advance.
func TestExpirationIsArmed(t *testing.T) {
	r := newRig(t, Config{}, expiresAfter(day))
	armed := func() time.Duration {
		r.mu.Lock()
		defer r.mu.Unlock()
		return time.Duration(r.armed - r.now())
	}
	if d := armed(); d > day || d <= 0 {
		t.Errorf("the timer is set to %s from now", d)
	}
	p := r.open(t)
	r.Advance(2 * day)
	p.cancel()
	r.waitFor(t, func(c Counters) bool { return c.StreamsOpen == 0 })
	if d := armed(); d > day || d <= 0 {
		t.Errorf("after a stream the timer is set to %s from now", d)
	}
}

// TestLongExpiration: a policy longer than time goes doesn't end at once.
func TestLongExpiration(t *testing.T) {
	r := newRig(t, Config{}, func(s *pubsubpb.Subscription) {
		s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: &durationpb.Duration{Seconds: 10_000 * 365 * 24 * 3600}}
	})
	r.Advance(100 * 365 * day)
	if !r.exists(t) {
		t.Error("it has expired")
	}
}
