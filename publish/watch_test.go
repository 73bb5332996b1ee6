package publish

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fakeChecker answers what it is set to.
type fakeChecker struct {
	mu       sync.Mutex
	findings []Finding
	err      error
	checks   int
}

func (c *fakeChecker) Check(context.Context) ([]Finding, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	return c.findings, c.err
}

func (c *fakeChecker) set(findings []Finding, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.findings, c.err = findings, err
}

func (c *fakeChecker) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checks
}

func codeOfError(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code()
	}
	return ""
}

func fixOfError(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fix()
	}
	return ""
}

// TestVouchBeforeAnythingWasPublished: a fault that was there from the start has
// lost nothing, and is forgotten when it is repaired.
func TestVouchBeforeAnythingWasPublished(t *testing.T) {
	admin := &fakeChecker{findings: []Finding{{Code: "subscription_missing", Fix: "gcloud …"}}}
	w := NewWatch(WatchConfig{}, admin, discard)
	for range 2 {
		if err := w.Vouch(t.Context()); err != nil {
			t.Error(err)
		}
		admin.set(nil, nil)
	}
	if !w.OK() {
		t.Error("repaired and shut")
	}
}

// TestWatchInterval: a check a minute while all is well, and an end without error.
func TestWatchInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admin := &fakeChecker{}
		w := NewWatch(WatchConfig{}, admin, discard)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Hour)
		if n := admin.count(); n < 59 || n > 61 {
			t.Errorf("%d checks in an hour", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			lines bytes.Buffer
			gate  atomic.Bool
			admin = &fakeChecker{err: status.Error(codes.Unavailable, "try again")}
		)
		gate.Store(true) // as the Dispatcher's is
		w := NewWatch(WatchConfig{}, admin, slog.New(slog.NewTextHandler(&lines, nil)), gate.Store)
		expect := func(what string, open bool) {
			t.Helper()
			synctest.Wait()
			if gate.Load() != open || w.OK() != open {
				t.Errorf("%s: gate %v, OK %v", what, gate.Load(), w.OK())
			}
		}
		expect("before the first check", false)
		ctx := t.Context()
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		expect("first check can't be made", false)
		admin.set(nil, nil)
		time.Sleep(10 * time.Second)
		expect("all well", true)
		admin.set(nil, status.Error(codes.Unavailable, "try again"))
		time.Sleep(10 * time.Minute)
		expect("checks can't be made: nothing new is known", true)
		if err := w.Vouch(ctx); err == nil || codeOfError(err) != "" {
			t.Errorf("a check that can't be made vouches: %v", err)
		}
		admin.set(nil, nil)
		if err := w.Vouch(ctx); err != nil {
			t.Errorf("all well: %v", err)
		}
		admin.set([]Finding{{Code: "subscription_missing", Fix: "gcloud …"}}, nil)
		time.Sleep(time.Minute)
		expect("a finding", false)
		admin.set(nil, status.Error(codes.Unavailable, "try again"))
		time.Sleep(10 * time.Minute)
		expect("then checks can't be made", false)
		if fix := fixOfError(w.Vouch(ctx)); fix != "gcloud …; then "+startAgain {
			t.Errorf("fix of a fault that is there: %q", fix)
		}
		admin.set(nil, nil)
		if err := w.Vouch(ctx); codeOfError(err) != "subscription_missing" {
			t.Errorf("repaired, and what was dropped before is vouched for: %v", err)
		}
		expect("set right: what comes next would be stored behind a gap", false)
		if err := <-ended; codeOfError(err) != "subscription_missing" || fixOfError(err) != startAgain {
			t.Errorf("repaired, and Run ends with %v, fix %q", err, fixOfError(err))
		}
		log := lines.String()
		for _, want := range []string{
			"level=ERROR msg=\"" + EventWatchFault + "\" code=subscription_missing fix=\"gcloud …\"",
			"level=WARN msg=\"" + EventWatchFailed + "\" grpc_code=Unavailable",
			"level=INFO msg=\"" + EventWatchOpened,
		} {
			if !strings.Contains(log, want) {
				t.Errorf("log has no %s:\n%s", want, log)
			}
		}
	})
}
