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

	"cdc/capture"
	"cdc/capture/postgrestest"
	"cdc/cmd/internal/service"
	"cdc/publish"
	"cdc/publish/pubsubtest"
)

const demoFile = `version: 1
database: shop
source: {dsn: "${CDC_PUBLISHER_TEST_DSN}"}
pubsub: {project: acme-test}
bigquery: {project: acme-test, location: EU}
tables: [{match: public.*}]
health: {publisher: "127.0.0.1:0"}
log: {progress: 1s}
`

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

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// event returns the first event with the message, nil if there is none yet.
func (s *syncBuffer) event(message string) map[string]any {
	for line := range strings.Lines(s.String()) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil && e["message"] == message {
			return e
		}
	}
	return nil
}

func eventually(t *testing.T, log *syncBuffer, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 40 s: %s\n%s", what, log)
		}
	}
}

func invoke(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// TestService walks through check, init, check and run with a real Postgres and
// Pub/Sub's stand-in, and stops the run with a signal.
func TestService(t *testing.T) {
	pg := postgrestest.Start(t)
	pg.MustExec(t, "postgres", "CREATE TABLE orders (id bigint PRIMARY KEY, title text)")
	ps, err := pubsubtest.New(pubsubtest.Config{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ps.Close() })
	t.Setenv(publish.EmulatorEnv, ps.Addr())
	t.Setenv("CDC_PUBLISHER_TEST_DSN", pg.DSN("postgres"))
	path := filepath.Join(t.TempDir(), "cdc.yaml")
	if err := os.WriteFile(path, []byte(demoFile), 0o600); err != nil {
		t.Fatal(err)
	}

	code, stdout, stderr := invoke(t.Context(), "check", "--config", path)
	if code != service.ExitFailed || !strings.Contains(stdout, "error: topic_missing: ") || !strings.Contains(stdout, "error: not_initialized: ") {
		t.Errorf("check of nothing: exit %d\n%s%s", code, stdout, stderr)
	}
	for _, again := range []bool{false, true} {
		code, stdout, stderr := invoke(t.Context(), "init", "--config", path)
		if code != service.ExitDone || strings.Contains(stdout, "did: ") == again || again != strings.HasSuffix(stdout, ": 0 changes\n") {
			t.Fatalf("init, again %v: exit %d\n%s%s", again, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := invoke(t.Context(), "check", "--config", path); code != service.ExitDone {
		t.Errorf("check: exit %d\n%s%s", code, stdout, stderr)
	}

	var log syncBuffer
	done := make(chan int, 1)
	go func() { done <- run(context.Background(), []string{"run", "--config", path}, &log, &log) }()
	eventually(t, &log, "health endpoints", func() bool { return log.event(service.EventHealth) != nil })
	address := log.event(service.EventHealth)["address"]
	eventually(t, &log, "ready", func() bool {
		resp, err := http.Get(fmt.Sprintf("http://%s/readyz", address))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	pg.MustExec(t, "postgres", "INSERT INTO orders SELECT i, 'x' FROM generate_series(1, 100) i", "DELETE FROM orders WHERE id = 7")
	const topic = "projects/acme-test/topics/cdc-shop"
	eventually(t, &log, "101 messages", func() bool { return len(ps.Stored(topic)) == 101 })
	eventually(t, &log, "a progress line that says what both halves wait for", func() bool {
		e := log.event(capture.EventProgress)
		return e != nil && e["waiting_for"] != nil && e[keyPublishWaitingFor] != nil
	})
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != service.ExitDone || log.event(service.EventStopped) == nil || log.event(capture.EventStopped) == nil {
		t.Errorf("exit %d\n%s", code, &log)
	}
	if strings.Contains(log.String(), `"severity":"ERROR"`) {
		t.Errorf("an Error in a good run:\n%s", &log)
	}
}

// TestNotInitialized ends a run with the error of capture, as one Error event.
func TestNotInitialized(t *testing.T) {
	pg := postgrestest.Start(t)
	ps, err := pubsubtest.New(pubsubtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ps.Close() })
	t.Setenv(publish.EmulatorEnv, ps.Addr())
	t.Setenv("CDC_PUBLISHER_TEST_DSN", pg.DSN("postgres"))
	path := filepath.Join(t.TempDir(), "cdc.yaml")
	if err := os.WriteFile(path, []byte(demoFile), 0o600); err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	code := run(t.Context(), []string{"run", "--config", path}, &log, &log)
	e := log.event(service.EventFailed)
	if code != service.ExitFailed || e == nil || e["severity"] != "ERROR" || e["code"] == "unexpected" || e["fix"] == "" {
		t.Errorf("exit %d\n%s", code, &log)
	}
	t.Logf("%v", e)
}

// TestVanishedIsNotConfirmed deletes the subscription of a running service: what
// Pub/Sub accepted and dropped isn't confirmed, and comes again.
func TestVanishedIsNotConfirmed(t *testing.T) {
	pg := postgrestest.Start(t)
	pg.MustExec(t, "postgres", "CREATE TABLE orders (id bigint PRIMARY KEY, title text)")
	ps, err := pubsubtest.New(pubsubtest.Config{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ps.Close() })
	t.Setenv(publish.EmulatorEnv, ps.Addr())
	t.Setenv("CDC_PUBLISHER_TEST_DSN", pg.DSN("postgres"))
	path := filepath.Join(t.TempDir(), "cdc.yaml")
	if err := os.WriteFile(path, []byte(demoFile), 0o600); err != nil {
		t.Fatal(err)
	}
	mustInit := func() {
		t.Helper()
		if code, stdout, stderr := invoke(t.Context(), "init", "--config", path); code != service.ExitDone {
			t.Fatalf("init: exit %d\n%s%s", code, stdout, stderr)
		}
	}
	mustInit()
	start := func() (*syncBuffer, <-chan int) {
		log, done := new(syncBuffer), make(chan int, 1)
		go func() { done <- run(t.Context(), []string{"run", "--config", path}, log, log) }()
		eventually(t, log, "gate open", func() bool { return log.event(publish.EventWatchOpened) != nil })
		return log, done
	}
	const topic = "projects/acme-test/topics/cdc-shop"
	log, done := start()
	pg.MustExec(t, "postgres", "INSERT INTO orders VALUES (1, 'x')")
	eventually(t, log, "the first message", func() bool { return len(ps.Stored(topic)) == 1 })
	conn, err := ps.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = pubsubpb.NewSubscriberClient(conn).DeleteSubscription(t.Context(),
		&pubsubpb.DeleteSubscriptionRequest{Subscription: "projects/acme-test/subscriptions/cdc-shop-sink"})
	if err != nil {
		t.Fatal(err)
	}
	pg.MustExec(t, "postgres", "INSERT INTO orders VALUES (2, 'vanishes')")
	if code := <-done; code != service.ExitFailed {
		t.Errorf("exit %d", code)
	}
	if e := log.event(service.EventFailed); e == nil || e["code"] != "subscription_missing" || e["fix"] == "" {
		t.Errorf("ended with %v\n%s", e, log)
	}
	mustInit()
	log, _ = start()
	eventually(t, log, "what had vanished", func() bool {
		for _, m := range ps.Stored(topic) {
			if strings.Contains(string(m.Data), "vanishes") {
				return true
			}
		}
		return false
	})
}
