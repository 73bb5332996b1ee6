package pubsubtest

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is queued with Inject and used up by the calls that it hits.
type Fault struct {
	Kind   FaultKind
	Method string        // "Publish", "StreamingPull", …; empty: Publish for Late and AnswerLost, StreamingPull for the stream kinds, else any
	Target string        // full name of a topic or subscription; empty: any
	Skip   int           // matching calls (for stream kinds: responses) that pass first
	Count  int           // calls to hit; 0 means 1, negative means all from now on
	Code   codes.Code    // of the answer; 0 means UNAVAILABLE
	Text   string        // of the answer
	Delay  time.Duration // of Late and Delay
}

func (f *Fault) err() error {
	code, text := f.Code, f.Text
	if code == codes.OK {
		code = codes.Unavailable
	}
	if text == "" {
		text = "The service was unable to fulfill your request. Please try again. [code=8a75]"
	}
	return status.Error(code, text)
}

// faultQueue holds the faults in the order of Inject. The first that matches a
// call is used.
type faultQueue struct {
	rtt    atomic.Int64
	queued atomic.Int32 // so that calls pass without a lock when there is none
	mu     sync.Mutex
	faults []Fault
}

// Inject queues a fault.
func (s *Server) Inject(f Fault) {
	if f.Method == "" {
		switch {
		case f.Kind.onStream():
			f.Method = "StreamingPull"
		case f.Kind == Late, f.Kind == AnswerLost:
			f.Method = "Publish"
		}
	}
	if f.Count == 0 {
		f.Count = 1
	}
	q := &s.faults
	q.mu.Lock()
	defer q.mu.Unlock()
	q.faults = append(q.faults, f)
	q.queued.Store(int32(len(q.faults)))
}

// ClearFaults takes back what was queued and not used up, the round-trip time
// too.
func (s *Server) ClearFaults() {
	s.SetRoundTrip(0)
	q := &s.faults
	q.mu.Lock()
	defer q.mu.Unlock()
	q.faults = nil
	q.queued.Store(0)
}

// SetRoundTrip makes every call take d longer (real time): half before it is
// done and half after. Stream messages are held back by half in each direction,
// without slowing the rate.
func (s *Server) SetRoundTrip(d time.Duration) { s.faults.rtt.Store(int64(d)) }

func (s *Server) queuedFaults() []Fault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return slices.Clone(s.faults.faults)
}

func (q *faultQueue) roundTrip() time.Duration { return time.Duration(q.rtt.Load()) }

// openFault takes the first queued fault that hits the opening of a stream.
func (s *Server) openFault(subscription string) (Fault, bool) {
	return s.takeFault(func(f *Fault) bool {
		return f.Kind == Refuse && (f.Method == "" || f.Method == "StreamingPull") && (f.Target == "" || f.Target == subscription)
	})
}

// nextFault takes the first queued fault that hits a unary call.
func (s *Server) nextFault(method, target string) (Fault, bool) {
	return s.takeFault(func(f *Fault) bool {
		return !f.Kind.onStream() && (f.Method == "" || f.Method == method) && (f.Target == "" || f.Target == target)
	})
}

// nextStreamFault takes the first queued fault that hits a response of a stream
// on the subscription.
func (s *Server) nextStreamFault(subscription string) (Fault, bool) {
	return s.takeFault(func(f *Fault) bool {
		return (f.Kind.onStream() && f.Kind != HoldOthers || f.Kind == Delay) && f.Method == "StreamingPull" &&
			(f.Target == "" || f.Target == subscription)
	})
}

// nextHold takes the first queued fault that hits the end of a stream on the
// subscription.
func (s *Server) nextHold(subscription string) (Fault, bool) {
	return s.takeFault(func(f *Fault) bool {
		return f.Kind == HoldOthers && f.Method == "StreamingPull" && (f.Target == "" || f.Target == subscription)
	})
}

func (s *Server) takeFault(matches func(*Fault) bool) (Fault, bool) {
	q := &s.faults
	if q.queued.Load() == 0 {
		return Fault{}, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.faults {
		f := &q.faults[i]
		if !matches(f) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		hit := *f
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				q.faults = slices.Delete(q.faults, i, i+1)
				q.queued.Store(int32(len(q.faults)))
			}
		}
		s.countFault()
		return hit, true
	}
	return Fault{}, false
}

func (s *Server) countFault() {
	s.mu.Lock()
	s.count.Faults++
	s.mu.Unlock()
}
