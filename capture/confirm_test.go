package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"cdc/schema"
	"cdc/schema/schematest"
)

// The slot's confirmed LSN never passes a transaction of which something isn't
// accepted, whatever the order of acceptance.
func TestConfirmedNeverPassesAccepted(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	cfg.pace.confirmEvery, cfg.pace.tick = time.Millisecond, time.Millisecond
	mustInit(t, cfg)
	r := newRecorder(t, 50*time.Millisecond)
	run := start(t, cfg, r)
	confirmed := func() schema.LSN {
		text := query[string](d, `SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = $1`, cfg.Slot)
		lsn, err := schema.ParseLSN(text)
		if err != nil {
			t.Fatal(err)
		}
		return lsn
	}
	// The slot is read first: what is accepted only grows meanwhile.
	check := func() {
		t.Helper()
		lsn := confirmed()
		checkpoint := query[string](d, `SELECT checkpoint::text FROM cdc.state`)
		if stored, _ := schema.ParseLSN(checkpoint); lsn > stored {
			t.Errorf("confirmed %s is above the checkpoint %s", lsn, stored)
		}
	}
	// What was unaccepted before the slot is read may not be confirmed by it.
	var promise schematest.Confirmed
	told := 0
	tell := func() {
		all := r.snapshot()
		for _, m := range all[told:] {
			promise.Commit(m.attrs.Position.CommitLSN+1, m.attrs.Position)
		}
		told = len(all)
		lsn := confirmed()
		for _, m := range r.snapshot() {
			if m.accepted {
				promise.Accept(m.attrs.Position)
			}
		}
		promise.Add(lsn)
	}
	for i := range 60 {
		d.exec(fmt.Sprintf(`INSERT INTO t SELECT g FROM generate_series(%d, %d) g`, i*100, i*100+r.rng.IntN(50)))
		check()
		tell()
	}
	if !promise.OK() {
		t.Errorf("%d confirmed and not accepted: %v", promise.Missing, promise.Findings())
	}
	// Held: the confirmed LSN stands still.
	r.mu.Lock()
	r.hold = true
	r.mu.Unlock()
	n := r.len()
	d.exec(`INSERT INTO t VALUES (-1)`)
	eventually(t, "held message", func() bool { return r.len() > n })
	low := r.snapshot()[r.len()-1].attrs.Position.CommitLSN
	d.exec(`CREATE TABLE IF NOT EXISTS noise (id int); DROP TABLE noise`)
	time.Sleep(300 * time.Millisecond) // many paces
	if lsn := confirmed(); lsn > low {
		t.Errorf("confirmed %s, the held transaction commits at %s", lsn, low)
	}
	r.release()
	eventually(t, "confirmed after release", func() bool { return confirmed() > low })
	run.stop()
	check()
}

