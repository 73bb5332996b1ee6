package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"cdc/schema"
)

// A status is due when something new is confirmed, before the server's timeout,
// and when the server asks, but then at most so often.
func TestStatusPace(t *testing.T) {
	const timeout = 6 * time.Second
	cfg := Config{SenderTimeout: timeout}
	for _, test := range []struct {
		name      string
		since     time.Duration
		requested bool
		confirmed uint64
		want      bool
	}{
		{"nothing new", time.Second, false, 5, false},
		{"confirmed more", 0, false, 6, true},
		{"a third of the timeout", timeout / 3, false, 5, true},
		{"not yet a third", timeout/3 - 1, false, 5, false},
		{"asked", timeout / 10, true, 5, true},
		{"asked again at once", timeout/10 - 1, true, 5, false},
		{"a tenth of the timeout, not asked", timeout / 10, false, 5, false},
	} {
		var confirmed atomic.Uint64
		confirmed.Store(test.confirmed)
		s := newStatus(&cfg, nil, &confirmed)
		now := time.Now()
		s.sent, s.lsn = now.Add(-test.since), 5
		if test.requested {
			s.request()
		}
		if got := s.due(now); got != test.want {
			t.Errorf("%s: due %v, want %v", test.name, got, test.want)
		}
	}
	// However long the server's timeout is, others look at pg_stat_replication.
	s := newStatus(&Config{SenderTimeout: time.Hour}, nil, nil)
	if s.every != 10*time.Second || s.atMost != time.Second {
		t.Errorf("every %v, at most every %v", s.every, s.atMost)
	}
}

// statusOver returns a status whose server is the other end of a pipe.
func statusOver(t *testing.T, cfg *Config, confirmed *atomic.Uint64) (*status, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	config, err := pgconn.ParseConfig("host=127.0.0.1 user=x dbname=x sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.Construct(&pgconn.HijackedConn{
		Conn: ours, Frontend: pgproto3.NewFrontend(ours, ours), Config: config, TxStatus: 'I',
		ParameterStatuses: map[string]string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newStatus(cfg, conn, confirmed), theirs
}

// What is sent is what is confirmed, three times (see pgoutput), and an answer
// that was asked for is given once.
func TestStatusSend(t *testing.T) {
	var confirmed atomic.Uint64
	confirmed.Store(77)
	cfg := Config{SenderTimeout: time.Minute}
	s, server := statusOver(t, &cfg, &confirmed)
	got := make(chan []byte, 1)
	go func() {
		frame := make([]byte, 5+34)
		_, _ = io.ReadFull(server, frame)
		got <- frame[5:]
	}()
	s.request()
	now := time.Now()
	if !s.due(now) {
		t.Error("the first isn't due at once")
	}
	if err := s.send(now); err != nil {
		t.Fatal(err)
	}
	for at, frame := 1, <-got; at <= 17; at += 8 {
		if lsn := binary.BigEndian.Uint64(frame[at:]); lsn != 77 {
			t.Errorf("byte %d: LSN %d", at, lsn)
		}
	}
	if s.requested.Load() || s.lsn != schema.LSN(77) || s.due(now.Add(s.atMost)) {
		t.Errorf("after sending: requested %v, sent %s", s.requested.Load(), s.lsn)
	}
	_ = server.Close()
	if err := s.send(now); !isLost(err) || codeOf(t, err) != "connection_lost" {
		t.Errorf("sending to nobody: %v", err)
	}
}

// A stream is over once the server says so, whatever it sends before, and whatever
// deadline woke the goroutine that received.
func TestStatusLeaves(t *testing.T) {
	var confirmed atomic.Uint64
	cfg := Config{SenderTimeout: time.Minute}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, test := range []struct {
		name, code string
		last       pgproto3.BackendMessage
	}{
		{"ended", "", &pgproto3.ReadyForQuery{TxStatus: 'I'}},
		{"refused", "stream_failed", &pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000"}},
		{"hung up", "connection_lost", nil},
	} {
		s, server := statusOver(t, &cfg, &confirmed)
		_ = s.conn.Conn().SetReadDeadline(time.Unix(1, 0))
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			frame := make([]byte, 5)
			_, _ = io.ReadFull(server, frame)
			if frame[0] != 'c' {
				t.Errorf("%s: sent %q", test.name, frame)
			}
			var out []byte
			for _, m := range []pgproto3.BackendMessage{
				&pgproto3.CopyData{Data: []byte("k")}, &pgproto3.CopyDone{},
				&pgproto3.CommandComplete{CommandTag: []byte("COPY 0")}, test.last,
			} {
				if m != nil {
					out, _ = m.Encode(out)
				}
			}
			_, _ = server.Write(out)
			_ = server.Close()
		}()
		err := s.leave(ctx)
		if got := codeOrNone(t, err); got != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
		<-answered
	}
}

// A stream on which nothing arrives is lost, unless it can't move because of us.
func TestSilentStreamIsLost(t *testing.T) {
	var confirmed atomic.Uint64
	cfg := Config{SenderTimeout: time.Minute, pace: pace{tick: time.Millisecond, received: 20 * time.Millisecond}}
	s, server := statusOver(t, &cfg, &confirmed)
	go func() { _, _ = io.Copy(io.Discard, server) }()
	var p phase
	p.set(WaitingSource)
	err := s.run(t.Context(), &cfg, &p)
	if !isLost(err) || codeOf(t, err) != "connection_lost" {
		t.Errorf("silent: %v", err)
	}
	p.set(WaitingWindow)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*cfg.pace.received, errStop)
	defer cancel()
	if err := s.run(ctx, &cfg, &p); err != nil || !errors.Is(context.Cause(ctx), errStop) {
		t.Errorf("while the window is full: %v", err)
	}
}
