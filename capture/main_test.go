package capture

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cdc/capture/postgrestest"
)

// server is shared by the tests that don't stop it; each has its own database,
// role, slot and publication.
var server *postgrestest.Server

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(envChild) != "" {
		return childMain()
	}
	// They wait more than they compute: for the server, for the next pace. The
	// command line overrides it.
	err := flag.Set("test.parallel", strconv.Itoa(max(6, runtime.GOMAXPROCS(0))))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	server, err = postgrestest.Launch(context.Background(), postgrestest.Options{Settings: map[string]string{
		"max_replication_slots": "40", "max_wal_senders": "40", "max_connections": "200",
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer server.Close()
	return m.Run()
}

var databases atomic.Int32

// database is one test's database on a server.
type database struct {
	tb     testing.TB
	server *postgrestest.Server
	name   string
}

// newDatabase makes a database that belongs to a role which isn't a superuser
// and may replicate, and runs statements in it as that role.
func newDatabase(tb testing.TB, statements ...string) *database {
	tb.Helper()
	return newDatabaseOn(tb, server, statements...)
}

func newDatabaseOn(tb testing.TB, on *postgrestest.Server, statements ...string) *database {
	tb.Helper()
	d := &database{tb, on, fmt.Sprintf("db%d", databases.Add(1))}
	if err := on.CreateDB(tb.Context(), d.name); err != nil {
		tb.Fatal(err)
	}
	on.MustExec(tb, d.name, "CREATE ROLE "+d.name+" LOGIN REPLICATION PASSWORD 'secret'",
		"GRANT CREATE ON DATABASE "+d.name+" TO "+d.name, "GRANT CREATE ON SCHEMA public TO "+d.name)
	d.exec(statements...)
	tb.Cleanup(func() {
		// The shared server would run out of slots.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = on.Exec(ctx, d.name, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database() AND NOT active")
	})
	return d
}

// dsn is the role's.
func (d *database) dsn() string {
	u, err := url.Parse(d.server.DSN(d.name))
	if err != nil {
		d.tb.Fatal(err)
	}
	u.User = url.UserPassword(d.name, "secret")
	return u.String()
}

// exec runs statements as the role.
func (d *database) exec(statements ...string) {
	d.tb.Helper()
	for _, s := range statements {
		d.server.MustExec(d.tb, d.name, "SET ROLE "+d.name+"; "+s)
	}
}

// admin runs statements as the superuser.
func (d *database) admin(statements ...string) {
	d.tb.Helper()
	d.server.MustExec(d.tb, d.name, statements...)
}

// config captures all of public at a fast pace.
func (d *database) config() Config {
	return Config{
		Database: "shop", DSN: func() (string, error) { return d.dsn(), nil },
		Slot: "slot_" + d.name, Publication: "pub_" + d.name, StateSchema: "cdc",
		Tables:      []TableRule{{Match: "public.*"}},
		StopTimeout: 5 * time.Second,
		pace: pace{
			confirmEvery: 50 * time.Millisecond, idleConfirmEvery: 50 * time.Millisecond, tick: 10 * time.Millisecond,
			pollEvery: 300 * time.Millisecond, slotRetryMax: 100 * time.Millisecond,
		},
	}
}

// slotIdle waits until the server has noticed that nobody streams any more.
func (d *database) slotIdle(slot string) {
	d.tb.Helper()
	eventually(d.tb, "slot idle", func() bool {
		return query[bool](d, `SELECT NOT active FROM pg_replication_slots WHERE slot_name = $1`, slot)
	})
}

// query returns one value.
func query[T any](d *database, sql string, args ...any) T {
	d.tb.Helper()
	conn := d.server.Conn(d.tb, d.name)
	defer conn.Close(context.Background())
	var v T
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		d.tb.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
