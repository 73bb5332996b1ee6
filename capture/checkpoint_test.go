package capture

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"cdc/capture/state"
	"cdc/schema"
)

// memory is a store that keeps what is written, in order.
type memory struct {
	stateStore
	written []schema.LSN
	tables  []state.Table
	fails   error
}

func (m *memory) Checkpoint(_ context.Context, lsn schema.LSN) error {
	if m.fails == nil {
		m.written = append(m.written, lsn)
	}
	return m.fails
}

func (m *memory) SaveTable(_ context.Context, t state.Table) error {
	if m.fails == nil {
		m.tables = append(m.tables, t)
	}
	return m.fails
}

// transact hands a transaction of one message on and returns how to accept it.
func transact(f *flight, end schema.LSN) (accept func()) {
	f.begin()
	tag, _ := f.tryAdd(1)
	f.commit(end)
	return func() { f.accepted(uint64(tag)) }
}

// Vouch is asked before each checkpoint, the last one too, about no more than
// what was accepted before it was asked.
func TestVouchBeforeEachCheckpoint(t *testing.T) {
	cfg, err := (&database{name: "x"}).config().withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	m, f := &memory{}, newFlight(1<<20, 10)
	c := &checkpointer{cfg: &cfg, store: m, flight: f, confirmed: &atomic.Uint64{}}
	c.confirmed.Store(10)
	var asked int
	var verdict error
	var meanwhile func()
	cfg.Vouch = func(context.Context) error {
		asked++
		if len(m.written) > 0 && m.written[len(m.written)-1] != schema.LSN(c.confirmed.Load()) {
			t.Error("asked after the checkpoint was written")
		}
		meanwhile()
		return verdict
	}
	write := func(err error, last, want int, lsns ...schema.LSN) {
		t.Helper()
		if err != nil || asked != want || !slices.Equal(m.written, lsns) || c.confirmed.Load() != uint64(last) {
			t.Errorf("%v: asked %d times, written %v, confirmed %d; want %d, %v, %d", err, asked, m.written, c.confirmed.Load(), want, lsns, last)
		}
	}
	accept := transact(f, 20)
	write(c.write(t.Context(), true), 10, 0) // nothing is accepted
	accept()
	write(c.write(t.Context(), false), 10, 0) // nothing is due
	meanwhile = transact(f, 30)
	write(c.write(t.Context(), true), 20, 1, 20)
	meanwhile, verdict = func() {}, errors.New("unknown")
	if err := c.write(t.Context(), true); !errors.Is(err, errUnvouched) {
		t.Errorf("got %v", err)
	}
	if err := c.final(t.Context()); !errors.Is(err, errUnvouched) {
		t.Errorf("got %v", err)
	}
	write(nil, 20, 3, 20)
	verdict, m.fails = nil, errors.New("disk full")
	if err := c.write(t.Context(), true); !errors.Is(err, m.fails) || c.confirmed.Load() != 20 {
		t.Errorf("got %v, confirmed %d", err, c.confirmed.Load())
	}
	m.fails = nil
	write(c.final(t.Context()), 30, 5, 20, 30)
	write(c.final(t.Context()), 30, 5, 20, 30)
}

// Rewritten tables are stored whatever is due, and kept until they are.
func TestRewrittenAreStored(t *testing.T) {
	m := &memory{fails: errors.New("disk full")}
	c := &checkpointer{cfg: &Config{}, store: m, flight: newFlight(1, 10), confirmed: &atomic.Uint64{}}
	c.confirmed.Store(10)
	c.noteRewritten([]state.Table{{OID: 1}, {OID: 2}})
	if err := c.write(t.Context(), false); !errors.Is(err, m.fails) {
		t.Errorf("got %v", err)
	}
	m.fails = nil
	for range 2 {
		if err := c.write(t.Context(), false); err != nil || len(m.tables) != 2 || m.tables[0].OID != 1 || m.tables[1].OID != 2 {
			t.Errorf("%v: stored %v", err, m.tables)
		}
	}
}

// The pace of checkpoints: by time or bytes, and slower if only keepalives moved.
func TestCheckpointIsDue(t *testing.T) {
	now := time.Now()
	c := &checkpointer{cfg: &Config{pace: pace{confirmEvery: time.Second, confirmBytes: 100, idleConfirmEvery: time.Minute, idleConfirmBytes: 1000}}}
	const stored = 5000
	for _, test := range []struct {
		name           string
		since          time.Duration
		lsn, published schema.LSN
		want           bool
	}{
		{"nothing new", time.Hour, stored, stored, false},
		{"below", time.Hour, stored - 1, stored - 1, false},
		{"moved, early", time.Second - 1, stored + 99, stored + 1, false},
		{"moved, in time", time.Second, stored + 1, stored + 1, true},
		{"moved far", 0, stored + 100, stored + 1, true},
		{"keepalives, early", time.Minute - 1, stored + 999, stored, false},
		{"keepalives, in time", time.Minute, stored + 1, stored, true},
		{"keepalives, far", 0, stored + 1000, stored, true},
	} {
		c.last = now.Add(-test.since)
		if got := c.due(now, test.lsn, test.published, stored); got != test.want {
			t.Errorf("%s: due %v, want %v", test.name, got, test.want)
		}
	}
}
