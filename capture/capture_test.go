package capture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cdc/schema"
)

// sourceRows reads a table as the stream would write it: key → column → text.
func (d *database) sourceRows(table string, key ...string) map[string]map[string]string {
	d.tb.Helper()
	cfg := d.config()
	conn, err := cfg.connect(d.tb.Context(), false)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer closeConn(conn)
	rows, err := conn.Query(d.tb.Context(), "SELECT * FROM "+table)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer rows.Close()
	all := map[string]map[string]string{}
	for rows.Next() {
		m := map[string]string{}
		for i, f := range rows.FieldDescriptions() {
			m[f.Name] = "<null>"
			if v := rows.RawValues()[i]; v != nil {
				m[f.Name] = string(v)
			}
		}
		var k schema.Row
		for _, name := range key {
			k = append(k, schema.TextValue(m[name]))
		}
		all[string(schema.AppendKey(nil, k))] = m
	}
	if rows.Err() != nil {
		d.tb.Fatal(rows.Err())
	}
	return all
}

func TestEndToEnd(t *testing.T) {
	t.Parallel()
	d := newDatabase(t,
		`CREATE TABLE a (id int PRIMARY KEY, v text)`,
		`CREATE TABLE b (k1 text, k2 int, v numeric(10,2), PRIMARY KEY (k2, k1))`,
		`CREATE TABLE f (id int PRIMARY KEY, big text, n int); ALTER TABLE f REPLICA IDENTITY FULL; ALTER TABLE f ALTER big SET STORAGE EXTERNAL`,
		`CREATE TABLE u (id int, code text NOT NULL, v int); CREATE UNIQUE INDEX u_code ON u (code); ALTER TABLE u REPLICA IDENTITY USING INDEX u_code`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 20*time.Millisecond)
	run := start(t, cfg, r)
	d.exec(
		`INSERT INTO a SELECT i, 'v' || i FROM generate_series(1, 500) i`,
		`UPDATE a SET v = v || '!' WHERE id % 3 = 0`,
		`DELETE FROM a WHERE id % 5 = 0`,
		`UPDATE a SET id = id + 10000 WHERE id % 7 = 0`,
		`INSERT INTO b SELECT E'x,\\' || i, i, i / 3.0 FROM generate_series(1, 50) i`,
		`UPDATE b SET k1 = 'moved', v = 1 WHERE k2 < 10`,
		`UPDATE b SET v = NULL WHERE k2 > 40`,
		`INSERT INTO f VALUES (1, repeat('x', 20000), 0), (2, repeat('y', 20000), 0)`,
		`UPDATE f SET n = 1 WHERE id = 1`,
		`UPDATE f SET id = 20 WHERE id = 2`,
		`INSERT INTO u VALUES (1, 'one', 1), (2, 'two', 2)`,
		`UPDATE u SET v = 3 WHERE id = 1`, `UPDATE u SET code = 'zwei' WHERE id = 2`, `UPDATE u SET id = 7 WHERE id = 1`,
		`BEGIN; INSERT INTO a VALUES (-1, 'gone'); ROLLBACK`,
		`BEGIN; INSERT INTO a VALUES (-2, 'kept'); SAVEPOINT s; INSERT INTO a VALUES (-3, 'gone'); ROLLBACK TO s; COMMIT`,
		`INSERT INTO a VALUES (-4, 'last')`)
	eventually(t, "last row", func() bool { _, ok := r.rows()["public.a"]["-4"]; return ok })
	run.stop()
	r.checkOrder()
	d.mustAgree(r.snapshot(), "public.a", "public.b", "public.f", "public.u")
	// After a stop all is confirmed: a new start hands nothing on again.
	before := r.len()
	run = start(t, cfg, r)
	d.exec(`INSERT INTO a VALUES (-5, 'after the stop')`)
	eventually(t, "row after the stop", func() bool { return r.len() > before })
	run.stop()
	if n := r.len() - before; n != 1 {
		t.Errorf("%d messages after a clean stop, want 1", n)
	}
}

func TestKeyChange(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE k (a int, b text, v text, PRIMARY KEY (a, b))`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO k VALUES (1, 'x', 'v')`, `UPDATE k SET b = 'y', v = 'w'`)
	eventually(t, "three messages", func() bool { return r.len() == 3 })
	run.stop()
	m := r.snapshot()
	gone, came := m[1].decode(t), m[2].decode(t)
	if gone.op != schema.Delete || gone.key != "1,x" || came.op != schema.Create || came.key != "1,y" || came.previousKey != "1,x" || came.after["v"] != "w" {
		t.Errorf("got %+v then %+v", gone, came)
	}
	want := gone.position
	want.Index++
	if came.position != want {
		t.Errorf("positions %s and %s, want consecutive Index", gone.position, came.position)
	}
	if m[1].key != "public.k|1,x" || m[2].key != "public.k|1,y" {
		t.Errorf("ordering keys %q and %q", m[1].key, m[2].key)
	}
	first := m[0].decode(t)
	if current := query[int64](d, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`); first.xid == 0 || first.xid >= gone.xid || gone.xid >= uint64(current) {
		t.Errorf("xids %d and %d, now %d", first.xid, gone.xid, current)
	}
	if age := time.Since(first.commitTime.Time()); age < 0 || age > time.Minute {
		t.Errorf("commit time is %v ago", age)
	}
	if first.source != (schema.Source{Database: "shop", DB: d.name, SystemID: query[string](d, `SELECT system_identifier::text FROM pg_control_system()`)}) {
		t.Errorf("source %+v", first.source)
	}
	if epoch := time.Unix(int64(first.position.Epoch), 0); time.Since(epoch) > time.Minute {
		t.Errorf("epoch is the time %v", epoch)
	}
}

// Rows of one COPY share an LSN; Index counts them.
func TestCopyCountsIndex(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE c (id int PRIMARY KEY)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	const rows = 100
	var in strings.Builder
	for i := range rows {
		fmt.Fprintln(&in, i)
	}
	conn := d.server.Conn(t, d.name)
	if _, err := conn.PgConn().CopyFrom(t.Context(), strings.NewReader(in.String()), "COPY c FROM STDIN"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all rows", func() bool { return r.len() == rows })
	run.stop()
	shared, last := 0, schema.Position{}
	for _, m := range r.snapshot() {
		p := m.attrs.Position
		if p.ChangeLSN == last.ChangeLSN {
			shared++
			if p.Index != last.Index+1 {
				t.Fatalf("%s after %s", p, last)
			}
		} else if p.Index != 0 {
			t.Fatalf("%s after %s: want Index 0", p, last)
		}
		last = p
	}
	if shared < rows/2 {
		t.Errorf("only %d rows share an LSN: COPY isn't what it was", shared)
	}
}
