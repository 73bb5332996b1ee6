package bigquerytest

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
)

// maxAnswers is how many answers of one connection may wait to be sent; then
// its requests wait.
const maxAnswers = 1024

// connection is one AppendRows stream. Requests are stored by one goroutine in
// the order they came, and answered by another in that order, so that a slow
// answer doesn't hold up the rows behind it.
type connection struct {
	server  *Server
	answers chan answer
	kill    chan struct{} // closed to end it as idle
	once    sync.Once

	mu   sync.Mutex
	last time.Time // of the last request, on the server's clock

	// What the first request, and each switch of the stream, set.
	stream  string
	writer  *writer
	writers map[string]*writer // every table this connection has written to
	routed  bool               // the client sent the routing header
	inserts bool               // what kind of rows the connection carries, once hasMode
	hasMode bool
}

// writer is a connection's view of one table.
type writer struct {
	table  *table
	schema *schema // the version that the connection knows
	told   int     // the version that UpdatedSchema has told of
	plan   *rowPlan
	reader *rowReader
}

// answer is a response with the earliest moment to send it, or the error that
// ends the stream.
type answer struct {
	response *storagepb.AppendRowsResponse
	end      *appendError
	at       time.Time // real time; zero means now
}

type connections struct {
	mu   sync.Mutex
	open map[*connection]struct{}
}

// serve runs one connection until the client or a refusal ends it.
func (c *connection) serve(stream storagepb.BigQueryWrite_AppendRowsServer) error {
	ctx := stream.Context()
	c.server.group.Go(func() { c.receive(ctx, stream) })
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.kill:
			c.server.count.refuse(ruleIdle)
			return (&appendError{code: codes.Aborted, text: "Closing the stream because it was idle."}).status().Err()
		case a, ok := <-c.answers:
			if !ok {
				return nil
			}
			if !wait(ctx, a.at) {
				return context.Cause(ctx)
			}
			if a.end != nil {
				return a.end.status().Err()
			}
			if err := stream.Send(a.response); err != nil {
				return err
			}
		}
	}
}

// wait sleeps until at and says whether ctx still runs.
func wait(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if at.IsZero() || d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// receive stores requests until the stream ends. It owns everything of the
// connection that isn't guarded.
func (c *connection) receive(ctx context.Context, stream storagepb.BigQueryWrite_AppendRowsServer) {
	defer close(c.answers)
	for {
		req, err := stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.server.config.Log.Debug(EventStreamEnded, "error", err)
			}
			return
		}
		c.touch()
		a := c.append(req)
		select {
		case c.answers <- a:
		case <-ctx.Done():
			return
		}
		if a.end != nil {
			return
		}
	}
}

func (c *connection) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = c.server.clock.now()
}

func (c *connection) idle(now time.Time, limit time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return limit > 0 && now.Sub(c.last) >= limit
}

// closeIdle ends the connections without a request for IdleClose.
func (s *Server) closeIdle(now time.Time) {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	for c := range s.connections.open {
		if c.idle(now, s.config.IdleClose) {
			c.once.Do(func() {
				close(c.kill)
				s.count.add(func(n *Counters) { n.IdleClosed++ })
			})
		}
	}
}

func (s *Server) openConnection() *connection {
	c := &connection{
		server: s, answers: make(chan answer, maxAnswers), kill: make(chan struct{}),
		last: s.clock.now(), writers: map[string]*writer{}, routed: true,
	}
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	s.connections.open[c] = struct{}{}
	s.count.add(func(n *Counters) { n.Connections++; n.OpenConnections++ })
	return c
}

func (s *Server) closeConnection(c *connection) {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	delete(s.connections.open, c)
	s.count.add(func(n *Counters) { n.OpenConnections-- })
}