// With nothing to capture the slot still moves on while others write WAL.
func TestIdleSlotMovesOn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`, `CREATE SCHEMA other; CREATE TABLE other.busy (id int, v text)`)
	cfg := d.config()
	mustInit(t, cfg)
	run := start(t, cfg, newRecorder(t, 0))
	d.exec(`INSERT INTO other.busy SELECT g, repeat('x', 100) FROM generate_series(1, 10000) g`)
	target := query[string](d, `SELECT pg_current_wal_lsn()::text`)
	eventually(t, "slot moved on", func() bool {
		return query[bool](d, `SELECT confirmed_flush_lsn >= $1::pg_lsn FROM pg_replication_slots WHERE slot_name = $2`, target, cfg.Slot)
	})
	run.stop()
}

// A publisher that blocks for longer than wal_sender_timeout doesn't cost the
// connection.
func TestBlockedPublisher(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"publish blocks", "window is full"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
			cfg := d.config()
			cfg.SenderTimeout = time.Second
			mustInit(t, cfg)
			r := newRecorder(t, 0)
			want := WaitingWindow
			if what == "publish blocks" {
				r.blocked, want = make(chan struct{}), WaitingPublisher
			} else {
				r.hold, cfg.WindowBytes = true, 1
			}
			run := start(t, cfg, r)
			d.exec(`INSERT INTO t SELECT generate_series(1, 200)`)
			eventually(t, what, func() bool { return run.capture.Counters().WaitingFor == want })
			pid := query[int](d, `SELECT active_pid FROM pg_replication_slots WHERE slot_name = $1`, cfg.Slot)
			time.Sleep(3 * time.Second) // three timeouts; nothing but time can show it
			if now := query[int](d, `SELECT coalesce(active_pid, 0) FROM pg_replication_slots WHERE slot_name = $1`, cfg.Slot); now != pid {
				t.Fatal("the walsender is gone")
			}
			if r.hold {
				r.release()
			} else {
				r.mu.Lock()
				blocked := r.blocked
				r.blocked = nil
				r.mu.Unlock()
				close(blocked)
			}
			eventually(t, "all rows", func() bool { return r.len() == 200 })
			run.stop()
			d.mustAgree(r.snapshot(), "public.t")
		})
	}
}

// A second instance waits for the slot and takes over; the first, should it come
// back, can't write the state any more.
func TestSecondInstanceTakesOver(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log = slog.New(log)
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	first := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "first row", func() bool { return r.len() == 1 })
	old := cfg.openState()
	defer closeStore(old)
	second := start(t, cfg, r)
	eventually(t, "second waits", func() bool { return log.count(EventSlotInUse) >= 2 })
	d.exec(`INSERT INTO t VALUES (2)`)
	eventually(t, "second row by the first", func() bool { return r.len() == 2 })
	if got := second.capture.Counters().WaitingFor; got != WaitingSlot {
		t.Errorf("the second waits for %v", got)
	}
	first.stop()
	d.exec(`INSERT INTO t VALUES (3)`)
	eventually(t, "third row", func() bool { return len(r.rows()["public.t"]) == 3 })
	if n := second.capture.Counters().Changes; n != 1 {
		t.Errorf("the second handed on %d changes, want 1", n)
	}
	second.stop()
}

// Whoever takes the state over ends the one that had it.
func TestSupersededInstanceStops(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log = slog.New(log)
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "first row", func() bool { return r.len() == 1 })
	other := cfg.openState()
	defer closeStore(other)
	if _, err := other.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.exec(`INSERT INTO t VALUES (2)`)
	if got := codeOf(t, run.wait()); got != "superseded" {
		t.Errorf("got %q", got)
	}
	if n := log.count(EventStopping) + log.count(EventStopped); n > 0 { // the other one has the stream's end
		t.Errorf("%d times said to be stopping in order", n)
	}
}

// The memory of a big transaction doesn't depend on its size.
func TestBigTransaction(t *testing.T) {
	const rows = 200_000
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY, v text)`)
	cfg := d.config()
	cfg.WindowBytes = 1 << 20
	mustInit(t, cfg)
	p := &lagging{}
	run := start(t, cfg, p)
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	d.exec(fmt.Sprintf(`INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, %d) g`, rows))
	highest, largest := uint64(0), int64(0)
	eventually(t, "all rows", func() bool {
		runtime.ReadMemStats(&now)
		n := run.capture.Counters()
		highest, largest = max(highest, now.HeapInuse), max(largest, n.InFlightSize)
		return n.Transactions == 1
	})
	run.stop()
	if n := run.capture.Counters().Changes; n != rows {
		t.Errorf("%d changes", n)
	}
	if grown := int64(highest) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if largest > cfg.WindowBytes+1<<20 {
		t.Errorf("%d bytes in flight", largest)
	}
	t.Logf("heap in use grew by %d KiB, at most %d KiB in flight", (int64(highest)-int64(before.HeapInuse))>>10, largest>>10)
}

// lagging accepts messages in their order from another goroutine, at most 500
// behind.
type lagging struct{ held chan func() }

