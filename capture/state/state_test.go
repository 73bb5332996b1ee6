package state_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"cdc/capture/postgrestest"
	"cdc/capture/state"
	"cdc/schema"
)

// store is the contract.
type store interface {
	Prepare(ctx context.Context) ([]string, error)
	Load(ctx context.Context) (*state.State, error)
	Put(ctx context.Context, s *state.State) error
	Acquire(ctx context.Context) (*state.State, error)
	Checkpoint(ctx context.Context, lsn schema.LSN) error
	SaveTable(ctx context.Context, t state.Table) error
	Close(ctx context.Context) error
}

func TestPostgres(t *testing.T) {
	server := postgrestest.Start(t)
	connect := func(ctx context.Context) (*pgx.Conn, error) {
		cfg, err := pgx.ParseConfig(server.DSN("postgres"))
		if err != nil {
			return nil, err
		}
		cfg.RuntimeParams["application_name"] = "test"
		cfg.RuntimeParams["synchronous_commit"] = "local"
		cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		return pgx.ConnectConfig(ctx, cfg)
	}
	n := 0
	conform(t, func(t *testing.T) (open func() store) {
		n++
		// A name that has to be quoted.
		name := "Cdc " + string(rune('a'+n))
		return func() store {
			s := state.NewPostgres(name, "slot", connect)
			t.Cleanup(func() { _ = s.Close(context.Background()) })
			return s
		}
	})

	t.Run("a broken connection is replaced", func(t *testing.T) {
		s := state.NewPostgres("broken", "slot", connect)
		must(t, prepare(s))
		must(t, s.Put(t.Context(), complete()))
		acquire(t, s)
		server.MustExec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test'")
		if err := s.Checkpoint(t.Context(), 200); err == nil {
			t.Log("the first write after the break went through")
		}
		must(t, s.Checkpoint(t.Context(), 300))
		if got := load(t, s).Checkpoint; got != 300 {
			t.Errorf("checkpoint %s", got)
		}
	})
	t.Run("nothing is locked between two statements", func(t *testing.T) {
		// Whoever is paused there must not keep the heir from taking over.
		other, err := connect(t.Context())
		must(t, err)
		defer other.Close(context.Background())
		watching := func(ctx context.Context) (*pgx.Conn, error) {
			cfg, err := pgx.ParseConfig(server.DSN("postgres"))
			if err != nil {
				return nil, err
			}
			cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
			cfg.Tracer = after(func(sql string) {
				if _, err := other.Exec(ctx, `SELECT FROM paused.state FOR UPDATE NOWAIT`); err != nil {
					t.Errorf("after %s: %v", sql, err)
				}
			})
			return pgx.ConnectConfig(ctx, cfg)
		}
		first := state.NewPostgres("paused", "slot", connect)
		must(t, prepare(first))
		must(t, first.Put(t.Context(), complete()))
		s := state.NewPostgres("paused", "slot", watching)
		acquire(t, s)
		must(t, s.Checkpoint(t.Context(), 200))
		must(t, s.SaveTable(t.Context(), complete().Tables[0]))
		must(t, s.Close(t.Context()))
	})
	t.Run("slots are kept apart", func(t *testing.T) {
		a, b := state.NewPostgres("apart", "a", connect), state.NewPostgres("apart", "b", connect)
		must(t, prepare(a))
		must(t, a.Put(t.Context(), complete()))
		if s, err := b.Load(t.Context()); s != nil || err != nil {
			t.Errorf("b has %+v, %v", s, err)
		}
		must(t, b.Put(t.Context(), complete()))
		acquire(t, a)
		must(t, a.Checkpoint(t.Context(), 500))
		if got := load(t, b).Checkpoint; got != complete().Checkpoint {
			t.Errorf("b's checkpoint is %s", got)
		}
	})
}

