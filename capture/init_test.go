package capture

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cdc/capture/state"
)

// Init makes everything as a role that isn't a superuser, and a second run makes
// nothing.
func TestInitIsIdempotent(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"schema", "file"} {
		d := newDatabase(t, `CREATE TABLE a (id int PRIMARY KEY)`, `CREATE TABLE "B,b" (id int PRIMARY KEY)`, `CREATE TABLE skipped (id int)`)
		cfg := d.config()
		cfg.Tables = []TableRule{{Match: "public.a"}, {Match: "public.B*"}}
		if where == "file" {
			cfg.StateSchema, cfg.StateFile = "", t.TempDir()+"/below/state.json"
		}
		did, err := Init(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(did, "\n")
		if !containsAll(text, "CREATE PUBLICATION", `"public"."a"`, `"public"."B,b"`, "create slot", "store state") || strings.Contains(text, "skipped") {
			t.Errorf("did:\n%s", text)
		}
		if did, err := Init(t.Context(), cfg); len(did) != 0 || err != nil {
			t.Errorf("a second run did %v, %v", did, err)
		}
		findings, err := Check(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"slot_keep_size_unset"}, codes(findings)); diff != "" {
			t.Errorf("check after init (-want +got):\n%s", diff)
		}
	}
}

func codes(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		if f.Fix == "" || f.Problem == "" {
			panic("a finding without problem or fix: " + f.Code)
		}
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return list
}

func TestInitRefuses(t *testing.T) {
	tests := []struct {
		name, code string
		tables     []TableRule
		setup      []string
		want       []string
	}{
		{
			"rows that are there", "existing_rows",
			[]TableRule{{Match: "public.a"}, {Match: "public.b"}, {Match: "public.p"}},
			[]string{
				`CREATE TABLE b (id int PRIMARY KEY); INSERT INTO b VALUES (1)`,
				`CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9); INSERT INTO p VALUES (1)`,
			},
			[]string{"public.b", "public.p"},
		},
		{"no identity", "no_usable_identity", nil, []string{`CREATE TABLE n (id int)`}, []string{"public.n"}},
		{"deferrable key", "no_usable_identity", nil, []string{`CREATE TABLE n (id int PRIMARY KEY DEFERRABLE)`}, []string{"public.n"}},
		{"unlogged", "table_unlogged", nil, []string{`CREATE UNLOGGED TABLE n (id int PRIMARY KEY)`}, []string{"public.n"}},
		{"row filter", "publication_filter", nil, []string{`CREATE PUBLICATION PUB FOR TABLE a WHERE (id > 5)`}, []string{"public.a"}},
		{"no tables", "no_tables", []TableRule{{Match: "none.*"}}, nil, nil},
		{"a named table that doesn't exist", "", []TableRule{{Match: "public.a"}, {Match: "public.nowhere"}}, nil, nil},
		{"somebody's slot", "slot_without_state", nil, []string{`SELECT pg_create_logical_replication_slot('SLOT', 'pgoutput')`}, nil},
		{"somebody's table", "publication_rights", nil, []string{`RESET ROLE; CREATE TABLE foreign_owned (id int PRIMARY KEY)`}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE a (id int PRIMARY KEY)`)
			cfg := d.config()
			if test.tables != nil {
				cfg.Tables = test.tables
			}
			for _, sql := range test.setup {
				d.exec(strings.NewReplacer("SLOT", cfg.Slot, "PUBLICATION PUB", "PUBLICATION "+cfg.Publication).Replace(sql))
			}
			_, err := Init(t.Context(), cfg)
			if test.code == "" {
				// Init makes what it can; Run and Check say what is missing.
				if err != nil {
					t.Fatal(err)
				}
				findings, err := Check(t.Context(), cfg)
				if err != nil || !slices.Contains(codes(findings), "table_not_published") {
					t.Errorf("check: %v, %v", findings, err)
				}
				return
			}
			if got := codeOf(t, err); got != test.code || !containsAll(err.Error(), test.want...) {
				t.Errorf("got %q (%v), want %q naming %v", got, err, test.code, test.want)
			}
			if strings.Contains(test.name, "rows") {
				if query[bool](d, `SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)`, cfg.Slot) {
					t.Error("the slot is left behind")
				}
				// With the rows out of the way, the next run succeeds.
				d.exec(`TRUNCATE b, p`)
				mustInit(t, cfg)
			}
		})
	}
}

// Rows that are left out knowingly don't stop Init, and aren't streamed.
func TestSnapshotNone(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE a (id int PRIMARY KEY, v int); INSERT INTO a VALUES (1, 1), (2, 2)`)
	cfg := d.config()
	cfg.Tables[0].SnapshotNone = true
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`UPDATE a SET v = 3 WHERE id = 2`, `INSERT INTO a VALUES (3, 3)`)
	eventually(t, "rows", func() bool { return r.len() == 2 })
	run.stop()
	if rows := r.rows()["public.a"]; len(rows) != 2 || rows["2"]["v"] != "3" {
		t.Errorf("rows %v", rows)
	}
}

