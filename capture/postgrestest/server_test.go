package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestStart(t *testing.T) {
	Start(t) // the template is there now
	began := time.Now()
	s := Start(t)
	took := time.Since(began)
	t.Logf("Postgres %s started in %s", s.Version(), took.Round(time.Millisecond))
	if s.Port() == 5432 || s.Port() < firstPort || s.Port() > lastPort {
		t.Errorf("port %d", s.Port())
	}
	conn := s.Conn(t, "postgres")
	for name, want := range map[string]string{
		"wal_level": "logical", "fsync": "off", "port": strconv.Itoa(s.Port()), "listen_addresses": "127.0.0.1",
		"server_encoding": "UTF8", "server_version_num": "", "data_checksums": "on", "timezone": "UTC",
	} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if want != "" && got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
		if name == "server_version_num" && !strings.HasPrefix(got, strconv.Itoa(s.Major())) {
			t.Errorf("version %s, major %d", got, s.Major())
		}
	}
}

func TestSettings(t *testing.T) {
	s := Start(t, Fsync(), Setting("wal_sender_timeout", "7s"), Setting("cluster_name", "it's"))
	conn := s.Conn(t, "postgres")
	for name, want := range map[string]string{"fsync": "on", "wal_sender_timeout": "7s", "cluster_name": "it's"} {
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, want %s (%v)", name, got, want, err)
		}
	}
}

