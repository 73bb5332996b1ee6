package publish

import (
	"context"
	"log/slog"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

const publishMethod = "/google.pubsub.v1.Publisher/Publish"

// spawn starts a worker if there is a request to send and nobody on the way to
// fetch it; that worker spawns the next. The caller holds mu.
func (d *Dispatcher) spawn(now instant) {
	if d.running == nil || d.looking > 0 || d.stopped.Err() != nil || !d.queue.sendable(now) {
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
	r, ok := d.queue.next(now)
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
	err := d.conn.Invoke(ctx, publishMethod, newRequest(d.topic, r.items, time.Now()), resp,
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
	if ids != len(r.items) {
		return errBadResponse
	}
	d.mu.Lock()
	if !d.queue.counts(r) {
		d.queue.failed(r, d.now())
		d.looking++
		d.pokeTimer()
		d.mu.Unlock()
		return nil
	}
	d.mu.Unlock()

	d.logPublished(r, resp)
	var cost int64
	for i := range r.items {
		cost += d.cost(r.items[i])
		r.items[i].accepted(r.items[i].tag)
	}
	d.queued.Release(cost)

	d.mu.Lock()
	now := d.now()
	for i := range r.items {
		d.counts.latency.add(now - r.items[i].pushed)
	}
	d.counts.messages += int64(len(r.items))
	d.counts.bytes += int64(r.bytes)
	retried := r.lane.backoff != nil
	d.queue.done(r, now)
	d.looking++
	d.pokeTimer()
	recovered, retries := d.trouble.success(retried, d.queue.slots-d.queue.flying)
	d.mu.Unlock()
	clear(r.items) // nobody else sees this part of the lane's array any more
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
		code, fatal = classify(err, d.cfg.Topic, r.lane.key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking++
	now := d.now()
	if ctx.Err() != nil || fatal != nil {
		d.queue.failed(r, now)
		if fatal == nil {
			d.stop(ErrStopped)
		} else {
			d.stop(fatal)
		}
		return
	}
	d.counts.retry(code)
	if r.lane.backoff == nil {
		r.lane.backoff = d.newBackoff()
	}
	d.queue.failed(r, now+r.lane.backoff.Pause())
	d.pokeTimer()
	if d.trouble.failure(now) {
		d.log.Warn(EventRetrying, "grpc_code", code.String(), "detail", detail(err, r.lane.key),
			"retries", d.trouble.retries, "keys_retrying", d.queue.slots-d.queue.flying)
	}
}

func (d *Dispatcher) newBackoff() *gax.Backoff {
	return &gax.Backoff{Initial: d.cfg.BackoffInitial, Max: d.cfg.BackoffMax, Multiplier: 2}
}

// logPublished logs the message IDs and Positions of r at level Debug, which can
// be switched on while running.
func (d *Dispatcher) logPublished(r request, resp *wireResponse) {
	if !d.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	i := 0
	_ = resp.each(func(id []byte) { // walked before, without an error
		d.log.Debug(EventPublished, "message_id", string(id), "position", r.items[i].position.String())
		i++
	})
}
