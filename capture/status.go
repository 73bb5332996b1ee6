package capture

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"cdc/capture/pgoutput"
	"cdc/schema"
)

// status sends standby status updates. It is the only writer of the replication
// connection once the stream has started. It goes on while the window is full or
// the publisher blocks: a server that hears nothing for wal_sender_timeout ends
// the connection.
type status struct {
	conn      *pgconn.PgConn
	confirmed *atomic.Uint64 // the last durable checkpoint
	every     time.Duration  // at least
	atMost    time.Duration  // between two answers to keepalives that ask for one: a server may ask without end
	requested atomic.Bool

	buffer []byte
	sent   time.Time
	lsn    schema.LSN
}

func newStatus(cfg *Config, conn *pgconn.PgConn, confirmed *atomic.Uint64) *status {
	return &status{
		conn: conn, confirmed: confirmed,
		every:  min(10*time.Second, cfg.SenderTimeout/3),
		atMost: min(time.Second, cfg.SenderTimeout/10),
	}
}

// request notes that the server asked for an answer. Any goroutine may call it.
func (s *status) request() { s.requested.Store(true) }

func (s *status) due(now time.Time) bool {
	since := now.Sub(s.sent)
	return schema.LSN(s.confirmed.Load()) > s.lsn || since >= s.every || since >= s.atMost && s.requested.Load()
}

func (s *status) send(now time.Time) error {
	s.requested.Store(false)
	lsn := schema.LSN(s.confirmed.Load())
	s.buffer = pgoutput.AppendStatusUpdate(s.buffer[:0], lsn, schema.MicrosOf(now), false)
	if err := s.conn.Frontend().SendUnbufferedEncodedCopyData(s.buffer); err != nil {
		return findLost(fmt.Errorf("send status: %w", err))
	}
	s.sent, s.lsn = now, lsn
	return nil
}

// leave ends the stream and waits until the server has ended it too: then it has
// handled the last status and let the slot go. A server that is about to send
// when the connection is closed ends with that error and never reads the status.
// Nobody else reads from the connection any more.
func (s *status) leave(ctx context.Context) error {
	s.conn.Frontend().Send(&pgproto3.CopyDone{})
	if err := s.conn.Frontend().Flush(); err != nil {
		return findLost(fmt.Errorf("end the stream: %w", err))
	}
	deadline, _ := ctx.Deadline()
	for {
		// Again each time: the one that woke the receiving goroutine may come late.
		_ = s.conn.Conn().SetReadDeadline(deadline)
		m, err := s.conn.ReceiveMessage(context.Background())
		if err != nil && pgconn.Timeout(err) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return findLost(fmt.Errorf("end the stream: %w", err))
		}
		switch m := m.(type) {
		case *pgproto3.ReadyForQuery:
			return nil
		case *pgproto3.ErrorResponse:
			return streamError(pgconn.ErrorResponseToPgError(m))
		}
	}
}

// run sends what is due until ctx is cancelled or sending fails. A stream that
// has been silent for too long is lost too: the server sends a keepalive at
// least every half wal_sender_timeout.
func (s *status) run(ctx context.Context, cfg *Config, p *phase) error {
	ticker := time.NewTicker(cfg.pace.tick)
	defer ticker.Stop()
	heard := time.Now()
	for {
		now := time.Now()
		if s.due(now) {
			if err := s.send(now); err != nil {
				return err
			}
		}
		if p.alive() {
			heard = now
		} else if now.Sub(heard) > cfg.pace.received {
			return findLost(fmt.Errorf("nothing received for %d ms", now.Sub(heard).Milliseconds()))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
