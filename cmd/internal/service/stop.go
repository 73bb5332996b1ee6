package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"
)

// StopLimit is how long a service may take to stop after SIGTERM or SIGINT.
const StopLimit = 30 * time.Second

// errStopLimit ends a run that didn't stop in time.
var errStopLimit = errors.New("the work didn't stop in time")

// errSecondSignal ends a run at once.
var errSecondSignal = errors.New("second signal")

// Stopped is the cause of a run's context after a signal.
type Stopped struct{ Signal os.Signal }

func (s Stopped) Error() string { return "stopped by signal " + s.Signal.String() }

// supervise runs work until it returns. The first signal cancels work's context
// and starts the limit; stopping is called then. At the limit and at a second
// signal supervise returns without waiting for work: the process must exit.
func supervise(ctx context.Context, signals <-chan os.Signal, limit time.Duration, log *slog.Logger, stopping func(), work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()

	select {
	case err := <-done:
		return err
	case s := <-signals:
		log.Info(EventStopping, "signal", s.String(), "limit_s", limit.Seconds())
		stopping()
		cancel(Stopped{s})
	case <-ctx.Done(): // the caller's end; it is not bounded by a signal but by the limit too
		stopping()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case s := <-signals:
		log.Warn(EventSecondSignal, "signal", s.String())
		return errSecondSignal
	case <-timer.C:
		log.Error(EventStopLimit, KeyCode, "stop_limit", "limit_s", limit.Seconds(),
			KeyFix, "nothing is lost, the next start repeats what wasn't confirmed; send SIGUSR1 before stopping to see what is waited for")
		return errStopLimit
	}
}
