package publish

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// checker is what the Watch asks. *Admin is one.
type checker interface {
	Check(ctx context.Context) ([]Finding, error)
}

// WatchConfig of a Watch.
type WatchConfig struct {
	// Interval between two checks; 0 means a minute.
	Interval time.Duration
	// FaultInterval between two checks while the gate is shut; 0 means 10 s.
	FaultInterval time.Duration
	// Timeout of one check; 0 means 30 s.
	Timeout time.Duration
}

// Watch looks at start and every minute whether what is published can be lost,
// changed or held back, and shuts the gate while it can.
//
// A check that couldn't be made (UNAVAILABLE, …) proves nothing and changes
// nothing: it is repeated, with a warning.
//
// After a fault that followed a good check the gate stays shut for good: what
// Pub/Sub dropped meanwhile would be missing before what came next. A restart
// sends it again first.
type Watch struct {
	cfg   WatchConfig
	admin checker
	gates []func(open bool)
	log   *slog.Logger

	ok       atomic.Bool
	mu       sync.Mutex // one check at a time
	lastGood time.Time  // start of the last check without a finding
	broken   *Error     // the first fault after a good check
	repaired bool       // and a later check was good
}

// startAgain is the last thing to do after a fault that followed a good check.
const startAgain = "start cdc-publisher again, unless something does that by itself: it sends once more what wasn't confirmed"

// NewWatch shuts the gates (Dispatcher.SetOpen) at once: they open when the first
// check has found nothing wrong.
func NewWatch(cfg WatchConfig, admin checker, log *slog.Logger, gates ...func(open bool)) *Watch {
	if cfg.Interval == 0 {
		cfg.Interval = time.Minute
	}
	if cfg.FaultInterval == 0 {
		cfg.FaultInterval = min(10*time.Second, cfg.Interval)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	w := &Watch{cfg: cfg, admin: admin, gates: gates, log: log}
	w.set(false)
	return w
}

// OK says whether the last check that could be made found nothing wrong.
func (w *Watch) OK() bool { return w.ok.Load() }

// Vouch checks now and says whether what was accepted so far has been stored for
// somebody. It is asked before that is confirmed to the source. An *Error is for
// good: Pub/Sub may have dropped what was published before the fault was found,
// even if it is repaired by now, and only a restart sends it again. Any other
// error says that the check couldn't be made. While no check has been good
// nothing was published, and nothing can be lost.
func (w *Watch) Vouch(ctx context.Context) error {
	return w.check(ctx)
}

// Run checks until ctx ends, then returns nil, or until a fault that followed a
// good check is repaired, then returns an *Error: the process has to start again.
func (w *Watch) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		_ = w.check(ctx) // logged; Vouch is for those who need it
		if err := w.over(); err != nil {
			return err
		}
		if w.OK() {
			timer.Reset(w.cfg.Interval)
		} else {
			timer.Reset(w.cfg.FaultInterval)
		}
	}
}

// over returns why the process has to start again, once that would help.
func (w *Watch) over() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repaired {
		return w.broken
	}
	return nil
}

func (w *Watch) check(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	begin := time.Now()
	timed, cancel := context.WithTimeout(ctx, w.cfg.Timeout)
	defer cancel()
	findings, err := w.admin.Check(timed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, f := range findings { // they count even when a later call failed
		w.log.Error(EventWatchFault, "code", f.Code, "fix", f.Fix, "detail", f.Detail, "last_good", w.lastGood)
	}
	switch {
	case len(findings) > 0:
		if w.broken == nil && !w.lastGood.IsZero() {
			w.broken = &Error{
				code: findings[0].Code, fix: findings[0].Fix + "; then " + startAgain,
				text: "what was published since " + w.lastGood.UTC().Format(time.RFC3339) + " may be lost and isn't confirmed: " + findings[0].Detail,
			}
		}
		w.set(false)
	case err != nil:
		w.log.Warn(EventWatchFailed, "grpc_code", codeOf(err).String(), "detail", detail(err, ""), "last_good", w.lastGood)
	case w.broken != nil:
		w.lastGood = begin
		if !w.repaired { // whoever reads it now must not repair it once more
			w.repaired = true
			w.broken = &Error{code: w.broken.code, fix: startAgain, text: w.broken.text + " (repaired since)"}
		}
	default:
		w.lastGood = begin
		if !w.OK() {
			w.set(true)
			w.log.Info(EventWatchOpened, "checked", begin)
		}
	}
	switch {
	case w.broken != nil:
		return w.broken
	case len(findings) == 0 && err != nil:
		return fmt.Errorf("look at the set-up of Pub/Sub: %s: %s", codeOf(err), detail(err, ""))
	default:
		return nil
	}
}

func (w *Watch) set(ok bool) {
	w.ok.Store(ok)
	for _, gate := range w.gates {
		gate(ok)
	}
}
