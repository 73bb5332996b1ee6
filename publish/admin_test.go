package publish

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cdc/publish/pubsubtest"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func testResources() Resources {
	return Resources{
		Project:   "p",
		Retention: 744 * time.Hour,
		Pairs: []Pair{
			{Use: "ordered", Topic: "cdc", Subscription: "cdc-sink", Ordered: true},
			{Use: "dead_letter", Topic: "cdc-dead", Subscription: "cdc-dead-replay"},
		},
	}
}

// newServer starts a stand-in and connects to it.
func newServer(t testing.TB, cfg pubsubtest.Config, maxInFlight int) (*pubsubtest.Server, Conn) {
	t.Helper()
	s, err := pubsubtest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	conn, err := Connect(t.Context(), Endpoint{Emulator: s.Addr(), MaxInFlight: maxInFlight, UserAgent: "cdc-test/0"}, discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return s, conn
}

func newAdmin(t *testing.T, want Resources, conn Conn) *Admin {
	t.Helper()
	a, err := NewAdmin(t.Context(), want, conn)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestInitTwice(t *testing.T) {
	_, conn := newServer(t, pubsubtest.Config{}, 1)
	a := newAdmin(t, testResources(), conn)
	findings, err := a.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := findingCodes(findings); got != "topic_missing subscription_missing topic_missing subscription_missing" {
		t.Errorf("before: %s", got)
	}
	did, err := a.Init(t.Context())
	if err != nil || len(did) != 4 {
		t.Fatalf("first run did %q, %v", did, err)
	}
	if did, err = a.Init(t.Context()); err != nil || len(did) != 0 {
		t.Errorf("second run did %q, %v", did, err)
	}
	if findings, err = a.Check(t.Context()); err != nil || len(findings) != 0 {
		t.Errorf("afterwards %+v, %v", findings, err)
	}
	got, err := a.subscriptions.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: "projects/p/subscriptions/cdc-sink"})
	if err != nil {
		t.Fatal(err)
	}
	if got.GetAckDeadlineSeconds() != 60 || got.GetRetryPolicy().GetMinimumBackoff().AsDuration() != 10*time.Second ||
		got.GetRetryPolicy().GetMaximumBackoff().AsDuration() != 600*time.Second {
		t.Errorf("subscription %v", got)
	}
}

func findingCodes(findings []Finding) string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Code)
	}
	return strings.Join(all, " ")
}

