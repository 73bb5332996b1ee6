package capture

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"cdc/capture/postgrestest"
)

// As a synchronous standby we would wait for ourselves.
func TestSynchronousStandbyIsRefused(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	d := newDatabaseOn(t, own, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log = slog.New(log)
	mustInit(t, cfg)
	run := start(t, cfg, newRecorder(t, 0))
	eventually(t, "streaming", func() bool { return run.capture.Counters().WaitingFor == WaitingSource })
	d.admin(`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`)
	if got := codeOf(t, run.wait()); got != "synchronous_standby" {
		t.Errorf("got %q", got)
	}
	if got := codeOf(t, start(t, cfg, newRecorder(t, 0)).wait()); got != "synchronous_standby" {
		t.Errorf("at the start: %q", got)
	}
	if n := log.count(EventStreaming); n != 1 {
		t.Errorf("streamed %d times, want once: the second start is refused before", n)
	}
}

// A transaction is streamed before it is visible: while its COMMIT waits for a
// synchronous standby the catalog still shows the table as it was.
func TestCatalogIsReadOnceVisible(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	d := newDatabaseOn(t, own, `CREATE TABLE t (id int PRIMARY KEY, v text)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1, 'v')`)
	eventually(t, "first row", func() bool { return r.len() == 1 })

	d.admin(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`, `SELECT pg_reload_conf()`)
	eventually(t, "commits wait for a standby", func() bool {
		conn := own.Conn(t, d.name)
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := conn.Exec(short, `SELECT pg_logical_emit_message(true, 'probe', '')`)
		return err != nil
	})
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		// The columns look the same on the stream and are others in the catalog.
		d.exec(`BEGIN; ALTER TABLE t DROP v; ALTER TABLE t ADD v text; UPDATE t SET v = 'w'; COMMIT`)
	}()
	eventually(t, "waiting for the catalog", func() bool { return run.capture.Counters().WaitingFor == WaitingCatalog })
	if n := r.len(); n != 1 {
		t.Fatalf("%d messages handed on before the catalog could be asked, want 1", n)
	}
	d.admin(`ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`)
	<-committed
	if got := codeOf(t, run.wait()); got != "schema_changed" {
		t.Errorf("stopped with %q", got)
	}
	if n := r.len(); n != 1 {
		t.Errorf("%d messages handed on, want 1", n)
	}
}

// The progress line says what the stream waits for.
func TestProgress(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log, cfg.ProgressEvery = slog.New(log), 5*time.Millisecond
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	r.hold, cfg.WindowBytes = true, 1
	run := start(t, cfg, r)
	eventually(t, "waiting for the source", func() bool { return log.attr(EventProgress, "waiting_for") == "source" })
	d.exec(`INSERT INTO t VALUES (1), (2)`)
	eventually(t, "waiting for the window", func() bool { return log.attr(EventProgress, "waiting_for") == "window" })
	if n := log.attr(EventProgress, "in_flight_messages"); n != "1" {
		t.Errorf("in flight: %s", n)
	}
	r.release()
	eventually(t, "waiting for the source again", func() bool { return log.attr(EventProgress, "waiting_for") == "source" })
	run.stop()
	if log.count(EventStreaming) != 1 || log.count(EventStopped) != 1 || log.attr(EventStopped, "changes") != "2" {
		t.Errorf("streaming %d, stopped %d, changes %s", log.count(EventStreaming), log.count(EventStopped), log.attr(EventStopped, "changes"))
	}
}

// A stop doesn't wait for ever for a publisher that accepts nothing; the next
// start hands the same on again.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log, cfg.StopTimeout = slog.New(log), 100*time.Millisecond
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	r.hold = true
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "message", func() bool { return r.len() == 1 })
	run.stop()
	if log.count(EventStopIncomplete) != 1 {
		t.Error("it isn't said")
	}
	r.release() // into a window that nobody looks at any more
	run = start(t, cfg, r)
	eventually(t, "the same message", func() bool { return r.len() == 2 })
	run.stop()
	r.checkOrder()
}
