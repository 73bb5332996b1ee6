package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"cdc/capture"
	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
	"cdc/publish"
)

// runService streams from the source to Pub/Sub until ctx ends.
func runService(ctx context.Context, cfg *config.Config, log *slog.Logger, ready *service.Readiness) error {
	ps, err := connect(ctx, cfg, log, cfg.PubSub.Ordered.MaxInFlight)
	if err != nil {
		return err
	}
	defer ps.close()
	dispatcher, err := publish.NewDispatcher(publish.Config{
		Topic:          ps.want.TopicName(cfg.PubSub.Ordered.Topic),
		MaxInFlight:    cfg.PubSub.Ordered.MaxInFlight,
		MaxQueuedBytes: int64(cfg.Source.Window),
		AttemptTimeout: cfg.PubSub.Ordered.AttemptTimeout,
	}, ps.conn, log)
	if err != nil {
		return err
	}
	watch := publish.NewWatch(publish.WatchConfig{}, ps.admin, log, dispatcher.SetOpen)
	source := captureConfig(cfg, log)
	source.Vouch = watch.Vouch
	source.ProgressMore = func() []any { return progress(dispatcher.Stats()) }
	stream, err := capture.New(source, dispatcher)
	if err != nil {
		return err
	}
	ready.Watch(readiness(stream, watch))
	return supervise(ctx, stream.Run, stream.Abandon, dispatcher.Run, watch.Run)
}

// supervise runs stream, which hands messages to publish, and what goes on
// beside them. When ctx ends, stream stops first and the rest goes on until it
// has: what is in flight can still be accepted and confirmed. When stream ends
// otherwise, publish is stopped at once: another instance may have the slot.
// When publish or one beside it ends with an error, stream has nothing to do any
// more, and abandon tells it not to wait for what is in flight.
func supervise(ctx context.Context, stream func(context.Context) error, abandon func(), publish func(context.Context) error, beside ...func(context.Context) error) error {
	streaming, stopStream := context.WithCancelCause(ctx)
	publishing, stopPublish := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	errs := make([]error, 1+len(beside))
	for i, f := range append([]func(context.Context) error{publish}, beside...) {
		wg.Go(func() {
			if errs[i] = f(publishing); errs[i] != nil {
				abandon()
				stopStream(errs[i])
			}
		})
	}
	err := stream(streaming)
	stopPublish()
	wg.Wait()
	stopStream(nil)
	for _, e := range errs {
		// stream returns what Publish said, which is why publish ended.
		if e != nil && !errors.Is(err, e) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// readiness says whether changes flow from the source to Pub/Sub.
func readiness(stream *capture.Capture, watch *publish.Watch) func() (bool, string) {
	var movement service.Movement
	return func() (bool, string) {
		n := stream.Counters()
		waiting := n.WaitingFor.String()
		switch {
		case waiting == "nothing":
			return false, "not streaming"
		case waiting == "slot":
			return false, "waiting for: slot, or the source's answer"
		case !watch.OK():
			return false, "the set-up of Pub/Sub is wrong or wasn't looked at yet: see the log"
		}
		idle := waiting == "source" && n.InFlight == 0
		return movement.Ready(idle, n.Changes+uint64(n.Confirmed)+uint64(n.Received), waiting)
	}
}

// progress is what the progress line says about the dispatcher.
func progress(s publish.Stats) []any {
	var retries int64
	for _, n := range s.Retries {
		retries += n
	}
	waiting := "messages"
	switch {
	case !s.Open:
		waiting = "setup"
	case s.Retrying > 0 && s.InFlight == 0:
		waiting = "retry"
	case s.InFlight > 0:
		waiting = "answer"
	}
	line := []any{
		keyPublishWaitingFor, waiting, "publish_messages", s.Messages, "publish_bytes", s.Bytes,
		"publish_requests", s.Requests, "publish_retries", retries, "requests_in_flight", s.InFlight,
		"keys_retrying", s.Retrying, "keys_resting", s.Resting, "queued_messages", s.QueuedMessages, "queued_bytes", s.QueuedBytes,
	}
	if s.P99 > 0 {
		line = append(line, "publish_p50_ms", s.P50.Milliseconds(), "publish_p99_ms", s.P99.Milliseconds())
	}
	return line
}
