package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cdc/capture/state"
	"cdc/schema"
)

// checkpointer makes what is confirmable durable, and only then raises
// confirmed, which status sends. It is the only user of the state's store while
// the stream runs.
type checkpointer struct {
	cfg       *Config
	store     stateStore
	flight    *flight
	confirmed *atomic.Uint64

	last    time.Time // of the last checkpoint
	failing time.Time // since when it can't be written; zero if it can
	warned  time.Time

	mu        sync.Mutex
	rewritten []state.Table // to be stored
}

// errUnvouched: Config.Vouch says no.
var errUnvouched = errors.New("what was accepted isn't confirmed")

// writeTimeout bounds one write of the state.
const writeTimeout = 30 * time.Second

// noteRewritten has tables stored whose storage alone is new.
func (c *checkpointer) noteRewritten(tables []state.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rewritten = append(c.rewritten, tables...)
}

// due says whether it is time to write lsn. If only keepalives moved it, the
// pace is slower: the checkpoint itself makes WAL, which moves them again.
func (c *checkpointer) due(now time.Time, lsn, published, stored schema.LSN) bool {
	since, ahead := now.Sub(c.last), int64(lsn)-int64(stored)
	switch {
	case ahead <= 0:
		return false
	case published > stored:
		return since >= c.cfg.pace.confirmEvery || ahead >= c.cfg.pace.confirmBytes
	default:
		return since >= c.cfg.pace.idleConfirmEvery || ahead >= c.cfg.pace.idleConfirmBytes
	}
}

// run writes what is due until ctx is cancelled. It returns an error only if
// another instance has taken the state over, or if what was accepted can't be
// counted on; a state that can't be written is
// tried again and complained about: nothing is confirmed meanwhile.
func (c *checkpointer) run(ctx context.Context) error {
	ticker := time.NewTicker(c.cfg.pace.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := time.Now()
		lsn, published := c.flight.confirmable()
		due := c.due(now, lsn, published, schema.LSN(c.confirmed.Load()))
		if !c.failing.IsZero() && now.Sub(c.warned) < time.Second {
			continue // a store that fails is tried once a second
		}
		if err := c.write(ctx, due); err != nil {
			if errors.Is(err, state.ErrSuperseded) {
				return &Error{lost: true, cause: err, finding: blocking(state.ErrSuperseded.Code(), state.ErrSuperseded.Fix(), "the state isn't ours any more")}
			}
			if errors.Is(err, errUnvouched) && hasCode(err) {
				return err
			}
			if ctx.Err() == nil {
				c.complain(ctx, now, err)
			}
		}
	}
}

// write stores rewritten tables and, if due, the checkpoint.
func (c *checkpointer) write(ctx context.Context, due bool) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	c.mu.Lock()
	tables := c.rewritten
	c.mu.Unlock()
	for _, t := range tables {
		if err := c.store.SaveTable(ctx, t); err != nil {
			return err
		}
		c.mu.Lock()
		c.rewritten = c.rewritten[1:]
		c.mu.Unlock()
	}
	if !due {
		return nil
	}
	lsn, _ := c.flight.confirmable()
	if uint64(lsn) <= c.confirmed.Load() {
		return nil
	}
	// Asked after lsn was read: what it covers was accepted before.
	if err := c.cfg.Vouch(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUnvouched, err)
	}
	if err := c.store.Checkpoint(ctx, lsn); err != nil {
		return err
	}
	c.confirmed.Store(uint64(lsn))
	c.last, c.failing = time.Now(), time.Time{}
	return nil
}

func (c *checkpointer) complain(ctx context.Context, now time.Time, err error) {
	if c.failing.IsZero() {
		c.failing = now
	}
	c.warned = now
	since := now.Sub(c.failing)
	if since < time.Minute {
		c.cfg.Log.WarnContext(ctx, EventStateUnwritable, "error", err.Error(), "since_ms", since.Milliseconds())
		return
	}
	code, fix := "state_unwritable", "make the state's schema or file writable again: until then the source keeps its WAL"
	if errors.Is(err, errUnvouched) {
		code, fix = "pubsub_unchecked", "let cdc-publisher reach Pub/Sub and look at its topics and subscriptions: until then the source keeps its WAL"
	}
	c.cfg.Log.ErrorContext(ctx, EventStateUnwritable, "error", err.Error(), "since_ms", since.Milliseconds(), "code", code, "fix", fix)
}

// final writes the last checkpoint; run has ended.
func (c *checkpointer) final(ctx context.Context) error {
	if err := c.write(ctx, true); err != nil {
		return fmt.Errorf("write the last checkpoint: %w", err)
	}
	return nil
}
