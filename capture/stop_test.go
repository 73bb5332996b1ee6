package capture

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// coded is what a person reads at exit.
type coded interface {
	error
	Code() string
	Fix() string
}

// codeOf returns the code of err, and demands a fix beside it.
func codeOf(tb testing.TB, err error) string {
	tb.Helper()
	c, ok := errors.AsType[coded](err)
	if !ok {
		return ""
	}
	if c.Fix() == "" {
		tb.Errorf("%s has no fix", c.Code())
	}
	return c.Code()
}

// events records log messages.
type events struct {
	mu  sync.Mutex
	all []slog.Record
}

func (e *events) Enabled(context.Context, slog.Level) bool { return true }
func (e *events) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e *events) WithGroup(string) slog.Handler            { return e }
func (e *events) Handle(_ context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, r.Clone())
	return nil
}

func (e *events) count(message string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, r := range e.all {
		if r.Message == message {
			n++
		}
	}
	return n
}

// attr returns an attribute of the last event of this message.
func (e *events) attr(message, name string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	value := ""
	for _, r := range e.all {
		if r.Message == message {
			r.Attrs(func(a slog.Attr) bool {
				if a.Key == name {
					value = a.Value.String()
				}
				return true
			})
		}
	}
	return value
}

// What isn't handled stops Run with a code, before the change that it is about is
// handed on, and stops it again at the next start.
func TestStops(t *testing.T) {
	const table = `CREATE TABLE t (id int PRIMARY KEY, v text, big text); ALTER TABLE t ALTER big SET STORAGE EXTERNAL`
	const row = `INSERT INTO t VALUES (1, 'v', repeat('x', 10000))`
	tests := []struct {
		name, code string
		tables     string   // what is configured; public.*
		setup      string   // before Init
		act        []string // after one row has come through
		want       []string // in the error's text
		or         string   // the first stop may have one of these codes instead
	}{
		{name: "truncate", code: "truncated", act: []string{`TRUNCATE t`}, want: []string{"public.t"}},
		{name: "add column", code: "schema_changed", act: []string{`ALTER TABLE t ADD n int`}, want: []string{"public.t"}},
		{name: "add column and write", code: "schema_changed", act: []string{`BEGIN; ALTER TABLE t ADD n int; INSERT INTO t VALUES (2); COMMIT`}},
		{name: "add column with default", code: "schema_changed", act: []string{`ALTER TABLE t ADD n int DEFAULT 42`}},
		{name: "drop column", code: "schema_changed", act: []string{`ALTER TABLE t DROP v`}},
		{name: "column replaced by its like", code: "schema_changed", act: []string{`BEGIN; ALTER TABLE t DROP big; ALTER TABLE t ADD big text; UPDATE t SET v = 'w'; COMMIT`}},
		{name: "rename column", code: "schema_changed", act: []string{`ALTER TABLE t RENAME v TO w`, `UPDATE t SET w = '1', big = ''`}},
		{name: "rename table", code: "schema_changed", act: []string{`ALTER TABLE t RENAME TO s`}},
		{name: "rewrite with new values", code: "schema_changed", act: []string{`ALTER TABLE t ALTER v TYPE text USING v || v`}},
		{name: "drop", code: "table_missing", tables: "public.t", act: []string{`DROP TABLE t`}},
		{name: "drop and recreate", code: "table_missing", act: []string{`DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text, big text)`}},
		{name: "identity lost", code: "schema_changed", act: []string{`ALTER TABLE t REPLICA IDENTITY NOTHING`}},
		{name: "unchanged toast", code: "unchanged_toast", act: []string{`UPDATE t SET v = 'w'`}, want: []string{"public.t", "big"}},
		{
			name: "partition attached", code: "schema_changed", want: []string{"public.p"},
			setup: `CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)`,
			act:   []string{`CREATE TABLE other.p2 (id int PRIMARY KEY); INSERT INTO other.p2 VALUES (11)`, `ALTER TABLE p ATTACH PARTITION other.p2 FOR VALUES FROM (10) TO (20)`},
		},
		{
			name: "partition detached for a while", code: "schema_changed", want: []string{"public.p"},
			setup: `CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)`,
			act:   []string{`ALTER TABLE p DETACH PARTITION p1`, `INSERT INTO p1 VALUES (1)`, `ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10)`},
		},
		{
			name: "out of the publication for a while", code: "schema_changed", or: "table_missing", want: []string{"public.t", "publication"},
			act: []string{`ALTER PUBLICATION {pub} DROP TABLE t`, `INSERT INTO t VALUES (2)`, `ALTER PUBLICATION {pub} ADD TABLE t`},
		},
		{
			name: "publication without inserts for a while", code: "schema_changed", or: "publication_flags", want: []string{"public.t", "publication"},
			act: []string{`ALTER PUBLICATION {pub} SET (publish = 'update, delete, truncate')`, `INSERT INTO t VALUES (2)`, `ALTER PUBLICATION {pub} SET (publish = 'insert, update, delete, truncate')`},
		},
		{
			name: "publication made anew", code: "schema_changed", or: "stream_failed publication_missing", want: []string{"public.t", "publication"},
			act: []string{`DROP PUBLICATION {pub}`, `CREATE PUBLICATION {pub} FOR TABLE t WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)`},
		},
		{name: "published later", code: "table_added", act: []string{`CREATE TABLE o (id int PRIMARY KEY); ALTER PUBLICATION {pub} ADD TABLE o`}},
		{name: "publication dropped", code: "publication_missing", act: []string{`DROP PUBLICATION {pub}`}, or: "stream_failed"},
		{name: "publication loses truncate", code: "publication_flags", act: []string{`ALTER PUBLICATION {pub} SET (publish = 'insert, update, delete')`}},
		{
			name: "not configured", code: "table_not_configured", want: []string{"other.h"},
			act: []string{`CREATE TABLE other.h (id int PRIMARY KEY); ALTER PUBLICATION {pub} ADD TABLE other.h`, `INSERT INTO other.h VALUES (1)`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE SCHEMA other`, table, test.setup)
			cfg := d.config()
			if test.tables != "" {
				cfg.Tables = []TableRule{{Match: test.tables}}
			}
			mustInit(t, cfg)
			r := newRecorder(t, 0)
			run := start(t, cfg, r)
			d.exec(row)
			eventually(t, "first row", func() bool { return r.len() >= 1 })
			for _, sql := range test.act {
				d.exec(strings.ReplaceAll(sql, "{pub}", cfg.Publication))
			}
			check := func(err error) {
				t.Helper()
				if got := codeOf(t, err); got != test.code {
					t.Errorf("stopped with %q (%v), want %q", got, err, test.code)
				} else if !containsAll(err.Error(), test.want...) {
					t.Errorf("error %q doesn't name %v", err, test.want)
				}
			}
			if err := run.wait(); !slices.Contains(strings.Fields(test.or), codeOf(t, err)) {
				check(err)
			}
			handed := r.len()
			check(start(t, cfg, r).wait())
			for _, m := range r.snapshot() {
				if c := m.decode(t); c.after != nil && c.after["v"] != "v" && c.table == "public.t" {
					t.Errorf("a change behind the stop was handed on: %v", c.after["v"])
				}
			}
			if again := r.len(); again > handed {
				t.Errorf("%d messages handed on by the second start", again-handed)
			}
		})
	}
}

// Storage that alone is new is no reason to stop, but it is said, once.
func TestVacuumFullGoesOn(t *testing.T) {
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
	if err := d.server.Exec(t.Context(), d.name, `VACUUM FULL t`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event", func() bool { return log.count(EventRewritten) == 1 })
	d.exec(`INSERT INTO t VALUES (2)`)
	eventually(t, "second row", func() bool { return r.len() == 2 })
	eventually(t, "stored filenode", func() bool {
		return query[bool](d, `SELECT filenode = (SELECT relfilenode FROM pg_class WHERE relname = 't') FROM cdc.tables`)
	})
	run.stop()
	run = start(t, cfg, r)
	eventually(t, "streaming", func() bool { return run.capture.Counters().WaitingFor == WaitingSource })
	run.stop()
	if n := log.count(EventRewritten); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// A slot, state or source that isn't the one that was left refuses to start.
func TestRefusesToStart(t *testing.T) {
	tests := []struct {
		name, code string
		act        func(d *database, cfg *Config)
	}{
		{"slot recreated", "slot_advanced", func(d *database, cfg *Config) {
			d.admin(`SELECT pg_drop_replication_slot('` + cfg.Slot + `')`)
			d.exec(`INSERT INTO t VALUES (2)`)
			d.admin(`SELECT pg_create_logical_replication_slot('` + cfg.Slot + `', 'pgoutput')`)
		}},
		{"slot advanced", "slot_advanced", func(d *database, cfg *Config) {
			d.exec(`INSERT INTO t VALUES (2)`)
			d.admin(`SELECT pg_replication_slot_advance('` + cfg.Slot + `', pg_current_wal_lsn())`)
		}},
		{"slot dropped", "slot_missing", func(d *database, cfg *Config) {
			d.admin(`SELECT pg_drop_replication_slot('` + cfg.Slot + `')`)
		}},
		{"slot of another plugin", "slot_unusable", func(d *database, cfg *Config) {
			d.admin(`SELECT pg_drop_replication_slot('`+cfg.Slot+`')`, `SELECT pg_create_logical_replication_slot('`+cfg.Slot+`', 'test_decoding')`)
		}},
		{"two-phase slot", "slot_unusable", func(d *database, cfg *Config) {
			d.admin(`SELECT pg_drop_replication_slot('`+cfg.Slot+`')`, `SELECT pg_create_logical_replication_slot('`+cfg.Slot+`', 'pgoutput', false, true)`)
		}},
		{"another cluster", "another_system", func(d *database, cfg *Config) { d.admin(`UPDATE cdc.state SET system_id = '1'`) }},
		{"after a failover", "another_timeline", func(d *database, cfg *Config) { d.admin(`UPDATE cdc.state SET timeline = 7`) }},
		{"WAL lost", "wal_behind_checkpoint", func(d *database, cfg *Config) { d.admin(`UPDATE cdc.state SET checkpoint = 'FFFF/0'`) }},
		{"another database", "another_database", func(d *database, cfg *Config) { d.admin(`UPDATE cdc.state SET database = 'x'`) }},
		{"state gone", "not_initialized", func(d *database, cfg *Config) { d.admin(`DELETE FROM cdc.state`) }},
		{"state of a newer version", "state_format", func(d *database, cfg *Config) { d.admin(`UPDATE cdc.state SET format = 2`) }},
		{"publication dropped", "publication_missing", func(d *database, cfg *Config) { d.admin(`DROP PUBLICATION ` + cfg.Publication) }},
		{"table configured and not published", "table_not_published", func(d *database, cfg *Config) { d.exec(`CREATE TABLE n (id int PRIMARY KEY)`) }},
		{"named table that doesn't exist", "table_not_published", func(d *database, cfg *Config) {
			cfg.Tables = append(cfg.Tables, TableRule{Match: "sales.orders"})
		}},
		{"table changed while down", "schema_changed", func(d *database, cfg *Config) { d.exec(`ALTER TABLE t ADD n int DEFAULT 1`) }},
		{"table without identity any more", "schema_changed", func(d *database, cfg *Config) { d.exec(`ALTER TABLE t DROP CONSTRAINT t_pkey`) }},
		{"row filter", "schema_changed", func(d *database, cfg *Config) {
			d.exec(`ALTER PUBLICATION ` + cfg.Publication + ` SET TABLE t WHERE (id > 5)`)
		}},
		{"role may not replicate", "role_replication", func(d *database, cfg *Config) { d.admin(`ALTER ROLE ` + d.name + ` NOREPLICATION`) }},
		{"wrong password", "connect", func(d *database, cfg *Config) { d.admin(`ALTER ROLE ` + d.name + ` PASSWORD 'other'`) }},
		{"dsn unreadable", "source_dsn", func(d *database, cfg *Config) {
			cfg.DSN = func() (string, error) { return "", errors.New("no such file") }
		}},
		{"nobody there", "source_unreachable", func(d *database, cfg *Config) {
			cfg.DSN = func() (string, error) { return "host=127.0.0.1 port=1 user=x dbname=x", nil }
			cfg.pace.connectLimit = 200 * time.Millisecond
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
			cfg := d.config()
			mustInit(t, cfg)
			r := newRecorder(t, 0)
			run := start(t, cfg, r)
			d.exec(`INSERT INTO t VALUES (1)`)
			eventually(t, "first row", func() bool { return r.len() == 1 })
			run.stop()
			d.slotIdle(cfg.Slot)
			test.act(d, &cfg)
			run = start(t, cfg, r)
			err := run.wait()
			if got := codeOf(t, err); got != test.code {
				t.Errorf("got %q (%v), want %q", got, err, test.code)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
			if r.len() != 1 {
				t.Errorf("%d messages, want only the first", r.len())
			}
		})
	}
}
