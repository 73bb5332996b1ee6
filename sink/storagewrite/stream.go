package storagewrite

import (
	"context"
	"errors"
	"sync"
	"time"

	"cloud.google.com/go/bigquery/storage/managedwriter"
)

// Stream appends rows of one Layout to its table's default stream. Its
// connection is opened by the first append and by the next one after it broke.
// It is safe for concurrent use.
type Stream struct {
	writer *Writer
	layout *Layout

	opening sync.Mutex // held while the connection is opened
	mu      sync.Mutex
	managed *managedwriter.ManagedStream // nil while closed
	cancel  context.CancelFunc
	// inFlight and lastUsed say whether it may be closed for another.
	inFlight int
	lastUsed time.Time
}

// Stream returns a stream of l's rows. It doesn't connect yet.
func (w *Writer) Stream(l *Layout) *Stream { return &Stream{writer: w, layout: l} }

// Append appends rows, made by AppendRow with the stream's Layout, as one
// request of at most MaxRequestBytes, and waits for the answer. nil means
// written; otherwise the error is an *AppendError, or ctx's if it was cancelled.
// Whether rows were written is then unknown unless the verdict says so. rows
// mustn't be changed before the return; after an error other than RefusedRows,
// Refused and Missing, never: the library may still be sending them.
func (s *Stream) Append(ctx context.Context, rows [][]byte) error {
	s.use(1)
	defer s.use(-1)
	ctx, cancel := context.WithTimeout(ctx, s.writer.cfg.AppendTimeout)
	defer cancel()
	managed, err := s.connect(ctx)
	if err != nil {
		return s.failed(ctx, managed, classify(nil, err))
	}
	result, err := managed.AppendRows(ctx, rows)
	if err != nil {
		return s.failed(ctx, managed, classify(nil, err))
	}
	response, err := result.FullResponse(ctx)
	if err != nil {
		return s.failed(ctx, managed, classify(response, err))
	}
	return nil
}

// failed closes the connection if it is of no use any more.
func (s *Stream) failed(ctx context.Context, managed *managedwriter.ManagedStream, err *AppendError) error {
	if err.reopen && managed != nil {
		s.closeIf(func() bool { return s.managed == managed }, "broken")
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return err
}

func (s *Stream) use(n int) {
	s.mu.Lock()
	s.inFlight += n
	s.lastUsed = time.Now()
	s.mu.Unlock()
}

// connect returns the connection, which it opens if there is none. Opening calls
// BigQuery under a lock of the library; ctx ends it, so that a server that
// doesn't answer can't hold other tables for longer.
func (s *Stream) connect(ctx context.Context) (*managedwriter.ManagedStream, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	managed := s.managed
	s.mu.Unlock()
	if managed != nil {
		return managed, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.writer.admit(s); err != nil {
		return nil, err
	}
	streamCtx, cancel := context.WithCancel(s.writer.ctx)
	stop := context.AfterFunc(ctx, cancel)
	managed, err := s.writer.client.NewManagedStream(streamCtx,
		managedwriter.WithDestinationTable(s.layout.table.Path),
		managedwriter.WithType(managedwriter.DefaultStream),
		managedwriter.WithSchemaDescriptor(s.layout.descriptor),
		managedwriter.EnableWriteRetries(false),
		managedwriter.WithMaxInflightRequests(inFlightRequests),
		managedwriter.WithMaxInflightBytes(inFlightBytes))
	if err == nil && !stop() {
		err = context.Cause(ctx) // too late: streamCtx is cancelled
		managed.Close()
	}
	if err != nil {
		stop()
		cancel()
		s.writer.left(s)
		return nil, err
	}
	s.mu.Lock()
	s.managed, s.cancel = managed, cancel
	s.mu.Unlock()
	s.writer.log.Info(EventStreamOpened, "table", s.layout.table.Path)
	return managed, nil
}

// Close closes the connection; the next append opens another. Appends in flight fail.
func (s *Stream) Close() { s.closeIf(func() bool { return true }, "end") }

// closeIf closes the connection if there is one and the condition, which is
// called under the lock, holds.
func (s *Stream) closeIf(condition func() bool, reason string) bool {
	s.mu.Lock()
	managed, cancel := s.managed, s.cancel
	if managed == nil || !condition() {
		s.mu.Unlock()
		return false
	}
	s.managed, s.cancel = nil, nil
	s.mu.Unlock()
	_ = managed.Close() // io.EOF, always
	cancel()
	s.writer.left(s)
	s.writer.log.Info(EventStreamClosed, "table", s.layout.table.Path, "reason", reason)
	return true
}
