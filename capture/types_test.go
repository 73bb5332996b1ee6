package capture

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cdc/schema"
)

// Values of every kind of type come out as the source writes them under the
// pinned settings, whatever the database is set to.
func TestTypes(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, setting := range []string{"datestyle = 'German'", "intervalstyle = 'sql_standard'", "bytea_output = 'escape'", "timezone = 'Asia/Tokyo'", "extra_float_digits = -10"} {
		d.admin("ALTER DATABASE " + d.name + " SET " + setting)
	}
	d.admin(`CREATE EXTENSION hstore SCHEMA public; CREATE EXTENSION citext SCHEMA public`)
	d.exec(`CREATE DOMAIN money2 AS numeric(12,2); CREATE TYPE mood AS ENUM ('sad', 'it''s "fine"'); CREATE TYPE pair AS (a int, b text)`,
		`CREATE TABLE t (id uuid PRIMARY KEY, b bool, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, nm numeric(10,2), dom money2, m money,
			tx text, vc varchar(10), ch char(6), ci public.citext, nam name, moo mood, by bytea, j json, jb jsonb, h public.hstore,
			da date, ts timestamp, tz timestamptz, ti time, tt timetz, iv interval, ip inet, bi bit(3), x xml, r int4range, p pair,
			ai int[], at text[], a2 int[][], ab bool[], g int GENERATED ALWAYS AS (1) STORED)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES
		('11111111-1111-4111-8111-111111111111', true, -32768, 9223372036854775807, 1.1, 0.1::float8 + 0.2::float8, 'NaN', 1.5, 2, 3.5,
			E'a\tb\\c"d\u00e9', 'v', 'c', 'CiText', 'n', 'it''s "fine"', '\x00ff41', '{"a": 1, "a": 2}', '{"b": 1e3}', 'a=>1, b=>NULL',
			'2026-11-30', '2026-11-30 22:00:00.123456', '2026-11-30 22:00:00+01', '24:00:00', '10:00:00+05:30', '1 year 2 mons 3 days 04:05:06.7',
			'10.0.0.1/8', '101', '<a>x</a>', '[1,5)', '(1,"a,b")', '{1,NULL,3}', '{"a,b","\"q\"",NULL,"NULL",""}', '{{1,2},{3,4}}', '{t,f,NULL}'),
		('22222222-2222-4222-8222-222222222222', NULL, NULL, NULL, 'Infinity', '-Infinity', 123456789012345678901234567890.123, NULL, NULL, NULL,
			'', NULL, NULL, NULL, NULL, NULL, '', NULL, 'null', NULL, 'infinity', '0044-03-15 00:00:00 BC', '-infinity', NULL, NULL, '-1 mons +1 day',
			NULL, NULL, NULL, 'empty', NULL, '{}', '[0:1]={a,b}', NULL, NULL)`)
	eventually(t, "both rows", func() bool { return r.len() == 2 })
	run.stop()
	want := d.sourceRows("public.t", "id")
	for _, row := range want {
		delete(row, "g") // generated columns aren't streamed
		for column, v := range row {
			// Values that the wire format writes in JSON's own way come back in it.
			if column == "jb" || column == "j" {
				row[column] = strings.ReplaceAll(v, " ", "")
			}
		}
	}
	got := r.rows()["public.t"]
	for _, row := range got {
		for _, column := range []string{"jb", "j"} {
			row[column] = strings.ReplaceAll(row[column], " ", "")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-source +captured):\n%s", diff)
	}
	types := r.snapshot()[0].decode(t).types
	if types["dom"] != "numeric(12,2)" || types["moo"] != "public.mood" || types["at"] != "text[]" || types["vc"] != "character varying(10)" {
		t.Errorf("types %v", types)
	}
}

// A key that is TOASTed and unchanged is taken from the old row; that one was
// sent doesn't mean that the key changed.
func TestUnchangedTOASTedKey(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE k (id text PRIMARY KEY, n int); ALTER TABLE k ALTER id SET STORAGE EXTERNAL`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO k VALUES (repeat('k', 2500), 1)`, `UPDATE k SET n = 2`, `UPDATE k SET id = 'short'`)
	eventually(t, "four messages", func() bool { return r.len() == 4 })
	run.stop()
	m := r.snapshot()
	long := strings.Repeat("k", 2500)
	if c := m[1].decode(t); c.op != schema.Update || c.key != long || c.after["id"] != long || c.after["n"] != "2" {
		t.Errorf("got %v of a key of %d bytes", c.op, len(c.key))
	}
	if !strings.HasPrefix(m[1].key, "public.k|sha256:") || m[1].key != m[0].key {
		t.Errorf("ordering keys %q and %q", m[0].key, m[1].key)
	}
	if c := m[3].decode(t); c.op != schema.Create || c.key != "short" || c.previousKey != long {
		t.Errorf("got %v of key %q", c.op, c.key)
	}
}

// Under REPLICA IDENTITY FULL the old row fills what wasn't sent and goes along.
func TestReplicaIdentityFull(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE f (id int PRIMARY KEY, big text, n int); ALTER TABLE f ALTER big SET STORAGE EXTERNAL; ALTER TABLE f REPLICA IDENTITY FULL`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO f VALUES (1, repeat('x', 5000), 1)`, `UPDATE f SET n = 2`, `DELETE FROM f`)
	eventually(t, "three messages", func() bool { return r.len() == 3 })
	run.stop()
	m := r.snapshot()
	big := strings.Repeat("x", 5000)
	if c := m[1].decode(t); c.after["big"] != big || c.before["n"] != "1" || c.before["big"] != big || c.op != schema.Update {
		t.Errorf("update %v, before %d columns", c.op, len(c.before))
	}
	if c := m[2].decode(t); c.op != schema.Delete || c.before["n"] != "2" || c.key != "1" {
		t.Errorf("delete %v, before %v", c.op, c.before["n"])
	}
}

// Partitions are captured as their root, whatever the columns' order in them.
func TestPartitions(t *testing.T) {
	t.Parallel()
	d := newDatabase(t,
		`CREATE TABLE p (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY RANGE (k)`,
		`CREATE TABLE p1 (v text, k int NOT NULL, id int NOT NULL); ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10)`,
		`CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO p VALUES (1, 1, 'a'), (2, 11, 'b')`, `UPDATE p SET k = 12 WHERE id = 1`, `UPDATE p SET v = 'c' WHERE id = 2`, `DELETE FROM p WHERE id = 2`)
	eventually(t, "all messages", func() bool { return r.len() == 6 })
	run.stop()
	if diff := cmp.Diff(d.sourceRows("public.p", "id", "k"), r.rows()["public.p"]); diff != "" {
		t.Errorf("(-source +captured):\n%s", diff)
	}
}
