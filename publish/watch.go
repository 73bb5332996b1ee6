package publish

import (
	"context"
	"log/slog"
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
type Watch struct {
	cfg   WatchConfig
	admin checker
	gates []func(open bool)
	log   *slog.Logger

	ok       atomic.Bool
	lastGood time.Time // start of the last check without a finding
}

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

// Run checks until ctx ends, then returns nil.
func (w *Watch) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		w.check(ctx)
		if w.OK() {
			timer.Reset(w.cfg.Interval)
		} else {
			timer.Reset(w.cfg.FaultInterval)
		}
	}
}

func (w *Watch) check(ctx context.Context) {
	begin := time.Now()
	timed, cancel := context.WithTimeout(ctx, w.cfg.Timeout)
	defer cancel()
	findings, err := w.admin.Check(timed)
	if ctx.Err() != nil {
		return
	}
	for _, f := range findings { // they count even when a later call failed
		w.log.Error(EventWatchFault, "code", f.Code, "fix", f.Fix+w.aftermath(), "detail", f.Detail, "last_good", w.lastGood)
	}
	switch {
	case len(findings) > 0:
		w.set(false)
	case err != nil:
		w.log.Warn(EventWatchFailed, "grpc_code", codeOf(err).String(), "detail", detail(err, ""), "last_good", w.lastGood)
	default:
		w.lastGood = begin
		if !w.OK() {
			w.set(true)
			w.log.Info(EventWatchOpened, "checked", begin)
		}
	}
}

// aftermath is what to do after the fix about what was published meanwhile.
func (w *Watch) aftermath() string {
	if w.lastGood.IsZero() {
		return ""
	}
	return "; what was published since last_good may be lost, and this version can't send it again: stop cdc-publisher, " +
		"drop the slot, remove its state, empty the tables on both sides and run cdc-publisher init"
}

func (w *Watch) set(ok bool) {
	w.ok.Store(ok)
	for _, gate := range w.gates {
		gate(ok)
	}
}