func TestFile(t *testing.T) {
	conform(t, func(t *testing.T) (open func() store) {
		path := filepath.Join(t.TempDir(), "new folder", "state.json")
		return func() store { return state.NewFile(path, "slot") }
	})

	t.Run("damage is noticed", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.json")
		s := state.NewFile(path, "slot")
		must(t, s.Put(t.Context(), complete()))
		good, err := os.ReadFile(path)
		must(t, err)
		for name, bad := range map[string]string{
			"cut off":        string(good[:len(good)/2]),
			"empty":          "",
			"newer version":  strings.Replace(string(good), `"format": 1`, `"format": 2`, 1),
			"unknown field":  strings.Replace(string(good), `"slot"`, `"slots"`, 1),
			"another's slot": strings.Replace(string(good), `"slot": "slot"`, `"slot": "other"`, 1),
			"no LSN":         strings.Replace(string(good), "0/64", "64", 1),
		} {
			must(t, os.WriteFile(path, []byte(bad), 0o600))
			if _, err := s.Load(t.Context()); !errors.Is(err, state.ErrFormat) {
				t.Errorf("%s: %v", name, err)
			}
			if err := s.Put(t.Context(), complete()); !errors.Is(err, state.ErrFormat) {
				t.Errorf("%s: overwritten: %v", name, err)
			}
		}
	})
	t.Run("a write that fails leaves the old state", func(t *testing.T) {
		if os.Geteuid() == 0 {
			// root may write everywhere; a folder in the way stops it as well
			path := filepath.Join(t.TempDir(), "state.json")
			must(t, os.Mkdir(path, 0o700))
			must(t, os.WriteFile(filepath.Join(path, "x"), nil, 0o600))
			if err := state.NewFile(path, "slot").Put(t.Context(), complete()); err == nil {
				t.Error("written over a folder")
			}
			return
		}
		dir := t.TempDir()
		s := state.NewFile(filepath.Join(dir, "state.json"), "slot")
		must(t, s.Put(t.Context(), complete()))
		acquire(t, s)
		must(t, os.Chmod(dir, 0o500))
		defer os.Chmod(dir, 0o700)
		if err := s.Checkpoint(t.Context(), 900); err == nil {
			t.Error("written into a folder that is closed")
		}
		if got := load(t, s).Checkpoint; got != complete().Checkpoint {
			t.Errorf("checkpoint %s", got)
		}
	})
	t.Run("a lock that isn't given back is said", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.json")
			s := state.NewFile(path, "slot")
			must(t, s.Put(t.Context(), complete()))
			held, err := os.OpenFile(path+".lock", os.O_RDWR, 0) // as by a process that is stopped
			must(t, err)
			must(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
			if _, err := s.Acquire(t.Context()); !errors.Is(err, state.ErrLocked) {
				t.Errorf("acquired: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Acquire(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			must(t, held.Close())
			acquire(t, s)
		})
	})
	t.Run("nothing is left beside it", func(t *testing.T) {
		dir := t.TempDir()
		s := state.NewFile(filepath.Join(dir, "state.json"), "slot")
		must(t, s.Put(t.Context(), complete()))
		acquire(t, s)
		for lsn := range schema.LSN(20) {
			must(t, s.Checkpoint(t.Context(), 100+lsn))
		}
		entries, err := os.ReadDir(dir)
		must(t, err)
		if len(entries) != 2 { // and the lock
			t.Errorf("%d files", len(entries))
		}
	})
}

// after is called at the end of each statement.
type after func(sql string)

type statement struct{}

func (after) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, statement{}, d.SQL)
}

func (f after) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	f(ctx.Value(statement{}).(string))
}

func complete() *state.State {
	return &state.State{
		SystemID: "7000000000000000001", Timeline: 1, Database: "shop", Epoch: 1 << 31, Checkpoint: 100,
		Tables: []state.Table{
			{OID: 16384, Schema: "public", Name: "a,b", Filenode: 16384, Fingerprint: "f1", AttNums: []int16{1, 3}, SchemaVersion: 1},
			{OID: 4_000_000_000, Schema: "Other", Name: `q"`, Filenode: 4_100_000_000, Fingerprint: "f2", AttNums: []int16{}, SchemaVersion: 7},
		},
	}
}

