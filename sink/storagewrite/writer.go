package storagewrite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cloud.google.com/go/bigquery/storage/managedwriter"
	"google.golang.org/api/option"
)

// Limits of the service (https://cloud.google.com/bigquery/quotas#write-api-limits:
// 20 MB a request; the client's own comment still says 10).
const (
	// MaxRequestBytes is the most that the rows of one append may have.
	MaxRequestBytes = 9 << 20
	// streamsAConnection is half of what a connection carries: above 100 streams
	// on one, opening another hangs without an error.
	streamsAConnection = 50
	inFlightRequests   = 4 // a stream; the sink has at most 2
	inFlightBytes      = inFlightRequests * MaxRequestBytes
)

// Config says how a Writer works.
type Config struct {
	Project    string
	MaxStreams int // open at once; 200 if zero
	// AppendTimeout is the deadline of one append, from the opening of the stream
	// to the answer. At its end the stream is closed. 60 s if zero.
	AppendTimeout time.Duration
	// IdleTimeout is after how long an unused stream is closed; 5 min if zero.
	IdleTimeout time.Duration
}

// Writer appends rows to tables, with one Stream each. It is safe for concurrent use.
type Writer struct {
	cfg    Config
	client *managedwriter.Client
	ctx    context.Context // of all streams: a short one would end their connections
	cancel context.CancelFunc
	log    *slog.Logger

	closeOnce func() error

	mu   sync.Mutex
	open map[*Stream]struct{}
}

// New returns a Writer. Its connections are made with options and live until
// Close, whatever becomes of ctx.
func New(ctx context.Context, cfg Config, log *slog.Logger, options ...option.ClientOption) (*Writer, error) {
	if cfg.MaxStreams == 0 {
		cfg.MaxStreams = 200
	}
	if cfg.AppendTimeout == 0 {
		cfg.AppendTimeout = time.Minute
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = 5 * time.Minute
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	options = append(options[:len(options):len(options)], option.WithGRPCConnectionPool(cfg.MaxStreams/streamsAConnection+1), withRouting())
	client, err := managedwriter.NewClient(ctx, cfg.Project, options...)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connect to BigQuery's Storage Write API: %w", err)
	}
	w := &Writer{cfg: cfg, client: client, ctx: ctx, cancel: cancel, log: log, open: make(map[*Stream]struct{})}
	w.closeOnce = sync.OnceValue(w.close)
	return w, nil
}

// Close closes all streams and connections. Appends in flight fail. A second
// call does nothing.
func (w *Writer) Close() error { return w.closeOnce() }

func (w *Writer) close() error {
	for _, s := range w.streams() {
		s.Close()
	}
	w.cancel()
	if err := w.client.Close(); err != nil {
		return fmt.Errorf("close connections: %w", err)
	}
	return nil
}

// CloseIdle closes the streams that weren't used for the idle timeout.
func (w *Writer) CloseIdle(now time.Time) {
	for _, s := range w.streams() {
		s.closeIf(func() bool { return s.inFlight == 0 && now.Sub(s.lastUsed) >= w.cfg.IdleTimeout }, "idle")
	}
}

// OpenStreams returns the number of open streams.
func (w *Writer) OpenStreams() int { return len(w.streams()) }

func (w *Writer) streams() []*Stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*Stream, 0, len(w.open))
	for s := range w.open {
		all = append(all, s)
	}
	return all
}

var errTooManyStreams = errors.New("all streams are in use")

// admit makes room for one more open stream, by closing the least recently used.
func (w *Writer) admit(s *Stream) error {
	w.mu.Lock()
	full := len(w.open) >= w.cfg.MaxStreams
	if !full {
		w.open[s] = struct{}{}
	}
	w.mu.Unlock()
	if !full {
		return nil
	}
	var oldest *Stream
	var used time.Time
	for _, other := range w.streams() {
		other.mu.Lock()
		if other.inFlight == 0 && (oldest == nil || other.lastUsed.Before(used)) {
			oldest, used = other, other.lastUsed
		}
		other.mu.Unlock()
	}
	if oldest == nil || !oldest.closeIf(func() bool { return oldest.inFlight == 0 }, "least recently used") {
		return errTooManyStreams
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[s] = struct{}{}
	return nil
}

func (w *Writer) left(s *Stream) {
	w.mu.Lock()
	delete(w.open, s)
	w.mu.Unlock()
}
