package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

const file = `version: 1
database: shop
source: {dsn: "${NEVER_RESOLVED_BY_THE_SINK}"}
pubsub: {project: acme-test, lease: {min: 10s}}
bigquery: {project: acme-test, location: EU, max_staleness: 0s}
tables: [{match: public.*}]
health: {sink: "127.0.0.1:0"}
`

func write(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cdc.yaml")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// standIns starts both stand-ins and points the environment at them.
func standIns(t *testing.T) *pubsubtest.Server {
	t.Helper()
	ps, err := pubsubtest.New(pubsubtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ps.Close() })
	bq, err := bigquerytest.New(bigquerytest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bq.Close() })
	t.Setenv(pubsubEmulator, ps.Addr())
	t.Setenv(bigqueryEmulator, strings.TrimPrefix(bq.Addr(), "http://"))
	t.Setenv(storageEmulator, bq.StorageAddr())
	return ps
}

func subscribe(t *testing.T, ps *pubsubtest.Server) {
	t.Helper()
	for topic, sub := range map[string]string{"cdc-shop": "cdc-shop-sink", "cdc-shop-dead": "cdc-shop-dead-replay"} {
		topic = "projects/acme-test/topics/" + topic
		if err := ps.CreateTopic(topic); err != nil {
			t.Fatal(err)
		}
		err := ps.CreateSubscription(&pubsubpb.Subscription{
			Name: "projects/acme-test/subscriptions/" + sub, Topic: topic, AckDeadlineSeconds: 60, EnableMessageOrdering: sub == "cdc-shop-sink",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func invoke(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// TestCommands walks through check, init and check against the stand-ins.
func TestCommands(t *testing.T) {
	ps := standIns(t)
	path := write(t, file)
	code, stdout, stderr := invoke(t.Context(), "check", "--config", path)
	if code != 1 || !strings.Contains(stdout, "error: subscription_missing: ") || !strings.Contains(stdout, "cdc-sink init") {
		t.Errorf("check of nothing: exit %d\n%s%s", code, stdout, stderr)
	}
	for _, name := range []string{pubsubEmulator, bigqueryEmulator, storageEmulator} {
		if !strings.Contains(stderr, `"variable":"`+name+`"`) {
			t.Errorf("no warning of %s: %s", name, stderr)
		}
	}
	subscribe(t, ps)
	for _, want := range []string{"did: create dataset acme-test.shop\n" + path + ": 1 change\n", path + ": 0 changes\n"} {
		if code, stdout, stderr := invoke(t.Context(), "init", "--config", path); code != 0 || stdout != want {
			t.Errorf("init: exit %d\n%s%s", code, stdout, stderr)
		}
	}
	if code, stdout, stderr := invoke(t.Context(), "check", "--config", path); code != 0 || stdout != path+": ok\n" {
		t.Errorf("check: exit %d\n%s%s", code, stdout, stderr)
	}
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// event returns the first event with the message, nil if there is none yet.
func (s *syncBuffer) event(message string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.Lines(s.b.Bytes()) {
		var e map[string]any
		if json.Unmarshal(line, &e) == nil && e["message"] == message {
			return e
		}
	}
	return nil
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// TestRun starts the service on stand-ins, finds it ready and stops it.
func TestRun(t *testing.T) {
	ps := standIns(t)
	subscribe(t, ps)
	path := write(t, file)
	var log syncBuffer
	done := make(chan int, 1)
	go func() { done <- run(context.Background(), []string{"run", "--config", path}, &log, &log) }()
	eventually(t, "health endpoints", func() bool { return log.event(service.EventHealth) != nil })
	address := log.event(service.EventHealth)["address"]
	eventually(t, "ready", func() bool {
		resp, err := http.Get(fmt.Sprintf("http://%s/readyz", address))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("exit %d\n%s", code, log.b.String())
	}
	if log.event(service.EventStopped) == nil {
		t.Errorf("not stopped well:\n%s", log.b.String())
	}
}

// TestRunRefuses: keys that a later version brings, and auto by default.
func TestRunRefuses(t *testing.T) {
	t.Setenv(pubsubEmulator, "127.0.0.1:1")
	for _, replace := range [][2]string{
		{", max_staleness: 0s", ""},
		{"lease:", "unordered: {hedging: off}, lease:"},
		{"match: public.*", "match: public.*, mode: both"},
	} {
		code, _, stderr := invoke(t.Context(), "run", "--config", write(t, strings.Replace(file, replace[0], replace[1], 1)))
		if code != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, `"code":"config_invalid"`) {
			t.Errorf("%q: exit %d\n%s", replace[1], code, stderr)
		}
	}
	// What the publisher reads is the publisher's to refuse.
	c, err := config.Parse("cdc.yaml", []byte(strings.Replace(file, "source: {", "source: {heartbeat: 10s, ", 1)), os.LookupEnv)
	if err != nil || c.NotYet(config.Sink, "cdc.yaml") != nil {
		t.Errorf("got %v", err)
	}
}
