package bigquerytest

import (
	"sync/atomic"
	"time"
)

// clock runs with real time plus an offset that only grows.
type clock struct {
	offset atomic.Int64 // nanoseconds
}

func (c *clock) now() time.Time {
	return time.Now().Add(time.Duration(c.offset.Load())).UTC()
}

func (c *clock) advance(d time.Duration) {
	if d > 0 {
		c.offset.Add(int64(d))
	}
}

// Now returns the server's time: real time plus everything that Advance added.
func (s *Server) Now() time.Time { return s.clock.now() }

// Advance moves the server's clock forward by d (negative values are ignored)
// and runs what became due: background applies of every table, forgetting of
// old deletes, closing of idle connections.
func (s *Server) Advance(d time.Duration) {
	s.clock.advance(d)
	now := s.clock.now()
	for _, t := range s.catalog.allTables() {
		t.mu.Lock()
		t.catchUp(now)
		t.mu.Unlock()
	}
	s.closeIdle(now)
}
