package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cdc/schema"
)

// errStop is the cause when Run's own context was cancelled.
var errStop = errors.New("asked to stop")

// stream runs the goroutines of a session (see the package comment) and ends
// them in order.
func (c *Capture) stream(ctx context.Context, s *session) error {
	in := s.in
	tables, err := c.knownTables(in)
	if err != nil {
		return err
	}
	f := newFlight(c.cfg.WindowBytes, in.state.Checkpoint)
	c.flight.Store(f)
	c.counters.confirmed.Store(uint64(in.state.Checkpoint))
	conn := s.replication.PgConn()

	// receiving ends first and has a cause; the rest works on until everything is
	// accepted or the time is over.
	receiving, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { stop(errStop) })()
	working, finish := context.WithCancel(context.WithoutCancel(ctx))
	defer finish()
	// A read without a deadline is woken by setting one in the past.
	defer context.AfterFunc(receiving, func() { _ = conn.Conn().SetReadDeadline(time.Unix(1, 0)) })()

	points := &checkpointer{cfg: &c.cfg, store: s.store, flight: f, confirmed: &c.counters.confirmed, last: time.Now()}
	updates := newStatus(&c.cfg, conn, &c.counters.confirmed)
	w := newWatch(&c.cfg, s.query, conn.PID(), in.state.Tables, points.noteRewritten, in.server.XID)
	if len(in.rewritten) > 0 {
		w.note(ctx, in.rewritten)
	}
	st := &stream{
		ctx: receiving, cfg: &c.cfg, conn: conn, publisher: c.publisher, flight: f, phase: &c.phase, counters: &c.counters,
		check: w.check, reference: &w.xid, reply: updates.request, accepted: f.accepted, epoch: in.state.Epoch, tables: tables, relations: map[uint32]*relation{},
	}
	c.cfg.Log.InfoContext(ctx, EventStreaming, "slot", c.cfg.Slot, "publication", c.cfg.Publication, "tables", len(tables),
		"epoch", in.state.Epoch, "checkpoint", in.state.Checkpoint.String(), "confirmed", in.slot.ConfirmedFlush.String())

	var wg sync.WaitGroup
	end := func(err error) {
		if err == nil {
			return
		}
		stop(err)
		if isLost(err) {
			if sqlState(err) == stateAdminShutdown {
				c.cfg.Log.WarnContext(working, EventServerShutdown)
			}
			_ = conn.Conn().Close() // at once: the server may be waiting for it
			finish()
		}
	}
	wg.Go(func() { end(w.run(working)) })
	wg.Go(func() { end(updates.run(working, &c.cfg, &c.phase)) })
	wg.Go(func() { end(points.run(working)) })
	wg.Go(func() { c.progress(working) })

	c.phase.set(WaitingSource)
	err = st.receive()
	stop(err)
	if cause := context.Cause(receiving); cause != nil {
		err = cause // the first reason, whatever came of it
	}
	if !isLost(err) && !errors.Is(err, errUnvouched) { // else nothing is confirmed any more
		c.settle(working, f)
	}
	finish()
	wg.Wait()
	if isLost(err) {
		return err
	}
	return c.finish(ctx, err, points, updates)
}

// settle waits until what was handed on is accepted, for a bounded time and for
// as long as there is a publisher.
func (c *Capture) settle(working context.Context, f *flight) {
	_, messages := f.load()
	c.cfg.Log.InfoContext(working, EventStopping, "in_flight_messages", messages, "limit_ms", c.cfg.StopTimeout.Milliseconds())
	ctx, cancel := context.WithTimeout(working, c.cfg.StopTimeout)
	defer cancel()
	defer context.AfterFunc(c.abandoned, cancel)()
	if f.settle(ctx) != nil {
		_, messages = f.load()
		c.cfg.Log.WarnContext(working, EventStopIncomplete, "in_flight_messages", messages)
	}
}

// finish writes and sends the last checkpoint. The goroutines have ended.
func (c *Capture) finish(ctx context.Context, reason error, points *checkpointer, updates *status) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := points.final(ctx)
	if err == nil {
		err = updates.send(time.Now())
	}
	if err == nil {
		err = updates.leave(ctx)
	}
	n := c.Counters()
	c.cfg.Log.InfoContext(ctx, EventStopped, "confirmed", schema.LSN(c.counters.confirmed.Load()).String(),
		"changes", n.Changes, "transactions", n.Transactions)
	if reason != nil && !errors.Is(reason, errStop) {
		return reason
	}
	if err != nil {
		// Everything is as after a crash, which the next start handles.
		c.cfg.Log.WarnContext(ctx, EventStopIncomplete, "in_flight_messages", n.InFlight, "error", fmt.Sprint(err))
	}
	return nil
}
