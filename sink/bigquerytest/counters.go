package bigquerytest

import (
	"maps"
	"sync"
)

// Counters is what the server has done since it was started.
type Counters struct {
	Appends         int64 // requests to append, refused ones too
	AppendsRefused  int64 // of them, those of which nothing was stored
	Rows            int64 // rows stored: Upserts + Deletes + Inserts
	RowsRefused     int64 // rows named in row errors
	Upserts         int64
	Deletes         int64
	Inserts         int64
	Superseded      int64 // upserts and deletes that a newer version held back
	Bytes           int64 // of rows stored
	Connections     int64 // AppendRows streams ever opened
	OpenConnections int64 // of them, those open now
	IdleClosed      int64
	RESTCalls       int64
	RESTByMethod    map[string]int64 // by the REST reference's name: "tables.get"
	Queries         int64            // SELECTs
	RuntimeMerges   int64            // SELECTs that had to merge
	FaultsUsed      int64
	Refused         map[string]int64 // by the id of the rule
}

type counters struct {
	mu      sync.Mutex
	c       Counters
	refused map[string]int64
}

func (c *counters) add(f func(*Counters)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.c)
}

func (c *counters) refuse(rule string) {
	if rule == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[rule]++
}

// Counters returns the counters as they are now.
func (s *Server) Counters() Counters {
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	out := s.count.c
	out.Refused = maps.Clone(s.count.refused)
	out.RESTByMethod = maps.Clone(s.count.c.RESTByMethod)
	return out
}