func (l *lagging) Publish(_ context.Context, _ *schema.Message, tag uint64, accepted func(uint64)) error {
	if l.held == nil {
		l.held = make(chan func(), 500)
		go func() {
			for f := range l.held {
				f()
			}
		}()
	}
	l.held <- func() { accepted(tag) }
	return nil
}

// null accepts at once and copies nothing.
type null struct{}

func (null) Publish(_ context.Context, _ *schema.Message, tag uint64, accepted func(uint64)) error {
	accepted(tag)
	return nil
}

// A state that can't be written confirms nothing and is complained about; once it
// can be written again, confirming goes on.
func TestStateUnwritable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log = slog.New(log)
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	eventually(t, "streaming", func() bool { return run.capture.Counters().WaitingFor == WaitingSource })
	d.admin(`ALTER TABLE cdc.state RENAME TO away`)
	before := run.capture.Counters().Confirmed
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "complaint", func() bool { return log.count(EventStateUnwritable) > 0 })
	if now := run.capture.Counters().Confirmed; now != before {
		t.Errorf("confirmed moved from %s to %s", before, now)
	}
	d.admin(`ALTER TABLE cdc.away RENAME TO state`)
	eventually(t, "confirmed", func() bool { return run.capture.Counters().Confirmed > before })
	run.stop()
}

// The replication connection dies under load: Run returns at once, the next start
// repeats what wasn't confirmed, and nothing is lost.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 10*time.Millisecond)
	for i := range 4 {
		run := start(t, cfg, r)
		n := r.len()
		d.exec(fmt.Sprintf(`INSERT INTO t SELECT g FROM generate_series(%d, %d) g`, i*1000, i*1000+999))
		eventually(t, "messages", func() bool { return r.len() > n+100*i })
		d.admin(`SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '` + cfg.Slot + `'`)
		if got := codeOf(t, run.wait()); got != "connection_lost" {
			t.Fatalf("got %q", got)
		}
		d.slotIdle(cfg.Slot)
	}
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (-1)`)
	eventually(t, "last row", func() bool { _, ok := r.rows()["public.t"]["-1"]; return ok })
	run.stop()
	d.mustAgree(r.snapshot(), "public.t")
}

// What was accepted is confirmed only if it is vouched for: an error that passes
// holds it back, one with a code ends Run, and the next start sends it again.
func TestUnvouchedIsNotConfirmed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log, cfg.StopTimeout = slog.New(log), time.Hour
	var verdict atomic.Pointer[error]
	cfg.Vouch = func(context.Context) error {
		if err := verdict.Load(); err != nil {
			return *err
		}
		return nil
	}
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	eventually(t, "streaming", func() bool { return run.capture.Counters().WaitingFor == WaitingSource })
	passing := errors.New("unavailable")
	verdict.Store(&passing)
	complaints := log.count(EventStateUnwritable)
	eventually(t, "complaint", func() bool { return log.count(EventStateUnwritable) > complaints })
	before := run.capture.Counters().Confirmed
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "message", func() bool { return r.len() == 1 })
	r.mu.Lock()
	r.hold = true
	r.mu.Unlock()
	d.exec(`INSERT INTO t VALUES (2)`) // in flight for ever: Run doesn't wait for it
	eventually(t, "message in flight", func() bool { return r.len() == 2 })
	var fatal error = &Error{finding: blocking("subscription_missing", "create it", "no subscription")}
	verdict.Store(&fatal)
	if err := run.wait(); codeOf(t, err) != "subscription_missing" {
		t.Errorf("ended with %v", err)
	}
	if now := query[string](d, `SELECT checkpoint::text FROM cdc.state`); now != before.String() {
		t.Errorf("checkpoint %s, was %s", now, before)
	}
	verdict.Store(nil)
	r.release()
	d.slotIdle(cfg.Slot)
	run = start(t, cfg, r)
	eventually(t, "both messages again", func() bool { return r.len() == 4 })
	eventually(t, "confirmed", func() bool { return run.capture.Counters().Confirmed > before })
	run.stop()
}
