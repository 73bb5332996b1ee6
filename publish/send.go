package publish

import (
	"context"
	"log/slog"
	"time"

	"cdc/publish/queue"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

const publishMethod = "/google.pubsub.v1.Publisher/Publish"

type request = queue.Request[item]

// spawn starts a worker if there is a request to send and nobody on the way to
// fetch it; that worker spawns the next. The caller holds mu.
func (d *Dispatcher) spawn(now queue.Instant) {
	if d.running == nil || d.looking > 0 || d.stopped.Err() != nil || !d.queue.Sendable(now) {
		return
	}
	d.looking++
	ctx := d.running
	d.workers.Go(func() { d.work(ctx) })
}

// work sends requests until there is none to send.
func (d *Dispatcher) work(ctx context.Context) {
	for {
		r, ok := d.take()
		if !ok {
			return
		}
		resp, err := d.attempt(ctx, r)
		if err == nil {
			err = d.accept(r, resp)
		}
		if err != nil {
			d.fail(ctx, r, err)
		}
	}
}

// take fetches the next request; without one the worker is over.
func (d *Dispatcher) take() (request, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking--
	if d.stopped.Err() != nil {
		return request{}, false
	}
	now := d.now()
	r, ok := d.queue.Next(now)
	if ok {
		d.counts.requests++
		d.spawn(now)
	}
	d.pokeTimer() // what the timer was set for, or left to this worker, may be gone
	return r, ok
}

// attempt sends r once. It waits for a connection within the attempt's timeout:
// otherwise every queued key would fail at once when the connection is lost.
func (d *Dispatcher) attempt(ctx context.Context, r request) (*wireResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.AttemptTimeout)
	defer cancel()
	resp := new(wireResponse)
	err := d.conn.Invoke(ctx, publishMethod, newRequest(d.topic, r.Items, time.Now()), resp,
		grpc.ForceCodecV2(codec{}), grpc.WaitForReady(true))
	return resp, err
}

// accept passes on that all of r is stored, unless the gate has been shut
// meanwhile (and perhaps opened again): then r is sent again.
func (d *Dispatcher) accept(r request, resp *wireResponse) error {
	ids := 0
	if err := resp.each(func([]byte) { ids++ }); err != nil {
		return err
	}
	if ids != len(r.Items) {
		return errBadResponse
	}
	d.mu.Lock()
	if !d.queue.Counts(r) {
		d.queue.Again(r, d.now())
		d.looking++
		d.pokeTimer()
		d.mu.Unlock()
		return nil
	}
	d.mu.Unlock()

	d.logPublished(r, resp)
	var cost int64
	for i := range r.Items {
		cost += d.cost(r.Items[i].Bytes)
		r.Items[i].Message.accepted(r.Items[i].Message.tag)
	}
	d.queued.Release(cost)

	d.mu.Lock()
	now := d.now()
	for i := range r.Items {
		d.counts.latency.add(now - r.Items[i].Message.pushed)
	}
	d.counts.messages += int64(len(r.Items))
	d.counts.bytes += int64(r.Bytes)
	d.queue.Done(r, now)
	d.looking++
	d.pokeTimer()
	recovered, retries := d.trouble.success(r.Failures > 0, d.queue.Retrying())
	d.mu.Unlock()
	clear(r.Items) // nobody else sees this part of the lane's array any more
	if recovered {
		d.log.Info(EventRecovered, "retries", retries)
	}
	return nil
}

// fail puts r back for another try, or ends Run.
func (d *Dispatcher) fail(ctx context.Context, r request, err error) {
	var (
		code  codes.Code
		fatal *Error
	)
	if ctx.Err() == nil {
		code, fatal = classify(err, d.cfg.Topic, r.Key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking++
	now := d.now()
	if ctx.Err() != nil || fatal != nil {
		d.queue.Again(r, now)
		if fatal == nil {
			d.stop(ErrStopped)
		} else {
			d.stop(fatal)
		}
		return
	}
	d.counts.retry(code)
	d.queue.Failed(r, now+d.pause(r.Failures))
	d.pokeTimer()
	if d.trouble.failure(now) {
		d.log.Warn(EventRetrying, "grpc_code", code.String(), "detail", detail(err, r.Key),
			"retries", d.trouble.retries, "keys_retrying", d.queue.Retrying())
	}
}

// pause is the random pause after a failed attempt that so many others went
// before: gax's, without keeping a Backoff for every key that fails.
func (d *Dispatcher) pause(before int) time.Duration {
	most := d.cfg.BackoffInitial
	for range before {
		if most >= d.cfg.BackoffMax {
			break
		}
		most *= 2
	}
	most = min(most, d.cfg.BackoffMax)
	backoff := gax.Backoff{Initial: most, Max: most}
	return backoff.Pause()
}

// logPublished logs the message IDs and Positions of r at level Debug, which can
// be switched on while running.
func (d *Dispatcher) logPublished(r request, resp *wireResponse) {
	if !d.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	i := 0
	_ = resp.each(func(id []byte) { // walked before, without an error
		d.log.Debug(EventPublished, "message_id", string(id), "position", r.Items[i].Message.position.String())
		i++
	})
}
