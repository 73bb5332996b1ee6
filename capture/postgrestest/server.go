package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options say how a server differs from the default. The zero value is a good server.
type Options struct {
	// Fsync leaves fsync on: the server waits for the disk, as in production. Off, a crash of the machine loses data; of the server, not.
	Fsync bool
	// Settings are written to postgresql.conf after everything else.
	Settings map[string]string
	// Install is the server to run; the zero value means the one that Find finds.
	Install Install
	// Progress, unless nil, is told what takes long: a download.
	Progress func(what string)
}

// An Option changes the Options of [Start].
type Option func(*Options)

// Fsync leaves fsync on. See Options.
func Fsync() Option { return func(o *Options) { o.Fsync = true } }

// Setting sets one parameter of postgresql.conf.
func Setting(name, value string) Option {
	return func(o *Options) {
		if o.Settings == nil {
			o.Settings = map[string]string{}
		}
		o.Settings[name] = value
	}
}

// Use runs the given server instead of the one that Find finds.
func Use(in Install) Option { return func(o *Options) { o.Install = in } }

const (
	startLimit     = 60 * time.Second // until the server accepts connections; crash recovery included
	stopLimit      = 30 * time.Second // until a stopped server is gone; then it is killed
	portAttempts   = 5
	logTailBytes   = 64 << 10
	pollInterval   = 10 * time.Millisecond
	crashWaitLimit = 10 * time.Second // until a killed server's last process has let go of its memory
)

// Start runs a server that ends with the test. It fails the test, with what to do, when there is none on this machine.
// When the test fails, the end of the server's log is shown.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	var o Options
	for _, opt := range opts {
		opt(&o)
	}
	s, err := Launch(tb.Context(), o)
	if err != nil {
		tb.Fatalf("start a Postgres for this test: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of Postgres %s on port %d:\n%s", s.Version(), s.Port(), s.Log())
		}
		if err := s.Close(); err != nil {
			tb.Errorf("close Postgres: %v", err)
		}
	})
	return s
}

// A Server is one throw-away Postgres. Its methods may be called from several goroutines; those that start or stop it wait for each other.
type Server struct {
	install  Install
	account  account
	folder   string // holds data, the server's log, nothing else
	password string
	port     int
	patience time.Duration // stopLimit

	mu      sync.Mutex
	janitor *janitor
	proc    *process // nil when stopped
	killed  bool     // the last stop was Kill
	closed  bool
}

// Launch starts a server. ctx bounds the start alone; the server lives until Close, or until this process dies.
// The error is an [*Error].
func Launch(ctx context.Context, o Options) (*Server, error) {
	s, err := launch(ctx, o)
	if err == nil {
		return s, nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	return nil, startFailed("", "start Postgres: %w", err)
}

func launch(ctx context.Context, o Options) (*Server, error) {
	in := o.Install
	if in.Bin == "" {
		var err error
		if in, err = findOnce(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	acct := serverAccount()
	tmpl, err := makeTemplate(ctx, acct, in)
	if err != nil {
		return nil, err
	}
	folder, err := acct.tempFolder()
	if err != nil {
		return nil, err
	}
	// Before anything else is in the folder: from here on it goes away whatever happens to us.
	j, err := startJanitor(acct, folder)
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	s := &Server{install: in, account: acct, folder: folder, password: tmpl.password, patience: stopLimit, janitor: j}
	if err := s.firstStart(ctx, tmpl, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) firstStart(ctx context.Context, tmpl template, o Options) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// From the copy on: cp isn't ours to kill once we are dead.
	if err := s.janitor.starting(); err != nil {
		return err
	}
	if err := tmpl.copyTo(ctx, s.account, s.data()); err != nil {
		return err
	}
	if err := appendConfig(filepath.Join(s.data(), "postgresql.conf"), o); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		err = s.start(ctx)
		// Between our look and the server's bind somebody else may have taken the port.
		if err == nil || attempt == portAttempts || ctx.Err() != nil || portIsFree(port) {
			return err
		}
	}
}

// start starts the postmaster and waits until it accepts connections. s.mu is held.
func (s *Server) start(ctx context.Context) error {
	if s.closed {
		return errors.New("start Postgres: the server is closed")
	}
	if s.proc != nil && !s.proc.gone() {
		return errors.New("start Postgres: it is running")
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	giveUp := time.Now().Add(crashWaitLimit)
	for {
		p, err := startProcess(s.account, s.install, s.folder, s.port, s.janitor)
		if err != nil {
			return err
		}
		err = p.waitReady(ctx, s.data())
		if err == nil {
			s.proc, s.killed = p, false
			return nil
		}
		p.signal(syscall.SIGKILL)
		<-p.exited
		// After a crash the shared memory stays in use until the last backend has noticed; the server refuses to start meanwhile.
		if !s.killed || ctx.Err() != nil || time.Now().After(giveUp) {
			return startFailed(s.Log(), "start %s: %w", s.install.program("postgres"), err)
		}
	}
}

// A Mode says how Stop stops. See the manual, "Shutting Down the Server".
type Mode int

// The three ways that a Postgres can be asked to stop.
const (
	Smart     Mode = iota // waits until all clients have gone
	Fast                  // ends their transactions; waits until walsenders' clients have received everything
	Immediate             // as a crash, but orderly; recovery at the next start
)

func (m Mode) signal() syscall.Signal {
	return [...]syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT}[m]
}

// Stop stops the server and keeps its data, so that Restart can start it again. A server that isn't gone within 30 s
// (clients can delay Smart and Fast for ever) is killed and Stop says so. Stopping a stopped server does nothing.
func (s *Server) Stop(m Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(m)
}

func (s *Server) stop(m Mode) error {
	if s.proc == nil {
		return nil
	}
	p := s.proc
	p.signal(m.signal())
	timer := time.NewTimer(s.patience)
	defer timer.Stop()
	select {
	case <-p.exited:
		s.proc = nil
		return nil
	case <-timer.C:
	}
	s.kill()
	return &Error{
		code: CodeStopFailed,
		fix:  "Close the clients first, or stop with Immediate.",
		err:  fmt.Errorf("stop Postgres: still there after %s, killed\n%s", s.patience, s.Log()),
	}
}

// Kill kills the server with SIGKILL, its backends too, as when the machine's power goes (what the kernel has stays, though).
// It returns when the processes are gone. Restart then goes through crash recovery.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	if s.proc == nil {
		return
	}
	s.proc.killAll()
	s.proc, s.killed = nil, true
}

// Restart starts the server again, on the same port and data. A running one is first stopped, Fast.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(Fast); err != nil {
		return err
	}
	return s.start(ctx)
}

// Close stops the server at once and removes its data. It may be called again.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.stop(Immediate)
	if s.killed {
		removeSharedMemory(s.account, s.data())
	}
	if rerr := os.RemoveAll(s.folder); rerr != nil {
		err = errors.Join(err, fmt.Errorf("remove %s: %w", s.folder, rerr))
	}
	return errors.Join(err, s.janitor.dismiss())
}

// Port returns the TCP port on 127.0.0.1. It stays the same for the server's whole life.
func (s *Server) Port() int { return s.port }

// Version returns what postgres --version says, for example 15.18.
func (s *Server) Version() string { return s.install.Version }

// Major returns the version's first number, for example 15.
func (s *Server) Major() int { return s.install.Major }

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// Log returns the end of the server's log, 64 KiB at most.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.folder, logName))
	if err != nil {
		return ""
	}
	if len(text) > logTailBytes {
		text = text[len(text)-logTailBytes:]
	}
	return strings.TrimSpace(string(text))
}
