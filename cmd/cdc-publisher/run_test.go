package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cdc/publish"
)

// TestProgressWaitingFor: what the dispatcher waits for, and no latency of nothing.
func TestProgressWaitingFor(t *testing.T) {
	for want, s := range map[string]publish.Stats{
		"setup":    {InFlight: 1, Retrying: 1},
		"retry":    {Open: true, Retrying: 2},
		"answer":   {Open: true, Retrying: 2, InFlight: 1, P50: time.Millisecond, P99: time.Second},
		"messages": {Open: true},
	} {
		line := make(map[string]any)
		for pair := range slices.Chunk(progress(s), 2) {
			line[pair[0].(string)] = pair[1]
		}
		if got := line[keyPublishWaitingFor]; got != want {
			t.Errorf("%+v: waiting for %v, want %s", s, got, want)
		}
		if p99, ok := line["publish_p99_ms"]; ok != (s.P99 > 0) || ok && p99 != int64(1000) {
			t.Errorf("%s: publish_p99_ms %v", want, p99)
		}
	}
}

// TestSupervise holds the order in which stream and publisher stop.
func TestSupervise(t *testing.T) {
	boom, lost := errors.New("publish boom"), errors.New("connection lost")
	until := func(d time.Duration, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(d):
				return err
			}
		}
	}
	const never = 1000 * time.Hour
	for _, tt := range []struct {
		name            string
		stop            time.Duration // when the caller's context ends
		stream, publish func(context.Context) error
		want            []error
		after           time.Duration
	}{
		{"asked to stop", time.Second, func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(5 * time.Second) // for what is in flight
			return nil
		}, until(never, nil), nil, 6 * time.Second},
		{"stream fails", never, until(time.Second, lost), until(never, nil), []error{lost}, time.Second},
		{"publisher fails while the stream is idle", never, until(never, nil), until(time.Second, boom), []error{boom}, time.Second},
		{"both fail", never, func(ctx context.Context) error {
			<-ctx.Done()
			return lost
		}, until(time.Second, boom), []error{lost, boom}, time.Second},
		{"the stream says what the publisher says", never, func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("capture: %w", boom)
		}, until(time.Second, boom), []error{boom}, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.stop)
				defer cancel()
				start := time.Now()
				streaming := true
				err := supervise(ctx, func(ctx context.Context) error {
					defer func() { streaming = false }()
					return tt.stream(ctx)
				}, func() {}, func(ctx context.Context) error {
					err := tt.publish(ctx)
					if streaming && err == nil {
						t.Error("the publisher was stopped before the stream")
					}
					return err
				}, until(never, nil))
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v in it", err, want)
					}
				}
				if (err == nil) != (len(tt.want) == 0) || time.Since(start) != tt.after {
					t.Errorf("got %v after %s", err, time.Since(start))
				}
				if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) != len(tt.want) {
					t.Errorf("one error said twice: %v", err)
				}
			})
		})
	}
}

// TestSuperviseAbandons: a stream that waits for what is in flight is told when
// the publisher has failed, before it is asked to stop as well as after.
func TestSuperviseAbandons(t *testing.T) {
	boom := errors.New("publish boom")
	for stop, fails := range map[time.Duration]time.Duration{time.Hour: time.Second, time.Second: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), stop)
			defer cancel()
			begin := time.Now()
			abandoned, abandon := context.WithCancel(t.Context())
			err := supervise(ctx, func(ctx context.Context) error {
				<-ctx.Done()
				select {
				case <-abandoned.Done():
				case <-time.After(20 * time.Second):
				}
				return nil
			}, abandon, func(context.Context) error {
				time.Sleep(fails)
				return boom
			})
			if took := time.Since(begin); !errors.Is(err, boom) || took != fails {
				t.Errorf("stopped after %s, the publisher failed after %s: %v after %s", stop, fails, err, took)
			}
		})
	}
}

// TestSuperviseWatch: the watch can end the process too, when it asks for a restart.
func TestSuperviseWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("watch boom")
		untilStopped := func(ctx context.Context) error { <-ctx.Done(); return nil }
		begin, abandoned := time.Now(), false
		err := supervise(t.Context(), untilStopped, func() { abandoned = true }, untilStopped, func(context.Context) error {
			time.Sleep(time.Second)
			return boom
		})
		if took := time.Since(begin); !errors.Is(err, boom) || !abandoned || took != time.Second {
			t.Errorf("got %v after %s, abandoned %v", err, took, abandoned)
		}
	})
}