// TestInitSetsRight: what can be changed is changed, what is fixed is in the error.
func TestInitSetsRight(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{}, 1)
	want := testResources()
	want.Pairs = want.Pairs[:1]
	if err := s.CreateTopic(want.TopicName("cdc")); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateSubscription(&pubsubpb.Subscription{
		Name: want.SubscriptionName("cdc-sink"), Topic: want.TopicName("cdc"),
		MessageRetentionDuration: durationpb.New(7 * 24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	a := newAdmin(t, want, conn)
	did, err := a.Init(t.Context())
	if want := "[update subscription cdc-sink: message_retention_duration, expiration_policy]"; fmt.Sprint(did) != want {
		t.Errorf("did %q", did)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code() != "subscription_ordering" || !strings.Contains(e.Fix(), "--enable-message-ordering") {
		t.Errorf("left: %v", err)
	}
	findings, err := a.Check(t.Context())
	if err != nil || findingCodes(findings) != "subscription_ordering" {
		t.Errorf("afterwards %+v, %v", findings, err)
	}
}

// TestInitRace: somebody else creates the same at the same time.
func TestInitRace(t *testing.T) {
	_, conn := newServer(t, pubsubtest.Config{}, 1)
	results := make(chan []string, 4)
	for range 4 {
		a := newAdmin(t, testResources(), conn)
		go func() {
			did, err := a.Init(t.Context())
			if err != nil {
				t.Error(err)
			}
			results <- did
		}()
	}
	var all []string
	for range 4 {
		all = append(all, <-results...)
	}
	slices.Sort(all)
	if len(all) != 4 {
		t.Errorf("together they did %q", all)
	}
}

// TestCompare has every finding about a subscription, each from one difference.
func TestCompare(t *testing.T) {
	want := testResources()
	p := want.Pairs[0]
	for code, change := range map[string]func(*pubsubpb.Subscription){
		"":                           func(*pubsubpb.Subscription) {},
		"subscription_detached":      func(s *pubsubpb.Subscription) { s.Detached = true },
		"subscription_topic_deleted": func(s *pubsubpb.Subscription) { s.Topic = deletedTopic },
		"subscription_other_topic":   func(s *pubsubpb.Subscription) { s.Topic = "projects/p/topics/other" },
		"subscription_not_pull": func(s *pubsubpb.Subscription) {
			s.PushConfig = &pubsubpb.PushConfig{PushEndpoint: "https://example.com"}
		},
		"subscription_exactly_once":  func(s *pubsubpb.Subscription) { s.EnableExactlyOnceDelivery = true },
		"subscription_has_filter":    func(s *pubsubpb.Subscription) { s.Filter = `attributes.op = "c"` },
		"subscription_has_transform": func(s *pubsubpb.Subscription) { s.MessageTransforms = []*pubsubpb.MessageTransform{{}} },
		"subscription_retention":     func(s *pubsubpb.Subscription) { s.MessageRetentionDuration = durationpb.New(7 * 24 * time.Hour) },
		"subscription_expires":       func(s *pubsubpb.Subscription) { s.ExpirationPolicy = nil },
		"subscription_expires ":      func(s *pubsubpb.Subscription) { s.ExpirationPolicy.Ttl = durationpb.New(31 * 24 * time.Hour) },
		"subscription_ordering":      func(s *pubsubpb.Subscription) { s.EnableMessageOrdering = false },
	} {
		got := proto.CloneOf(want.subscription(p))
		change(got)
		findings := want.compareSubscription(p, got)
		if findingCodes(findings) != strings.TrimSpace(code) {
			t.Errorf("%s: %+v", code, findings)
		}
		for _, f := range findings {
			if !strings.Contains(f.Fix, "gcloud pubsub subscriptions") || !strings.Contains(f.Detail, "cdc-sink") {
				t.Errorf("%s: fix %q, detail %q", code, f.Fix, f.Detail)
			}
		}
	}
	unordered := want.subscription(want.Pairs[1])
	unordered.EnableMessageOrdering = true
	if got := findingCodes(want.compareSubscription(want.Pairs[1], unordered)); got != "subscription_ordering" {
		t.Errorf("ordering on a subscription without: %s", got)
	}
	if got := findingCodes(want.compareTopic(p, &pubsubpb.Topic{MessageTransforms: []*pubsubpb.MessageTransform{{}}})); got != "topic_has_transform" {
		t.Errorf("transform on the topic: %s", got)
	}
}

// TestCheckFailures: a call that is refused is a finding, one that couldn't be
// made an error.
func TestCheckFailures(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{}, 1)
	a := newAdmin(t, testResources(), conn)
	if _, err := a.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GetTopic", "GetSubscription"} {
		s.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: method, Code: codes.PermissionDenied})
		findings, err := a.Check(t.Context())
		if err != nil || findingCodes(findings) != "pubsub_view_denied" || !strings.Contains(findings[0].Fix, "roles/pubsub.viewer") {
			t.Errorf("%s denied: %+v, %v", method, findings, err)
		}
		s.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: method, Code: codes.Unauthenticated})
		_, err = a.Check(t.Context())
		if e, ok := errors.AsType[*Error](err); !ok || e.Code() != "pubsub_unauthenticated" || e.Fix() == "" {
			t.Errorf("%s without credentials: %v", method, err)
		}
		s.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: method, Code: codes.Internal})
		if findings, err := a.Check(t.Context()); codeOf(err) != codes.Internal {
			t.Errorf("%s failed: %+v, %v", method, findings, err)
		}
	}
}

// TestWatchOverRealCalls: the subscription is deleted and comes back; what is
// published meanwhile isn't accepted before the publisher has started again.
func TestWatchOverRealCalls(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{Record: true}, 80)
	want := testResources()
	a := newAdmin(t, want, conn)
	if _, err := a.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	startBoth := func() (*running, *Watch) {
		d := start(t, Config{Topic: want.TopicName("cdc")}, conn)
		w := NewWatch(WatchConfig{Interval: 10 * time.Millisecond}, a, discard, d.SetOpen)
		go func() { ended <- w.Run(t.Context()) }()
		return d, w
	}
	d, w := startBoth()
	d.put(t, "a", "1", 0)
	eventually(t, "the first message is accepted", func() bool { return d.count() == 1 })
	del := &pubsubpb.DeleteSubscriptionRequest{Subscription: want.SubscriptionName("cdc-sink")}
	if err := a.subscriptions.DeleteSubscription(t.Context(), del); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fault is seen", func() bool { return !w.OK() })
	d.put(t, "a", "2", 1)
	if _, err := a.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; codeOfError(err) != "subscription_missing" {
		t.Errorf("repaired, and the watch ends with %v", err)
	}
	if err := d.end(t); err != nil || d.count() != 1 {
		t.Errorf("%d messages accepted, %v", d.count(), err)
	}
	d, w = startBoth()
	d.put(t, "a", "2", 1)
	eventually(t, "the second message is accepted", func() bool { return d.count() == 1 })
	if c := s.Counters(); c.Vanished != 0 {
		t.Errorf("%d messages vanished", c.Vanished)
	}
	if err := d.end(t); err != nil {
		t.Error(err)
	}
	update := &pubsubpb.UpdateSubscriptionRequest{
		Subscription: &pubsubpb.Subscription{Name: want.SubscriptionName("cdc-sink"), MessageRetentionDuration: durationpb.New(time.Hour)},
		UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{"message_retention_duration"}},
	}
	if _, err := a.subscriptions.UpdateSubscription(t.Context(), update); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the changed retention is seen", func() bool { return !w.OK() })
}

// eventually waits for a condition that other goroutines bring about.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("doesn't come: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
