package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cdc/capture/catalog"
	"cdc/capture/state"
	"cdc/schema"
	"cdc/schema/schematest"
)

// The lineage is the same server's, on the same timeline, whose WAL has the
// checkpoint; an idle server's WAL may end just there.
func TestLineage(t *testing.T) {
	st := &state.State{SystemID: "1", Timeline: 3, Checkpoint: 100}
	for _, test := range []struct {
		id   identity
		code string
	}{
		{identity{"1", 3, 100}, ""},
		{identity{"1", 3, 101}, ""},
		{identity{"1", 3, 99}, "wal_behind_checkpoint"},
		{identity{"1", 4, 101}, "another_timeline"},
		{identity{"1", 2, 101}, "another_timeline"},
		{identity{"2", 3, 101}, "another_system"},
		{identity{"2", 4, 99}, "another_system"},
	} {
		if err := firstBlocking(lineage(test.id, st)); codeOrNone(t, err) != test.code {
			t.Errorf("%+v: got %v, want %q", test.id, err, test.code)
		}
	}
}

func codeOrNone(tb testing.TB, err error) string {
	tb.Helper()
	if err == nil {
		return ""
	}
	return codeOf(tb, err)
}

// Check finds a broken lineage and an advanced slot without taking the slot.
func TestCheckFindsLineage(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	mustInit(t, cfg)
	for _, test := range []struct{ code, set string }{
		{"another_system", "system_id = '1'"},
		{"another_timeline", "timeline = 7"},
		{"wal_behind_checkpoint", "checkpoint = 'FFFF/0'"},
		{"slot_advanced", "checkpoint = '0/1'"},
	} {
		d.admin(`CREATE TABLE cdc.kept AS TABLE cdc.state; UPDATE cdc.state SET ` + test.set)
		findings, err := Check(t.Context(), cfg)
		if err := errors.Join(err, firstBlocking(findings)); codeOrNone(t, err) != test.code {
			t.Errorf("%s: %v", test.set, err)
		}
		d.admin(`DELETE FROM cdc.state; INSERT INTO cdc.state TABLE cdc.kept; DROP TABLE cdc.kept`)
	}
}

// What changes between the look at the start and the takeover is found by the
// takeover: until then the former owner was at work.
func TestTakeOverComparesAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, code, act string }{
		{"nothing", "", `SELECT`},
		{"checkpoint went back", "slot_advanced", `UPDATE cdc.state SET checkpoint = '0/1'`},
		{"state removed", "not_initialized", `DELETE FROM cdc.state`},
		{"state half made", "not_initialized", `UPDATE cdc.state SET checkpoint = '0/0'`},
		{"table described anew", "schema_changed", `UPDATE cdc.tables SET fingerprint = 'other'`},
		{"table forgotten", "table_added", `DELETE FROM cdc.tables`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
			cfg := d.config()
			mustInit(t, cfg)
			c, err := New(cfg, null{})
			if err != nil {
				t.Fatal(err)
			}
			s := &session{store: c.cfg.openState()}
			defer s.close()
			if s.query, err = c.cfg.connect(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if s.in, err = c.cfg.inspect(t.Context(), s.query, s.store); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(firstBlocking(s.in.findings), c.startReplication(t.Context(), s)); err != nil {
				t.Fatal(err)
			}
			// From the slot's confirmed LSN: the server skips what lies below another.
			started := query[string](d, `SELECT query FROM pg_stat_activity WHERE pid = $1`, int64(s.replication.PgConn().PID()))
			if !strings.Contains(started, "LOGICAL 0/0 ") {
				t.Errorf("started with %s", started)
			}
			owner := query[int64](d, `SELECT owner FROM cdc.state`)
			d.admin(test.act)
			err = c.takeOver(t.Context(), s)
			if codeOrNone(t, err) != test.code {
				t.Errorf("got %v, want %q", err, test.code)
			}
			if err == nil && (s.in.state.Owner != owner+1 || query[int64](d, `SELECT owner FROM cdc.state`) != owner+1) {
				t.Errorf("owner %d before, then %d", owner, s.in.state.Owner)
			}
		})
	}
}

