package pubsubtest

import (
	"maps"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Counters says what happened on a server since it started.
type Counters struct {
	Calls   map[string]int64 // requests by method ("Publish"); a stream counts once
	Answers map[string]int64 // their answers by code ("OK", "ResourceExhausted"); a stream counts when it ends
	Refused map[RuleID]int64 // requests refused, by rule

	Requests              int64 // Publish requests that could be read, refused ones too
	RequestBytes          int64 // their bytes
	HedgedRequests        int64 // of those, marked by the client library as a second or later attempt
	MaxKeysPerRequest     int64 // most distinct ordering keys in (the first 1,000 messages of) one Publish request
	MaxMessagesPerRequest int64 // most messages in one Publish request
	Throttled             int64 // Publish requests over the 1 MB/s of their ordering key: answered later, or refused

	Published      int64 // messages accepted
	PublishedBytes int64 // their bytes
	Vanished       int64 // messages accepted while the topic had no subscription and no retention
	Sabotaged      int64 // messages damaged by Sabotage

	FilterAcked    int64 // messages that a subscription's filter acked, never delivered
	Delivered      int64 // messages sent to a subscriber, each time
	DeliveredBytes int64 // their bytes, without ack ids and framing
	Redelivered    int64 // of those delivered, not the first time
	Acks           int64 // acks of a leased message
	AcksOutOfOrder int64 // of those, before an earlier message of the key
	AcksStale      int64 // acks and deadline changes whose lease was over
	Nacks          int64 // deadlines set to 0
	Expired        int64 // leases that ran out
	DeadLettered   int64 // messages forwarded to a dead-letter topic (they count as published there)
	Dropped        int64 // unacked messages whose retention ended
	SubsExpired    int64 // subscriptions deleted by their expiration policy

	Streams     int64 // StreamingPull streams opened
	StreamsOpen int64 // of those, open now
	Faults      int64 // faults applied
}

// answers counts answers by code, one cell a code of gRPC.
type answers [codes.Unauthenticated + 1]atomic.Int64

func (a *answers) add(err error) {
	code := status.Code(err)
	if int(code) >= len(a) {
		code = codes.Unknown // what gRPC makes of it
	}
	a[code].Add(1)
}

func (a *answers) snapshot() map[string]int64 {
	by := map[string]int64{}
	for code := range a {
		if n := a[code].Load(); n > 0 {
			by[codes.Code(code).String()] = n
		}
	}
	return by
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
	c.Answers = s.answers.snapshot()
	return c
}
