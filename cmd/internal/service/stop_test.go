package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var discard = slog.New(slog.DiscardHandler)

// TestSupervise runs each way in which a run ends, on the bubble's clock.
func TestSupervise(t *testing.T) {
	boom := errors.New("boom")
	graceful := func(d time.Duration, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(d)
			return err
		}
	}
	for _, tt := range []struct {
		name    string
		signals []time.Duration // at which one comes
		work    func(context.Context) error
		want    error
		after   time.Duration
		stops   bool
	}{
		{"work ends by itself", nil, func(context.Context) error { return nil }, nil, 0, false},
		{"work fails", nil, func(context.Context) error { return boom }, boom, 0, false},
		{"stopped in time", []time.Duration{time.Second}, graceful(29*time.Second, nil), nil, 30 * time.Second, true},
		{"stopped with an error", []time.Duration{time.Second}, graceful(time.Second, boom), boom, 2 * time.Second, true},
		{"too slow", []time.Duration{time.Second}, graceful(time.Hour, nil), errStopLimit, 31 * time.Second, true},
		{"second signal", []time.Duration{time.Second, 3 * time.Second}, graceful(time.Hour, nil), errSecondSignal, 3 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				for _, at := range tt.signals {
					time.AfterFunc(at, func() { signals <- syscall.SIGTERM })
				}
				stopping := false
				start := time.Now()
				var cause error
				err := supervise(t.Context(), signals, StopLimit, discard, func() { stopping = true }, func(ctx context.Context) error {
					context.AfterFunc(ctx, func() { cause = context.Cause(ctx) })
					return tt.work(ctx)
				})
				if !errors.Is(err, tt.want) || time.Since(start) != tt.after || stopping != tt.stops {
					t.Errorf("got %v after %s, stopping %v", err, time.Since(start), stopping)
				}
				synctest.Wait()
				if s, ok := errors.AsType[Stopped](cause); tt.stops && (!ok || s.Signal != syscall.SIGTERM) {
					t.Errorf("cause is %v", cause)
				}
				time.Sleep(2 * time.Hour) // the work that was left alone ends
			})
		})
	}
}

// TestSuperviseParent ends the caller's context instead of sending a signal.
func TestSuperviseParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := supervise(ctx, nil, StopLimit, discard, func() {}, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestMovement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Movement
		step := func(wait time.Duration, idle bool, mark uint64, want bool) {
			t.Helper()
			time.Sleep(wait)
			if ready, reason := m.Ready(idle, mark, "window"); ready != want || ready != (reason == "") {
				t.Errorf("idle %v, mark %d: %v %q", idle, mark, ready, reason)
			}
		}
		step(0, false, 0, true)
		step(59*time.Second, false, 0, true)
		step(2*time.Second, false, 0, false)
		step(time.Second, false, 1, true)
		step(time.Hour, false, 2, true) // it may have moved all the time
		step(61*time.Second, false, 2, false)
		step(0, true, 2, true)
		step(61*time.Second, true, 2, true)
	})
}
