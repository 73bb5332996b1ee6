package capture

import (
	"fmt"
	"strings"
	"testing"

	"cdc/schema"
)

// Names that have to be quoted, that hold what separates names elsewhere, and a
// table of the most columns that Postgres takes.
func TestOddTables(t *testing.T) {
	t.Parallel()
	names := []string{`Order Lines`, `a.b`, `quo"te`, `it's`, `star*`, `pipe|comma,`, `zażółć 🙂`, `back\slash`, strings.Repeat("x", 63)}
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	d := newDatabase(t, `CREATE SCHEMA "Sales EU"`)
	for _, n := range names {
		d.exec(`CREATE TABLE "Sales EU".` + quote(n) + ` (` + quote(n) + ` text PRIMARY KEY, "v\,|" text)`)
	}
	columns := make([]string, 1600)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d bool", i)
	}
	columns[0] = "id int PRIMARY KEY"
	d.exec(`CREATE TABLE "Sales EU".wide (` + strings.Join(columns, ",") + `)`)
	cfg := d.config()
	cfg.Tables = []TableRule{{Match: "Sales EU.*"}}
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	for _, n := range names {
		d.exec(`INSERT INTO "Sales EU".`+quote(n)+` VALUES ('k|,\é"''', 'v')`, `UPDATE "Sales EU".`+quote(n)+` SET "v\,|" = 'w'`)
	}
	d.exec(`INSERT INTO "Sales EU".wide (id, c1, c1599) VALUES (1, true, false)`)
	eventually(t, "all", func() bool { return r.len() == 2*len(names)+1 })
	run.stop()
	run = start(t, cfg, r) // nothing is another than it was
	eventually(t, "streaming", func() bool { return run.capture.Counters().WaitingFor == WaitingSource })
	run.stop()
	got := r.snapshot()
	for i, n := range names {
		c := got[2*i+1].decode(t)
		if c.table != "Sales EU."+n || c.op != schema.Update || c.after[n] != `k|,\é"'` || c.after[`v\,|`] != "w" {
			t.Errorf("%+v", c)
		}
	}
	if c := got[2*len(names)].decode(t); len(c.after) != 1600 || c.after["c1599"] != "f" || c.after["c2"] != "<null>" {
		t.Errorf("wide: %d columns, %q", len(c.after), c.after["c1599"])
	}
}

// Settings of database and role that would end, misread or change what is read.
func TestHostileSettings(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TYPE mood AS ENUM ('sad')`, `CREATE TABLE "T" (id int PRIMARY KEY, m mood, s text)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO "T" VALUES (1, 'sad', E'a\\b''c')`)
	eventually(t, "first", func() bool { return r.len() == 1 })
	run.stop()
	for _, setting := range []string{
		"quote_all_identifiers = on", "standard_conforming_strings = off", "lock_timeout = 1", "statement_timeout = 1",
		"array_nulls = off", "client_min_messages = debug5", "transform_null_equals = on", "default_transaction_deferrable = on",
		"enable_seqscan = off", "exit_on_error = on", "backslash_quote = off",
	} {
		d.admin("ALTER ROLE " + d.name + " SET " + setting)
	}
	run = start(t, cfg, r)
	d.exec(`INSERT INTO "T" VALUES (2, 'sad', E'a\\b''c')`)
	eventually(t, "second", func() bool {
		select {
		case err := <-run.done:
			run.done <- err
			t.Fatal(err)
		default:
		}
		return r.len() == 2
	})
	run.stop()
	a, b := r.snapshot()[0].decode(t), r.snapshot()[1].decode(t)
	if a.types["m"] != b.types["m"] || a.after["s"] != b.after["s"] {
		t.Errorf("%v, then %v", a, b)
	}
	findings, err := Check(t.Context(), cfg)
	for _, f := range findings {
		if f.Blocks {
			t.Errorf("check: %v", f)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// What isn't handled in the middle of a transaction: what stands before it may
// have been handed on, what stands behind it never, however often Run starts.
func TestStopsInsideTransaction(t *testing.T) {
	t.Parallel()
	const last = `INSERT INTO t VALUES (3, 'behind')`
	for _, test := range []struct{ name, code, middle, last string }{
		{"truncate", "truncated", `TRUNCATE t`, last},
		{"truncate of another", "truncated", `TRUNCATE o`, last},
		{"column with default", "schema_changed", `ALTER TABLE t ADD n int DEFAULT 5`, last},
		{"column with volatile default", "schema_changed", `ALTER TABLE t ADD n float DEFAULT random()`, last},
		{"rename", "schema_changed", `ALTER TABLE t RENAME TO u`, `INSERT INTO u VALUES (3, 'behind')`},
		{"recreated", "table_missing", `DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text)`, `INSERT INTO o VALUES (3, 'before')`},
		{"type", "schema_changed", `ALTER TABLE t ALTER id TYPE bigint`, last},
		{"key", "schema_changed", `ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (id, v)`, last},
		{"rolled back", "", `SAVEPOINT s; ALTER TABLE t ADD n int DEFAULT 5; INSERT INTO t VALUES (9, 'undone', 9); TRUNCATE o; ROLLBACK TO s`, last},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY, v text)`, `CREATE TABLE o (id int PRIMARY KEY, v text)`)
			cfg := d.config()
			mustInit(t, cfg)
			r := newRecorder(t, 0)
			run := start(t, cfg, r)
			d.exec(`INSERT INTO t VALUES (1, 'before')`)
			eventually(t, "first", func() bool { return r.len() == 1 })
			d.exec(`BEGIN; INSERT INTO t VALUES (2, 'before'); ` + test.middle + `; ` + test.last + `; COMMIT`)
			if test.code == "" {
				eventually(t, "last", func() bool { return r.len() == 3 })
				run.stop()
				d.mustAgree(r.snapshot(), "public.t")
				return
			}
			for range 3 {
				if err := run.wait(); codeOf(t, err) != test.code {
					t.Errorf("stopped with %v", err)
				}
				run = start(t, cfg, r)
			}
			_ = run.wait()
			for _, m := range r.snapshot() {
				if c := m.decode(t); c.after["v"] != "before" {
					t.Errorf("handed on: %v", c.after)
				}
			}
			if query[bool](d, `SELECT confirmed_flush_lsn > (SELECT checkpoint FROM cdc.state) FROM pg_replication_slots WHERE slot_name = $1`, cfg.Slot) {
				t.Error("confirmed above the checkpoint")
			}
		})
	}
}

// A row that makes a message of nearly 10 MB goes through, one above stops.
func TestHugeRow(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY, v text)`)
	cfg := d.config()
	cfg.WindowBytes = 1 << 20
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1, repeat('x', 9900000))`, `INSERT INTO t VALUES (2, repeat(chr(1), 1600000))`)
	eventually(t, "two", func() bool { return r.len() == 2 })
	d.exec(`INSERT INTO t VALUES (3, repeat('x', 20000000))`, `INSERT INTO t VALUES (4, 'y')`)
	for range 2 {
		if err := run.wait(); codeOf(t, err) != "message_too_large" {
			t.Errorf("stopped with %v", err)
		}
		run = start(t, cfg, r)
	}
	_ = run.wait()
	if n := r.len(); n != 2 {
		t.Errorf("%d messages", n)
	}
}
