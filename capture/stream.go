package capture

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"cdc/capture/catalog"
	"cdc/capture/pgoutput"
	"cdc/schema"
)

// stream receives from the replication connection. It belongs to one goroutine;
// what others may touch are flight, phase and counters.
type stream struct {
	ctx       context.Context // cancelled when receiving has to stop
	cfg       *Config
	conn      *pgconn.PgConn
	publisher Publisher
	flight    *flight
	phase     *phase
	counters  *counters
	check     func(ctx context.Context, oid uint32, xid uint64) error // looks at the table in the catalog once xid is visible
	reference *atomic.Uint64                                          // a recent 64-bit transaction id
	reply     func()                                                  // the server asked for a status update
	accepted  func(tag uint64)

	epoch     uint32
	tables    map[uint32]*known
	relations map[uint32]*relation

	// Of the open transaction.
	open       bool
	commitLSN  schema.LSN
	commitTime schema.Micros
	xid        uint64
	changeLSN  schema.LSN // of the last row change, to count within it
	index      uint32
	counting   bool

	// Used again for every row.
	rowChange   pgoutput.RowChange
	key, oldKey schema.Row
	change      schema.Change
	encoder     schema.Encoder
	message     schema.Message
}

// receive handles messages until ctx is cancelled (it returns ctx's cause), the
// connection is lost, or a message can't be handled.
func (s *stream) receive() error {
	for {
		// No deadline: setting one per message halves the rate. Whoever cancels
		// ctx also wakes the read (see Capture.stream).
		s.phase.touch()
		m, err := s.conn.ReceiveMessage(context.Background())
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		if err != nil {
			return streamError(err)
		}
		s.phase.touch()
		switch m := m.(type) {
		case *pgproto3.CopyData:
			if err := s.frame(m.Data); err != nil {
				return err
			}
		case *pgproto3.ErrorResponse:
			return streamError(pgconn.ErrorResponseToPgError(m))
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		case *pgproto3.CopyDone:
			return findLost(errors.New("the server ended the stream"))
		default:
			return protocolError(fmt.Errorf("message %T inside the stream", m))
		}
	}
}

// streamError is an error that the connection or the server ended the stream with.
func streamError(err error) error {
	lost := findLost(fmt.Errorf("receive: %w", err))
	switch sqlState(err) {
	case "", stateAdminShutdown, stateCrashShutdown, stateCannotConnectNow:
	default:
		lost.finding = blocking("stream_failed", "see the server's message; cdc-publisher check looks at publication and slot", "the server ended the stream")
	}
	return lost
}

// frame handles the content of one CopyData message, which is valid until the
// next one is received.
func (s *stream) frame(data []byte) error {
	if len(data) == 0 {
		return protocolError(pgoutput.ErrShort)
	}
	switch data[0] {
	case pgoutput.XLogDataByte:
		x, err := pgoutput.ParseXLogData(data)
		if err != nil {
			return protocolError(err)
		}
		s.counters.received.Store(max(s.counters.received.Load(), uint64(x.End)))
		return s.wal(x)
	case pgoutput.KeepaliveByte:
		k, err := pgoutput.ParseKeepalive(data)
		if err != nil {
			return protocolError(err)
		}
		s.counters.received.Store(max(s.counters.received.Load(), uint64(k.WALEnd)))
		if !s.open {
			s.flight.keepalive(k.WALEnd)
		}
		if k.ReplyRequested {
			s.reply()
		}
		return nil
	default:
		return protocolError(&pgoutput.UnknownError{Letter: data[0]})
	}
}

func (s *stream) wal(x pgoutput.XLogData) error {
	letter, err := pgoutput.Letter(x.Data)
	if err != nil {
		return protocolError(err)
	}
	switch letter {
	case pgoutput.InsertByte, pgoutput.UpdateByte, pgoutput.DeleteByte:
		if !s.open {
			return protocolError(errOutside)
		}
		return s.row(x.Data, x.Start)
	case pgoutput.BeginByte:
		return s.begin(x.Data)
	case pgoutput.CommitByte:
		return s.commit(x.Data)
	case pgoutput.RelationByte:
		return s.relation(x.Data)
	case pgoutput.TruncateByte:
		return s.truncate(x.Data)
	case pgoutput.MessageByte:
		m, err := pgoutput.ParseMessage(x.Data)
		if err != nil {
			return protocolError(err)
		}
		s.cfg.Log.DebugContext(s.ctx, EventIgnoredMessage, "prefix", m.Prefix, "content_bytes", len(m.Content))
		return nil
	default: // ORIGIN and TYPE say nothing that we need
		return nil
	}
}

var (
	errOutside = errors.New("a row or its RELATION outside of a transaction")
	errInside  = errors.New("a transaction inside of a transaction")
)

func (s *stream) begin(data []byte) error {
	b, err := pgoutput.ParseBegin(data)
	if err != nil {
		return protocolError(err)
	}
	if s.open {
		return protocolError(errInside)
	}
	s.open, s.counting = true, false
	s.commitLSN, s.commitTime = b.FinalLSN, b.CommitTime
	s.xid = catalog.ExtendXID(b.XID, s.reference.Load())
	s.flight.begin()
	return nil
}

func (s *stream) commit(data []byte) error {
	c, err := pgoutput.ParseCommit(data)
	if err != nil {
		return protocolError(err)
	}
	if !s.open || c.CommitLSN != s.commitLSN {
		return protocolError(errors.New("a COMMIT without its BEGIN"))
	}
	s.open = false
	s.flight.commit(c.EndLSN)
	s.counters.transactions.Add(1)
	return nil
}

// relation resolves a RELATION message. The server sends one after whatever
// changed the table, so this is a moment to ask the catalog whether the table is
// still the same: its columns may have got another meaning under the same names.
func (s *stream) relation(data []byte) error {
	m, err := pgoutput.ParseRelation(data)
	if err != nil {
		return protocolError(err)
	}
	if s.tables[m.OID] != nil {
		if !s.open {
			return protocolError(errOutside)
		}
		s.phase.set(WaitingCatalog)
		defer s.phase.set(WaitingSource)
		if err := s.check(s.ctx, m.OID, s.xid); err != nil {
			return err
		}
	}
	s.relations[m.OID] = s.resolve(&m)
	return nil
}

func (s *stream) truncate(data []byte) error {
	t, err := pgoutput.ParseTruncate(data)
	if err != nil {
		return protocolError(err)
	}
	var names []string
	for _, oid := range t.RelationOIDs {
		if k := s.tables[oid]; k != nil {
			names = append(names, k.live.String())
		}
	}
	if len(names) == 0 {
		return &Error{finding: findNotConfigured("that was truncated")}
	}
	return &Error{finding: findTruncated(names)}
}