// The catalog is asked only once the transaction that is on the stream is
// visible: what a look finds earlier is the table as it was before.
func TestLookWaitsForTheTransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY, v text)`)
	cfg := d.config()
	cfg.pace.pollEvery = time.Hour
	mustInit(t, cfg)
	cfg, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := cfg.connect(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer closeConn(conn)
	store := cfg.openState()
	defer closeStore(store)
	in, err := cfg.inspect(t.Context(), conn, store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWatch(&cfg, conn, 0, in.state.Tables, func([]state.Table) {}, in.server.XID)
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	defer func() { cancel(); <-ended }()
	oid := query[uint32](d, `SELECT 'public.t'::regclass::oid`)

	ddl := d.server.Conn(t, d.name)
	var xid int64
	if _, err = ddl.Exec(t.Context(), `BEGIN; ALTER TABLE t DROP v; ALTER TABLE t ADD v text`); err == nil {
		err = ddl.QueryRow(t.Context(), `SELECT pg_current_xact_id()::text::int8`).Scan(&xid)
	}
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() { answer <- w.check(ctx, oid, uint64(xid)) }()
	// Either it is seen to ask for the transaction, or it has looked too early.
	eventually(t, "asking for the transaction", func() bool {
		return len(answer) > 0 || query[bool](d, `SELECT query LIKE '%pg_visible_in_snapshot%' FROM pg_stat_activity WHERE pid = $1`, int64(conn.PgConn().PID()))
	})
	if len(answer) > 0 {
		t.Fatalf("answered before the transaction was visible: %v", <-answer)
	}
	if _, err := ddl.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; codeOf(t, err) != "schema_changed" {
		t.Errorf("got %v", err)
	}
}

// A RELATION of a captured table has the table looked at as the open transaction
// leaves it, and what the look finds ends the stream before a row of it.
func TestRelationAsksWithItsTransaction(t *testing.T) {
	c := schematest.TenColumns()
	r := newRecorder(t, 0)
	s := offline(t, c.Table, r)
	s.reference.Store(5<<32 | 100)
	type look struct {
		oid uint32
		xid uint64
	}
	var looks []look
	verdict := error(nil)
	s.check = func(_ context.Context, oid uint32, xid uint64) error {
		if s.phase.get() != WaitingCatalog {
			t.Errorf("waiting for %s", s.phase.get())
		}
		looks = append(looks, look{oid, xid})
		return verdict
	}
	begin := func(final uint64, xid uint32) frames {
		f := beginFrame(final)
		binary.BigEndian.PutUint32(f[len(f)-4:], xid)
		return f
	}
	relation := relationFrame(testOID, c.Table, 'd')
	feed(t, s, begin(100, 99), relation, commitFrame(100), begin(200, 0xFFFFFFF0), relation, commitFrame(200),
		begin(300, 101), relationFrame(testOID+1, c.Table, 'd')) // of a table that isn't captured nothing is asked
	verdict = &Error{finding: findTableChanged(state.Table{})}
	if err := s.frame(relation); codeOf(t, err) != "schema_changed" {
		t.Errorf("got %v", err)
	}
	want := []look{{testOID, 5<<32 | 99}, {testOID, 4<<32 | 0xFFFFFFF0}, {testOID, 5<<32 | 101}}
	if len(looks) != len(want) {
		t.Fatalf("looks %v, want %v", looks, want)
	}
	for i := range want {
		if looks[i] != want[i] {
			t.Errorf("look %d: %v, want %v", i, looks[i], want[i])
		}
	}
}

// After a lost connection another instance may have the slot: what was accepted
// but not confirmed before isn't confirmed any more.
func TestLostConfirmsNothing(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log, cfg.pace.confirmEvery = slog.New(log), time.Hour
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	eventually(t, "streaming", func() bool { return run.capture.Counters().WaitingFor == WaitingSource })
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "transaction", func() bool { return run.capture.Counters().Transactions == 1 })
	before := query[string](d, `SELECT checkpoint::text FROM cdc.state`)
	d.admin(`SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '` + cfg.Slot + `'`)
	if err := run.wait(); codeOf(t, err) != "connection_lost" {
		t.Errorf("got %v", err)
	}
	if now := query[string](d, `SELECT checkpoint::text FROM cdc.state`); now != before || log.count(EventStopping)+log.count(EventStopped) > 0 {
		t.Errorf("checkpoint %s, was %s; %d times stopping", now, before, log.count(EventStopping))
	}
}

// A stop confirms what is accepted while it waits: first the checkpoint, then the
// slot. Without a publisher it doesn't wait.
func TestStopConfirms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(run *running, r *recorder)
		want int // of two transactions
	}{
		{"accepted meanwhile", func(_ *running, r *recorder) { r.release() }, 2},
		{"abandoned", func(run *running, _ *recorder) { run.capture.Abandon() }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
			cfg := d.config()
			log := &events{}
			cfg.Log, cfg.StopTimeout, cfg.pace.confirmEvery = slog.New(log), time.Hour, time.Hour
			mustInit(t, cfg)
			r := newRecorder(t, 0)
			run := start(t, cfg, r)
			d.exec(`INSERT INTO t VALUES (1)`)
			eventually(t, "first", func() bool { return run.capture.Counters().Transactions == 1 })
			r.mu.Lock()
			r.hold = true
			r.mu.Unlock()
			d.exec(`INSERT INTO t VALUES (2)`)
			eventually(t, "second", func() bool { return run.capture.Counters().Transactions == 2 })
			run.cancel()
			eventually(t, "stopping", func() bool { return log.count(EventStopping) == 1 })
			test.end(run, r)
			if err := run.wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
			if n := log.count(EventStopIncomplete); n != 2-test.want {
				t.Errorf("said to be incomplete %d times", n)
			}
			checkpoint, _ := schema.ParseLSN(query[string](d, `SELECT checkpoint::text FROM cdc.state`))
			slot, err := catalog.ReadSlot(t.Context(), d.server.Conn(t, d.name), cfg.Slot)
			if err != nil {
				t.Fatal(err)
			}
			confirmed := 0
			for _, m := range r.snapshot() {
				if m.attrs.Position.CommitLSN < checkpoint {
					confirmed++
				}
			}
			if slot.ActivePID != 0 {
				t.Error("the server still has the slot in use")
			}
			if confirmed != test.want || slot.ConfirmedFlush != checkpoint {
				t.Errorf("%d transactions below checkpoint %s, want %d; the slot confirms %s", confirmed, checkpoint, test.want, slot.ConfirmedFlush)
			}
		})
	}
}
