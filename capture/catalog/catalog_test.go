package catalog_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"cdc/capture/catalog"
	"cdc/capture/postgrestest"
	"cdc/schema"
)

var server *postgrestest.Server

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	var err error
	server, err = postgrestest.Launch(context.Background(), postgrestest.Options{})
	if err != nil {
		println(err.Error())
		return 2
	}
	defer server.Close()
	return m.Run()
}

func connect(t *testing.T, db string, s catalog.Session) *pgx.Conn {
	t.Helper()
	conn, err := s.Connect(t.Context(), server.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func newDB(t *testing.T, name string, statements ...string) {
	t.Helper()
	if err := server.CreateDB(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	server.MustExec(t, name, statements...)
}

// Settings of the database and of the role that change the text on the wire are
// overridden, on both kinds of connection.
func TestSettingsArePinned(t *testing.T) {
	newDB(t, "hostile",
		`ALTER DATABASE hostile SET datestyle = 'German'`, `ALTER DATABASE hostile SET intervalstyle = 'sql_standard'`,
		`ALTER DATABASE hostile SET bytea_output = 'escape'`, `ALTER DATABASE hostile SET extra_float_digits = -10`,
		`ALTER DATABASE hostile SET timezone = 'America/St_Johns'`, `ALTER DATABASE hostile SET row_security = on`,
		`ALTER DATABASE hostile SET statement_timeout = '7s'`, `ALTER DATABASE hostile SET synchronous_commit = off`,
		`ALTER DATABASE hostile SET search_path = 'public'`, `ALTER DATABASE hostile SET xmlbinary = hex`,
		`ALTER DATABASE hostile SET default_transaction_isolation = 'serializable'`, `ALTER DATABASE hostile SET default_transaction_read_only = on`,
		`ALTER DATABASE hostile SET idle_session_timeout = '9s'`, `ALTER DATABASE hostile SET wal_sender_timeout = '9s'`,
		`ALTER DATABASE hostile SET quote_all_identifiers = on`, `ALTER DATABASE hostile SET standard_conforming_strings = off`,
		`ALTER DATABASE hostile SET lock_timeout = 1`, `ALTER DATABASE hostile SET client_encoding = 'LATIN1'`, `ALTER DATABASE hostile SET idle_in_transaction_session_timeout = '9s'`)
	for _, replication := range []bool{false, true} {
		s := catalog.Session{ApplicationName: "test", Replication: replication, SenderTimeout: 1500 * time.Millisecond, DecodingMemory: 128 << 20}
		conn := connect(t, "hostile", s)
		var got string
		err := conn.QueryRow(t.Context(), `SELECT concat_ws(' | ', interval '1 mon 2 days 00:00:03', '\xde00'::bytea, date '2026-11-30',
			timestamptz '2026-11-30 22:00+00', 0.1::float8 + 0.2::float8, current_setting('synchronous_commit'), current_setting('search_path'),
			current_setting('wal_sender_timeout'), current_setting('logical_decoding_work_mem'), current_setting('application_name'),
			current_setting('client_encoding'), quote_ident('a'), current_setting('lock_timeout'))`).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		want := `1 mon 2 days 00:00:03 | \xde00 | 2026-11-30 | 2026-11-30 22:00:00+00 | 0.30000000000000004 | local | pg_catalog | 1500ms | 128MB | test | UTF8 | a | 0`
		if got != want {
			t.Errorf("replication %t:\n got %s\nwant %s", replication, got, want)
		}
	}
}

// A DSN's own settings don't win, and what the server shows otherwise is an error.
func TestSettingsAreReadBack(t *testing.T) {
	newDB(t, "readback")
	u, err := url.Parse(server.DSN("readback"))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("datestyle", "German")
	q.Set("TimeZone", "Asia/Tokyo")
	u.RawQuery = q.Encode()
	conn, err := catalog.Session{}.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// Settings that are dropped on the way look like this.
	if _, err := conn.Exec(t.Context(), `SET extra_float_digits = 0; SET row_security = on`); err != nil {
		t.Fatal(err)
	}
	err = catalog.Session{}.ReadBack(t.Context(), conn)
	wrong, ok := errors.AsType[*catalog.SettingsError](err)
	if !ok || !slices.Equal(wrong.Settings, []string{"extra_float_digits=0", "row_security=on"}) || wrong.Code() != "session_settings" || wrong.Fix() == "" {
		t.Errorf("got %v", err)
	}
	if _, err := (catalog.Session{}).Connect(t.Context(), "postgres://user:hunter2@[bad"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a DSN that can't be parsed: %v", err)
	}
}

func TestTables(t *testing.T) {
	newDB(t, "facts",
		`CREATE DOMAIN short AS varchar(10); CREATE DOMAIN shorter AS short; CREATE TYPE mood AS ENUM ('x'); CREATE SCHEMA "Odd"`,
		`CREATE TABLE types (id bigint PRIMARY KEY, d shorter, m mood, n numeric(10,2)[], g int GENERATED ALWAYS AS (1) STORED, dropped int, last timestamptz(3))`,
		`ALTER TABLE types DROP dropped`,
		`CREATE TABLE "Odd"."T,able" ("a b" int, "C" text, PRIMARY KEY ("C", "a b"))`,
		`CREATE TABLE part (id int, k int, PRIMARY KEY (k, id)) PARTITION BY RANGE (k); CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (9)`,
		`CREATE PUBLICATION p FOR ALL TABLES WITH (publish_via_partition_root = true)`)
	conn := connect(t, "facts", catalog.Session{})
	tables, err := catalog.Published(t.Context(), conn, "p")
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.All(t.Context(), conn, "p")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, tables); diff != "" {
		t.Errorf("all tables and those of FOR ALL TABLES differ:\n%s", diff)
	}
	type facts struct {
		Kind    string
		Columns []string
		AttNums []int16
		Key     []int
	}
	got := map[string]facts{}
	for _, table := range tables {
		f := facts{table.Kind, nil, table.AttNums(), table.Key}
		for _, c := range table.Columns {
			f.Columns = append(f.Columns, c.Name+" "+c.Type)
		}
		got[table.String()] = f
		described, err := table.Describe(schema.Source{Database: "shop"}, 3)
		if err != nil || described.Version != 3 || len(described.Columns) != len(table.Columns) {
			t.Errorf("describe %s: %v, %v", table, described, err)
		}
	}
	want := map[string]facts{
		"public.types": {"r", []string{"id bigint", "d character varying(10)", "m public.mood", "n numeric(10,2)[]", "last timestamp(3) with time zone"}, []int16{1, 2, 3, 4, 7}, []int{0}},
		"Odd.T,able":   {"r", []string{"a b integer", "C text"}, []int16{1, 2}, []int{1, 0}},
		"public.part":  {"p", []string{"id integer", "k integer"}, []int16{1, 2}, []int{1, 0}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Identity is usable only if the replica identity is a valid, immediate, not
// partial unique index on NOT NULL columns.
func TestUsableIdentity(t *testing.T) {
	newDB(t, "identity")
	conn := connect(t, "identity", catalog.Session{})
	for ddl, want := range map[string][]int{
		`CREATE TABLE public.t (a int PRIMARY KEY, b int)`:                  {0},
		`CREATE TABLE public.t (a int, b int, PRIMARY KEY (b, a))`:          {1, 0},
		`CREATE TABLE public.t (a int, b int, PRIMARY KEY (b) INCLUDE (a))`: {1},
		`CREATE TABLE public.t (a int PRIMARY KEY, b int NOT NULL UNIQUE)`:  {0},
		`CREATE TABLE public.t (a int PRIMARY KEY, b int NOT NULL); CREATE UNIQUE INDEX i ON public.t (b); ALTER TABLE public.t REPLICA IDENTITY USING INDEX i`: {1},
		`CREATE TABLE public.t (a int PRIMARY KEY); ALTER TABLE public.t REPLICA IDENTITY FULL`:                                                                 {0},
		`CREATE TABLE public.t (a int)`:                                                            nil,
		`CREATE TABLE public.t (a int NOT NULL UNIQUE)`:                                            nil,
		`CREATE TABLE public.t (a int); ALTER TABLE public.t REPLICA IDENTITY FULL`:                nil,
		`CREATE TABLE public.t (a int PRIMARY KEY); ALTER TABLE public.t REPLICA IDENTITY NOTHING`: nil,
		`CREATE TABLE public.t (a int PRIMARY KEY DEFERRABLE)`:                                     nil,
	} {
		server.MustExec(t, "identity", `DROP TABLE IF EXISTS public.t; `+ddl)
		tables, err := catalog.All(t.Context(), conn, "")
		if err != nil || len(tables) != 1 {
			t.Fatalf("%s: %v, %v", ddl, tables, err)
		}
		if diff := cmp.Diff(want, tables[0].Key); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ddl, diff)
		}
	}
}

// What changes the meaning of rows changes the fingerprint; what doesn't, doesn't.
func TestFingerprint(t *testing.T) {
	newDB(t, "fingerprint")
	conn := connect(t, "fingerprint", catalog.Session{})
	const create = `DROP TABLE IF EXISTS public.t, public.p, public.p1, public.q;
		CREATE TABLE public.t (id int PRIMARY KEY, v text, w text); INSERT INTO public.t VALUES (1, 'a', 'b');
		CREATE TABLE public.p (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (9);
		CREATE TABLE public.q (id int PRIMARY KEY)`
	read := func() (t1, p *catalog.Table) {
		t.Helper()
		tables, err := catalog.All(t.Context(), conn, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			switch table.Name {
			case "t":
				t1 = table
			case "p":
				p = table
			}
		}
		return t1, p
	}
	for _, test := range []struct {
		ddl                  string
		fingerprint, rewrite bool
	}{
		{`ALTER TABLE public.t ADD n int`, true, false},
		{`ALTER TABLE public.t ADD n int DEFAULT 7`, true, false},
		{`ALTER TABLE public.t ADD n int GENERATED ALWAYS AS IDENTITY`, true, true},
		{`ALTER TABLE public.t DROP v`, true, false},
		{`ALTER TABLE public.t RENAME v TO x`, true, false},
		{`ALTER TABLE public.t RENAME v TO x; ALTER TABLE public.t RENAME w TO v; ALTER TABLE public.t RENAME x TO w`, true, false},
		{`ALTER TABLE public.t ALTER v TYPE text USING v || v`, true, true},
		{`ALTER TABLE public.t ALTER v TYPE varchar(100)`, true, true},
		{`ALTER TABLE public.t REPLICA IDENTITY FULL`, true, false},
		{`ALTER TABLE public.t SET UNLOGGED`, true, true},
		{`ALTER TABLE public.t DROP CONSTRAINT t_pkey`, true, false},
		{`VACUUM FULL public.t`, false, true},
		{`VACUUM FREEZE pg_catalog.pg_attribute`, false, false},
		{`VACUUM FULL pg_catalog.pg_attribute`, false, false},
		{`ANALYZE public.t`, false, false},
		{`REINDEX TABLE public.t`, false, false},
		{`CREATE INDEX ON public.t (v)`, false, false},
		{`INSERT INTO public.t VALUES (2)`, false, false},
	} {
		server.MustExec(t, "fingerprint", create)
		before, _ := read()
		server.MustExec(t, "fingerprint", strings.Split(test.ddl, "; ")...)
		after, _ := read()
		if got := before.Fingerprint != after.Fingerprint; got != test.fingerprint {
			t.Errorf("%s: fingerprint changed %t", test.ddl, got)
		}
		if got := before.Filenode != after.Filenode; got != test.rewrite {
			t.Errorf("%s: filenode changed %t", test.ddl, got)
		}
	}
	for _, ddl := range []string{
		`ALTER TABLE public.p ATTACH PARTITION public.q FOR VALUES FROM (10) TO (20)`, `ALTER TABLE public.p DETACH PARTITION public.p1`,
		`TRUNCATE public.p1`, `DROP TABLE public.p1`,
	} {
		server.MustExec(t, "fingerprint", create)
		_, before := read()
		server.MustExec(t, "fingerprint", ddl)
		if _, after := read(); before.Fingerprint == after.Fingerprint {
			t.Errorf("%s: fingerprint is the same", ddl)
		}
	}
}

func TestPublicationAndSlot(t *testing.T) {
	newDB(t, "pubs", `CREATE PUBLICATION few WITH (publish = 'insert, truncate')`, `CREATE PUBLICATION "All" FOR ALL TABLES WITH (publish_via_partition_root)`,
		`CREATE TABLE public.f (id int PRIMARY KEY); CREATE PUBLICATION filtered FOR TABLE public.f WHERE (id > 1)`,
		`SELECT pg_create_logical_replication_slot('twophase', 'pgoutput', false, true)`)
	conn := connect(t, "pubs", catalog.Session{})
	for _, want := range []catalog.Publication{
		{Name: "few", Insert: true, Truncate: true},
		{Name: "All", AllTables: true, Insert: true, Update: true, Delete: true, Truncate: true, ViaRoot: true},
	} {
		got, err := catalog.ReadPublication(t.Context(), conn, want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got, err := catalog.ReadPublication(t.Context(), conn, "none"); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if tables, err := catalog.Published(t.Context(), conn, "filtered"); err != nil || len(tables) != 1 || !tables[0].Filtered {
		t.Errorf("filtered: %+v, %v", tables, err)
	}
	slot, err := catalog.ReadSlot(t.Context(), conn, "twophase")
	if err != nil || slot == nil || !slot.TwoPhase || slot.Plugin != "pgoutput" || slot.Database != "pubs" || slot.WALStatus != "reserved" || slot.ActivePID != 0 || slot.ConfirmedFlush == 0 {
		t.Errorf("%+v, %v", slot, err)
	}
	if slot, err := catalog.ReadSlot(t.Context(), conn, "none"); slot != nil || err != nil {
		t.Errorf("%+v, %v", slot, err)
	}
	s, err := catalog.ReadServer(t.Context(), conn)
	if err != nil || s.Database != "pubs" || s.Encoding != "UTF8" || s.WALLevel != "logical" || !s.SlotKeepSizeUnset || s.Slots != 1 || s.XID == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	server.MustExec(t, "pubs", `SELECT pg_drop_replication_slot('twophase')`)
}

func TestExtendXID(t *testing.T) {
	for _, test := range []struct {
		xid             uint32
		reference, want uint64
	}{
		{700, 743, 700},
		{743, 743, 743},
		{800, 743, 800}, // began after the reference was read
		{0xFFFF_FFF0, 1<<32 | 5, 0xFFFF_FFF0},
		{5, 0xFFFF_FFF0, 1<<32 | 5},
		{5, 7<<32 | 10, 7<<32 | 5},
		{0x8000_0011, 3<<32 | 0x10, 2<<32 | 0x8000_0011}, // 2^31 ahead and more is behind
	} {
		if got := catalog.ExtendXID(test.xid, test.reference); got != test.want {
			t.Errorf("%d near %d: %d, want %d", test.xid, test.reference, got, test.want)
		}
	}
}

func TestNamesStandby(t *testing.T) {
	for _, test := range []struct {
		setting string
		want    bool
	}{
		{"", false},
		{"*", true},
		{"a, cdc-publisher", true},
		{`"CDC-Publisher"`, true},
		{"a, b", false},
		{"FIRST 2 (a, *)", true},
		{"ANY 1 (a, b)", false},
		{`2 (a, "cdc-publisher" )`, true},
		{"cdc-publisher2", false},
	} {
		if got := catalog.NamesStandby(test.setting, "cdc-publisher"); got != test.want {
			t.Errorf("%q: %t", test.setting, got)
		}
	}
}