func TestSQL(t *testing.T) {
	s := Start(t)
	const db = `odd "name`
	if err := s.CreateDB(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s.MustExec(t, db, "CREATE TABLE a (id int); INSERT INTO a VALUES (1), (2)", "SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
	var rows, slots int
	err := s.Conn(t, db).QueryRow(t.Context(), "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM pg_replication_slots)").Scan(&rows, &slots)
	if err != nil || rows != 2 || slots != 1 {
		t.Errorf("%d rows, %d slots, %v", rows, slots, err)
	}
	if err := s.Exec(t.Context(), db, "SELECT 1/0"); err == nil {
		t.Error("an error of the server is lost")
	}
	// A walsender, and the protocol's own command.
	repl, err := pgconn.Connect(t.Context(), s.ReplicationDSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer repl.Close(t.Context())
	if _, err := repl.Exec(t.Context(), "IDENTIFY_SYSTEM").ReadAll(); err != nil {
		t.Error(err)
	}
	// The password is asked for: other users of this machine stay out.
	wrong := strings.Replace(s.DSN(db), s.password, "wrong", 1)
	if conn, err := pgconn.Connect(t.Context(), wrong); err == nil {
		conn.Close(t.Context())
		t.Error("let in with a wrong password")
	}
}

// The data folder belongs to an account that isn't root, and nobody else can look into it.
func TestAccount(t *testing.T) {
	s := Start(t)
	for _, path := range []string{s.folder, s.data(), filepath.Join(s.data(), "postmaster.pid")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 || uid != s.account.uid {
			t.Errorf("%s belongs to %d", path, uid)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
	}
}

func TestStopAndRestart(t *testing.T) {
	s := Start(t)
	s.MustExec(t, "postgres", "CREATE TABLE a (n int)")
	port := s.Port()
	for i, stop := range []func() error{
		func() error { return s.Stop(Smart) },
		func() error { return s.Stop(Fast) },
		func() error { return s.Stop(Immediate) },
		func() error { s.Kill(); return nil },
		func() error { s.Kill(); s.Kill(); return s.Stop(Fast) }, // a stopped server stays stopped
		func() error { return nil },                              // Restart of a running one
	} {
		s.MustExec(t, "postgres", "INSERT INTO a VALUES (1)")
		if err := stop(); err != nil {
			t.Fatalf("stop %d: %v", i, err)
		}
		if err := s.Restart(t.Context()); err != nil {
			t.Fatalf("restart %d: %v", i, err)
		}
		var n int
		if err := s.Conn(t, "postgres").QueryRow(t.Context(), "SELECT count(*) FROM a").Scan(&n); err != nil || n != i+1 {
			t.Fatalf("after restart %d: %d rows, %v", i, n, err)
		}
		// Smart waits for clients.
		if err := s.Exec(t.Context(), "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
	}
	if s.Port() != port {
		t.Errorf("the port went from %d to %d", port, s.Port())
	}
}

// A client can hold up Smart for ever: Stop doesn't wait that long, and doesn't hide it.
func TestStopHasALimit(t *testing.T) {
	s := Start(t)
	s.patience = 50 * time.Millisecond
	conn := s.Conn(t, "postgres")
	err := s.Stop(Smart)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code() != CodeStopFailed || e.Fix() == "" {
		t.Errorf("got %v", err)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("the server is still there")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

// Kill ends the backends as well, in the middle of what they do, and the next start recovers.
func TestKillEndsBackends(t *testing.T) {
	s := Start(t)
	conn := s.Conn(t, "postgres")
	var pid int
	if err := conn.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT sum(i) FROM generate_series(1, 1000000000000) i") // never looks at a latch
		done <- err
	}()
	s.Kill()
	if err := <-done; err == nil {
		t.Error("the query came to an end")
	}
	if err := syscall.Kill(pid, 0); err == nil && alive(pid) {
		t.Errorf("backend %d is alive", pid)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Log(), "was not properly shut down") {
		t.Errorf("no crash recovery:\n%s", s.Log())
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, kill := range []bool{false, true} {
		s, err := Launch(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		pid := s.proc.cmd.Process.Pid
		lines := lockFile(s.data())
		if kill {
			s.Kill()
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.folder); err == nil {
			t.Errorf("%s is still there", s.folder)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is still there", pid)
		}
		// The System V segment, as Linux lists it.
		if segments, err := os.ReadFile("/proc/sysvipc/shm"); err == nil {
			id := strings.Fields(lines[6])[1]
			for line := range strings.Lines(string(segments)) {
				if f := strings.Fields(line); len(f) > 1 && f[1] == id {
					t.Errorf("kill %t: shared memory %s is still there", kill, id)
				}
			}
		}
		if err := s.Restart(t.Context()); err == nil {
			t.Error("a closed server starts again")
		}
	}
}

func TestLaunchFails(t *testing.T) {
	keepCache(t)
	acct := serverAccount()
	tmp, err := acct.tempFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	expect := func(err error, parts ...string) {
		t.Helper()
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code() != CodeStartFailed || e.Fix() == "" || e.ExitCode() != 1 {
			t.Errorf("got %v", err)
			return
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v\ndoesn't say %q", err, part)
			}
		}
		if left, _ := os.ReadDir(tmp); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	_, err = Launch(t.Context(), Options{Settings: map[string]string{"wal_level": "nonsense"}})
	expect(err, `invalid value for parameter "wal_level"`) // the server's log is in the error
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Launch(ctx, Options{Install: Install{Bin: "/nonexistent", Version: "15.0"}})
	expect(err)
}

// Somebody has the port between our look and the server's bind: another one is tried, and none is taken twice.
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := Start(t)
	taken := l.Addr().(*net.TCPAddr).Port
	if portIsFree(taken) || portIsFree(s.Port()) {
		t.Error("a port in use counts as free")
	}
	if err := s.Stop(Fast); err != nil {
		t.Fatal(err)
	}
	// Restart keeps its port: it says so when that can't be.
	s.port = taken
	err = s.Restart(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Code() != CodeStartFailed || !strings.Contains(err.Error(), fmt.Sprint(taken)) {
		t.Errorf("got %v", err)
	}
}

// fatalTB catches what Start says to a test that can't have a server.
type fatalTB struct {
	testing.TB
	said string
}

func (f *fatalTB) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f) // the real one ends the goroutine
}

func TestNoServerFailsTheTest(t *testing.T) {
	t.Setenv(EnvBin, "/nonexistent/bin")
	tb := &fatalTB{TB: t}
	func() {
		defer func() {
			if r := recover(); r != tb {
				t.Errorf("Start ended with %v", r)
			}
		}()
		Start(tb)
	}()
	for _, part := range []string{"/nonexistent/bin", "Set " + EnvBin} {
		if !strings.Contains(tb.said, part) {
			t.Errorf("%q doesn't say %q", tb.said, part)
		}
	}
}