// conform holds for every store.
func conform(t *testing.T, place func(t *testing.T) (open func() store)) {
	t.Run("none, intended, complete", func(t *testing.T) {
		open := place(t)
		s := open()
		if got, err := s.Load(t.Context()); got != nil || err != nil {
			t.Fatalf("before anything: %+v, %v", got, err)
		}
		made, err := s.Prepare(t.Context())
		must(t, err)
		if len(made) == 0 {
			t.Error("Prepare says it made nothing")
		}
		if made, err = s.Prepare(t.Context()); len(made) != 0 || err != nil {
			t.Errorf("Prepare again: %v, %v", made, err)
		}
		if got, err := s.Acquire(t.Context()); got != nil || err != nil {
			t.Fatalf("acquired nothing: %+v, %v", got, err)
		}
		intention := complete()
		intention.Checkpoint, intention.Tables = 0, nil
		must(t, s.Put(t.Context(), intention))
		if got := load(t, s); got.Complete() {
			t.Error("an intention is complete")
		}
		must(t, s.Put(t.Context(), intention)) // an init that was interrupted
		must(t, s.Put(t.Context(), complete()))
		if err := s.Put(t.Context(), complete()); !errors.Is(err, state.ErrExists) {
			t.Errorf("overwritten: %v", err)
		}
		if diff := cmp.Diff(complete(), load(t, open())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a checkpoint never moves back", func(t *testing.T) {
		open := place(t)
		s := open()
		must(t, prepare(s))
		must(t, s.Put(t.Context(), complete()))
		acquire(t, s)
		for _, lsn := range []schema.LSN{200, 150, 0, 0xFFFF_FFFF_FFFF_FFFF, 1} {
			must(t, s.Checkpoint(t.Context(), lsn))
		}
		if got := load(t, open()).Checkpoint; got != 0xFFFF_FFFF_FFFF_FFFF {
			t.Errorf("checkpoint %s", got)
		}
	})
	t.Run("only the owner writes", func(t *testing.T) {
		open := place(t)
		old := open()
		must(t, prepare(old))
		must(t, old.Put(t.Context(), complete()))
		table := complete().Tables[0]
		refused := func(s store) {
			t.Helper()
			if err := s.Checkpoint(t.Context(), 900); !errors.Is(err, state.ErrSuperseded) {
				t.Errorf("checkpoint: %v", err)
			}
			if err := s.SaveTable(t.Context(), table); !errors.Is(err, state.ErrSuperseded) {
				t.Errorf("table: %v", err)
			}
		}
		refused(old) // who only reads
		acquire(t, old)
		must(t, old.Checkpoint(t.Context(), 200))
		heir := open()
		if got := acquire(t, heir); got.Checkpoint != 200 {
			t.Errorf("the heir starts at %s", got.Checkpoint)
		}
		refused(old) // who was paused
		must(t, heir.Checkpoint(t.Context(), 300))
		if got := load(t, old).Checkpoint; got != 300 {
			t.Errorf("checkpoint %s", got)
		}
		acquire(t, old)
		refused(heir)
	})
	t.Run("tables are replaced one by one", func(t *testing.T) {
		open := place(t)
		s := open()
		must(t, prepare(s))
		must(t, s.Put(t.Context(), complete()))
		acquire(t, s)
		want := complete()
		want.Owner = 1
		want.Tables[1].Filenode = 5
		between := state.Table{OID: 20000, Schema: "public", Name: "n", Fingerprint: "f", AttNums: []int16{1}, SchemaVersion: 1}
		must(t, s.SaveTable(t.Context(), want.Tables[1]))
		must(t, s.SaveTable(t.Context(), between))
		want.Tables = []state.Table{want.Tables[0], between, want.Tables[1]}
		if diff := cmp.Diff(want, load(t, open())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("several at once", func(t *testing.T) {
		open := place(t)
		first := open()
		must(t, prepare(first))
		must(t, first.Put(t.Context(), complete()))
		var wg sync.WaitGroup
		for i := range 4 {
			s := open()
			wg.Go(func() {
				for n := range 10 {
					if _, err := s.Acquire(t.Context()); err != nil {
						t.Error(err)
					}
					if err := s.Checkpoint(t.Context(), schema.LSN(100*n+i)); err != nil && !errors.Is(err, state.ErrSuperseded) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := load(t, first).Owner; got != 40 {
			t.Errorf("40 acquisitions gave token %d", got)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func prepare(s store) error {
	_, err := s.Prepare(context.Background())
	return err
}

func load(t *testing.T, s store) *state.State {
	t.Helper()
	got, err := s.Load(t.Context())
	must(t, err)
	if got == nil {
		t.Fatal("no state")
	}
	return got
}

func acquire(t *testing.T, s store) *state.State {
	t.Helper()
	got, err := s.Acquire(t.Context())
	must(t, err)
	if got == nil {
		t.Fatal("no state")
	}
	return got
}
