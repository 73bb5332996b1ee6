package deadletter

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/publish/pubsubtest"
)

const topic, source = "projects/p/topics/shop-dead", "projects/p/subscriptions/shop-sink"

func start(t *testing.T) (*Sender, *pubsubtest.Server) {
	t.Helper()
	server, err := pubsubtest.New(pubsubtest.Config{Record: true})
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	s, err := New(t.Context(), topic, source, slog.New(slog.DiscardHandler), option.WithEndpoint(server.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, server
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func letter() Letter {
	return Letter{
		Attributes: map[string]string{"v": "1", "op": "u", "error": "its own is overruled"}, Data: []byte(`{"after":{}}`),
		OrderingKey: "public.orders|7", MessageID: "42", DeliveryAttempt: 3, ErrorCode: "numeric_scale",
		Error: `row refused: column "total"`, FailedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code() != code || e.Fix() == "" {
		t.Errorf("error %v, want code %s", err, code)
	}
}

func TestSend(t *testing.T) {
	s, server := start(t)
	wantCode(t, s.Check(t.Context()), "dead_letter_topic_missing")
	must(t, server.CreateTopic(topic))
	wantCode(t, s.Check(t.Context()), "dead_letter_subscription_missing")
	must(t, server.CreateSubscription(&pubsubpb.Subscription{Name: "projects/p/subscriptions/dead", Topic: topic}))
	must(t, s.Check(t.Context()))
	server.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Publish", Count: 2})
	must(t, s.Send(t.Context(), []Letter{letter()}))
	stored := server.Stored(topic)
	if len(stored) != 1 {
		t.Fatalf("%d letters", len(stored))
	}
	want := map[string]string{
		"v": "1", "op": "u", "ordering_key": "public.orders|7", "error_code": "numeric_scale", "error": `row refused: column "total"`,
		"source_subscription": source, "message_id": "42", "delivery_attempt": "3", "failed_at": "2026-01-02T03:04:05.000006Z",
	}
	for name, value := range want {
		if stored[0].Attributes[name] != value {
			t.Errorf("attribute %s: %q, want %q", name, stored[0].Attributes[name], value)
		}
	}
	if len(stored[0].Attributes) != len(want) || stored[0].OrderingKey != "" || string(stored[0].Data) != `{"after":{}}` {
		t.Errorf("letter %+v", stored[0])
	}
}

// What a letter may be made of: foreign attributes over every limit.
func TestForeignLetter(t *testing.T) {
	s, server := start(t)
	must(t, server.CreateTopic(topic))
	must(t, server.CreateSubscription(&pubsubpb.Subscription{Name: "projects/p/subscriptions/dead", Topic: topic}))
	l := letter()
	for i := range 100 {
		l.Attributes[strings.Repeat("n", i)] = strings.Repeat("é", 600)
	}
	l.Error = "\xff" + strings.Repeat("x", 2000)
	l.Data = make([]byte, 9_950_000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range l.Data {
		l.Data[i] = "0123456789abcdef"[r.IntN(16)]
	}
	must(t, s.Send(t.Context(), []Letter{l}))
	if stored := server.Stored(topic); len(stored) != 1 || stored[0].Attributes[AttrEncoding] != "gzip" || len(stored[0].Attributes) > 100 {
		t.Errorf("%d letters", len(stored))
	}
	for i := range l.Data {
		l.Data[i] = byte(r.Uint32())
	}
	wantCode(t, s.Send(t.Context(), []Letter{l}), "dead_letter_too_large")
}

func TestFinalAnswers(t *testing.T) {
	s, server := start(t)
	wantCode(t, s.Send(t.Context(), []Letter{letter()}), "dead_letter_topic_missing")
	server.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Publish", Code: codes.PermissionDenied})
	wantCode(t, s.Send(t.Context(), []Letter{letter()}), "dead_letter_permission")
	server.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Publish", Count: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Send(ctx, []Letter{letter()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Send = %v, want it to go on until the deadline", err)
	}
	server.ClearFaults() // Close waits for what is left
}