// What is committed before the slot's snapshot is refused, what comes after is
// streamed: nothing falls between. A writer is at work while Init runs.
func TestInitUnderWrites(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE a (id int PRIMARY KEY)`, `CREATE TABLE other (id serial PRIMARY KEY)`)
	cfg := d.config()
	cfg.Tables = []TableRule{{Match: "public.a"}}
	conn := d.server.Conn(t, d.name)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO a VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	log := &events{}
	cfg.Log = slog.New(log)
	done := make(chan error, 1)
	go func() {
		_, err := Init(context.WithoutCancel(t.Context()), cfg)
		done <- err
	}()
	eventually(t, "init waits for the open transaction", func() bool {
		return log.count(EventWaitSnapshot) == 1 &&
			query[bool](d, `SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)`, cfg.Slot)
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(t, <-done); got != "existing_rows" {
		t.Errorf("got %q", got)
	}
}

// An init that was interrupted anywhere is finished by the next.
func TestInitAfterInterruption(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE a (id int PRIMARY KEY)`)
	cfg := d.config()
	mustInit(t, cfg)
	// As it was between the intention and the complete state.
	d.admin(`UPDATE cdc.state SET checkpoint = '0/0', epoch = 4294000000`, `DELETE FROM cdc.tables`)
	if findings, err := Check(t.Context(), cfg); err != nil || !slices.Contains(codes(findings), "not_initialized") {
		t.Errorf("check: %v, %v", findings, err)
	}
	if _, err := New(cfg, null{}); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(t, start(t, cfg, null{}).wait()); got != "not_initialized" {
		t.Errorf("run: %q", got)
	}
	d.exec(`INSERT INTO a VALUES (1)`)
	if _, err := Init(t.Context(), cfg); codeOf(t, err) != "existing_rows" {
		t.Errorf("rows came meanwhile: %v", err)
	}
	d.exec(`TRUNCATE a`)
	did, err := Init(t.Context(), cfg)
	if err != nil || !strings.Contains(strings.Join(did, "\n"), "create slot") {
		t.Errorf("did %v, %v", did, err)
	}
	store := cfg.openState()
	defer closeStore(store)
	s, err := store.Load(t.Context())
	if err != nil || !s.Complete() || s.Epoch < 4294000002 {
		t.Errorf("state %+v, %v: the epoch may not come twice", s, err)
	}
	var _ *state.State = s
	// Between slot and nothing at all: without the intention it isn't ours.
	d.admin(`DELETE FROM cdc.state`)
	if _, err := Init(t.Context(), cfg); codeOf(t, err) != "slot_without_state" {
		t.Errorf("got %v", err)
	}
}

// Check on a server where nothing is right names everything at once.
func TestCheckFindsEverything(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE a (id int PRIMARY KEY)`, `CREATE TABLE n (id int)`)
	d.admin(`ALTER ROLE ` + d.name + ` NOREPLICATION`)
	cfg := d.config()
	d.exec(`CREATE PUBLICATION ` + cfg.Publication + ` FOR TABLE n WITH (publish = 'insert')`)
	findings, err := Check(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"no_usable_identity", "not_initialized", "not_initialized", "publication_flags", "role_replication", "slot_keep_size_unset", "table_not_published"}
	if diff := cmp.Diff(want, codes(findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfig(t *testing.T) {
	_, err := New(Config{Slot: "Bad Slot", Tables: []TableRule{{Match: "x"}}, StateFile: "f", StateSchema: "s", SenderTimeout: time.Millisecond}, null{})
	if err == nil || !containsAll(err.Error(), "database", "dsn", "Bad Slot", "publication", "state", `"x"`, "sender timeout") {
		t.Errorf("got %v", err)
	}
	if _, err := Check(t.Context(), Config{}); err == nil {
		t.Error("Check takes an empty configuration")
	}
	if _, err := Init(t.Context(), Config{}); err == nil {
		t.Error("Init takes an empty configuration")
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"public.orders", "public.orders", true},
		{"public.orders", "public.orders2", false},
		{"public.*", "public.a.b", true},
		{"public.*", "publics.a", false},
		{"*.orders", "sales.orders", true},
		{"*.*", "a.b", true},
		{"a*.b*c", "abc.bxc", true},
		{"a*.b*c", "abc.bx", false},
		{"public.a*a", "public.a", false},
		{"public.*x*y*", "public.1x2y3", true},
		{"public.*x*y*", "public.1y2x3", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("%q matches %q: %t", test.pattern, test.name, got)
		}
	}
	c := Config{StateSchema: "cdc", Tables: []TableRule{{Match: "public.a", SnapshotNone: true}, {Match: "*.*"}}}
	if r := c.rule("public", "a"); r == nil || !r.SnapshotNone {
		t.Error("the first match doesn't win")
	}
	if c.rule("cdc", "state") != nil {
		t.Error("our own state is captured")
	}
}

var _ error = (*Error)(nil)

func TestErrorsUnwrap(t *testing.T) {
	cause := errors.New("cause")
	if !errors.Is(&Error{cause: cause}, cause) {
		t.Error("the cause is lost")
	}
}
