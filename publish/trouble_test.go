package publish

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cdc/schema"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestTroubleIsLogged: an outage of two minutes is a few warnings and one line
// at its end, without the ordering key.
func TestTroubleIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Now().Add(2 * time.Minute)
		conn := &fakeConn{answer: func(_ context.Context, r *pubsubpb.PublishRequest) error {
			if time.Now().Before(up) {
				return status.Error(codes.Unavailable, "not now, "+r.GetMessages()[0].GetOrderingKey())
			}
			return nil
		}}
		var lines bytes.Buffer
		log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
		d, err := NewDispatcher(Config{Topic: testTopic}, conn, log)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		m := testMessage("public.t|secret", "1")
		m.Attributes.Position = schema.Position{Epoch: 1, CommitLSN: 0xABC}
		if err := d.Publish(t.Context(), m, 0, func(uint64) {}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		got := lines.String()
		if n := strings.Count(got, `level=WARN msg="`+EventRetrying+`" topic=`+testTopic+" grpc_code=Unavailable"); n != 4 {
			t.Errorf("%d warnings", n)
		}
		for _, want := range []string{
			`level=INFO msg="` + EventRecovered, `level=DEBUG msg="` + EventPublished,
			"message_id=0 position=00000001/0000000000000ABC/",
		} {
			if strings.Count(got, want) != 1 {
				t.Errorf("not once: %s", want)
			}
		}
		if strings.Contains(got, "secret") || t.Failed() {
			t.Errorf("log:\n%s", got)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no topic":         {},
		"short topic":      {Topic: "orders"},
		"subscription":     {Topic: "projects/p/subscriptions/s"},
		"negative limit":   {Topic: testTopic, MaxInFlight: -1},
		"negative bytes":   {Topic: testTopic, MaxQueuedBytes: -1},
		"negative timeout": {Topic: testTopic, AttemptTimeout: -1},
		"falling back-off": {Topic: testTopic, BackoffInitial: 2, BackoffMax: 1},
	} {
		if _, err := NewDispatcher(cfg, &fakeConn{}, discard); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewDispatcher(Config{Topic: testTopic}, &fakeConn{}, discard); err != nil {
		t.Error(err)
	}
}
