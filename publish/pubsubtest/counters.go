package pubsubtest

import (
	"maps"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Counters says what happened on a server since it started.
type Counters struct {
	Calls             map[string]int64 // requests by method ("Publish"); a stream counts once
	Requests          int64            // Publish requests that came in, refused ones too
	HedgedRequests    int64            // Publish requests marked by the client library as a second or later attempt
	MaxKeysPerRequest int64            // most distinct ordering keys in one Publish request
	Published         int64            // messages accepted
	Vanished          int64            // messages accepted while the topic had no subscription and no retention
	Delivered         int64            // messages sent to a subscriber, each time
	Redelivered       int64            // of those, not the first time
	Acks              int64            // acks of a leased message
	AcksOutOfOrder    int64            // of those, before an earlier message of the key
	AcksStale         int64            // acks and deadline changes whose lease was over
	Nacks             int64            // deadlines set to 0
	Expired           int64            // leases that ran out
	DeadLettered      int64            // messages forwarded to a dead-letter topic (they count as published there)
	Dropped           int64            // unacked messages whose retention ended
	SubsExpired       int64            // subscriptions deleted by their expiration policy
	Streams           int64            // StreamingPull streams opened
	StreamsOpen       int64            // of those, open now
	Faults            int64            // faults applied
	Sabotaged         int64            // messages damaged by Sabotage
	Refused           map[RuleID]int64 // requests refused, by rule
}

// refusals counts refused requests; it has its own lock, since many are refused
// without looking at the server's state.
type refusals struct {
	mu sync.Mutex
	by map[RuleID]int64
}

// refuse counts and makes the answer that breaks a rule.
func (r *refusals) refuse(rule RuleID, code codes.Code, format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[RuleID]int64{}
	}
	r.by[rule]++
	return status.Errorf(code, format, args...)
}

func (r *refusals) snapshot() map[RuleID]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.by)
}

// Counters returns what happened so far.
func (s *Server) Counters() Counters {
	s.mu.Lock()
	c := s.count
	c.Calls = maps.Clone(s.count.Calls)
	s.mu.Unlock()
	c.Refused = s.refusals.snapshot()
	return c
}
