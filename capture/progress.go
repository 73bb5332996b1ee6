package capture

import (
	"context"
	"sync/atomic"
	"time"

	"cdc/schema"
)

// WaitingFor says what the stream waits for at this moment.
type WaitingFor int32

// What Counters.WaitingFor and the progress line name. While it is WaitingSource
// the stream keeps up; the others last for moments unless something is stuck.
const (
	WaitingSlot      WaitingFor = iota // another instance holds it, or we are connecting
	WaitingSource                      // for the next message of the server
	WaitingWindow                      // for messages in flight to be accepted
	WaitingPublisher                   // for the publisher to take a message
	WaitingCatalog                     // for a look at the catalog
	WaitingNothing                     // Run isn't running
)

// String returns one of slot, source, window, publisher, catalog and nothing.
func (w WaitingFor) String() string {
	return [...]string{"slot", "source", "window", "publisher", "catalog", "nothing"}[w]
}

// phase is what the receiving goroutine does, for others to read.
type phase struct {
	now   atomic.Int32
	heard atomic.Bool
}

func (p *phase) set(w WaitingFor) { p.now.Store(int32(w)) }
func (p *phase) get() WaitingFor  { return WaitingFor(p.now.Load()) }
func (p *phase) touch()           { p.heard.Store(true) }

// alive reports whether the stream has moved since the last call, or can't move
// because it waits for something else than the server.
func (p *phase) alive() bool { return p.heard.Swap(false) || p.get() != WaitingSource }

type counters struct {
	changes      atomic.Uint64
	transactions atomic.Uint64
	received     atomic.Uint64 // LSN
	confirmed    atomic.Uint64 // LSN, checkpoint durable
}

// Counters is a reading of what Run has done so far.
type Counters struct {
	WaitingFor   WaitingFor
	Changes      uint64 // handed to the publisher, repeated ones too
	Transactions uint64
	InFlight     int64 // messages
	InFlightSize int64 // bytes
	Received     schema.LSN
	Confirmed    schema.LSN
}

// Counters returns the counters; any goroutine may call it.
func (c *Capture) Counters() Counters {
	n := Counters{
		WaitingFor: c.phase.get(), Changes: c.counters.changes.Load(), Transactions: c.counters.transactions.Load(),
		Received: schema.LSN(c.counters.received.Load()), Confirmed: schema.LSN(c.counters.confirmed.Load()),
	}
	if f := c.flight.Load(); f != nil {
		n.InFlightSize, n.InFlight = f.load()
	}
	return n
}

// progress logs a line every so often until ctx is cancelled.
func (c *Capture) progress(ctx context.Context) {
	ticker := time.NewTicker(c.cfg.ProgressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n := c.Counters()
		line := []any{
			"waiting_for", n.WaitingFor.String(), "changes", n.Changes, "transactions", n.Transactions,
			"in_flight_messages", n.InFlight, "in_flight_bytes", n.InFlightSize,
			"unconfirmed_bytes", int64(n.Received) - int64(n.Confirmed), "received", n.Received.String(), "confirmed", n.Confirmed.String(),
		}
		if c.cfg.ProgressMore != nil {
			line = append(line, c.cfg.ProgressMore()...)
		}
		c.cfg.Log.InfoContext(ctx, EventProgress, line...)
	}
}
