package pubsubtest

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// KeyRatePolicy says what becomes of a publish request over the 1 MB/s of its
// ordering key. The documentation gives the limit (quotas page: "the maximum
// publisher throughput is 1 MB/s per ordering key") and is silent about what
// happens at it.
type KeyRatePolicy int

const (
	// KeyRateDelayed stores the request and answers it once the key's earlier
	// bytes are paid for. It is the default because a client notices only that it
	// is slow: whoever doesn't look at rates sees a working service, and whoever
	// publishes faster can't miss it. A caller whose deadline ends first runs
	// into it though its messages are stored, as with any late answer.
	KeyRateDelayed KeyRatePolicy = iota
	// KeyRateRefused answers with RESOURCE_EXHAUSTED and stores nothing; the
	// refused bytes don't count.
	KeyRateRefused
	// KeyRateOff takes what comes. The service never does: only for a test or a
	// benchmark that is about something else.
	KeyRateOff
)

const (
	// keyBytesPerSecond is the most that an ordering key takes.
	keyBytesPerSecond  = 1_000_000
	nanosecondsPerByte = int64(time.Second) / keyBytesPerSecond
	// keyBurst is how far a key may be ahead of its rate: what the limit allows
	// in one second may come at once. Only earlier requests count against it, so
	// that a single message of 10 MB is taken.
	keyBurst = int64(time.Second)
)

// keyRates knows the ordering keys of a topic that are ahead of their rate, with
// the time at which each is paid for. A key is forgotten once that time has
// come, at the latest a second later: one below the rate costs an entry for a
// microsecond a byte, and an idle one nothing.
type keyRates struct {
	keys        map[string]*keyRate
	first, last *keyRate // in the order of their first request
	sweepAt     int64    // when the timer looks for keys that are paid for, ns; 0: there are none
}

type keyRate struct {
	key  string
	paid int64 // ns
	next *keyRate
}

// over is how long, in ns, until the key may send again; 0 or less: now.
func (r *keyRates) over(key []byte, now int64) int64 {
	if k := r.keys[string(key)]; k != nil {
		return k.paid - keyBurst - now
	}
	return 0
}

// charge books bytes of a key that were taken.
func (r *keyRates) charge(key string, bytes int, now int64) {
	cost := int64(bytes) * nanosecondsPerByte
	k := r.keys[key]
	if k == nil {
		if r.keys == nil {
			r.keys = map[string]*keyRate{}
		}
		if r.sweepAt == 0 {
			r.sweepAt = now + sweepEvery
		}
		k = &keyRate{key: key, paid: now + cost}
		r.keys[key] = k
		r.push(k)
		return
	}
	k.paid = max(k.paid, now) + cost
}

func (r *keyRates) push(k *keyRate) {
	k.next = nil
	if r.last != nil {
		r.last.next = k
	} else {
		r.first = k
	}
	r.last = k
}

// forget drops the keys that are paid for. A call looks at a few entries at
// least, so with one call a request no more are kept than are in use.
func (r *keyRates) forget(now int64, atMost int) {
	for ; r.first != nil && atMost > 0; atMost-- {
		k := r.first
		if r.first = k.next; r.first == nil {
			r.last = nil
		}
		if k.paid > now {
			r.push(k)
			continue
		}
		delete(r.keys, k.key)
	}
}

// sweep forgets all keys that are paid for, also when no request comes any more.
func (r *keyRates) sweep(now int64) {
	if r.sweepAt == 0 || r.sweepAt > now {
		return
	}
	r.forget(now, len(r.keys))
	if r.sweepAt = now + sweepEvery; r.first == nil {
		r.sweepAt = 0
		r.keys = nil // a map never gives back the memory of its entries
	}
}

const (
	// forgetPerRequest is more than the one entry that a request adds.
	forgetPerRequest = 4
	// sweepEvery keeps the timer from waking for each request.
	sweepEvery = int64(time.Second)
)

// checkRate applies the rate of an ordering key to a request that may else be
// stored. It returns when the request may be answered, 0 meaning at once. The
// caller holds mu.
func (s *Server) checkRate(t *topic, req *publishRequest) (answerAt int64, err error) {
	key := req.messages[0].key
	if len(key) == 0 || s.cfg.KeyRate == KeyRateOff {
		return 0, nil
	}
	now := s.now()
	t.rates.forget(now, forgetPerRequest)
	if over := t.rates.over(key, now); over > 0 {
		s.count.Throttled++
		if s.cfg.KeyRate == KeyRateRefused {
			return 0, s.refusals.refuse(RuleKeyRate, codes.ResourceExhausted,
				"The publisher throughput of an ordering key exceeds the maximum of %d bytes per second.", keyBytesPerSecond)
		}
		answerAt = now + over
	}
	bytes := 0
	for i := range req.messages {
		bytes += len(req.messages[i].body)
	}
	t.rates.charge(string(key), bytes, now)
	s.arm(t.rates.sweepAt)
	return answerAt, nil
}

// waitUntil waits for a time of the server's clock.
func (s *Server) waitUntil(ctx context.Context, at int64) error {
	if at == 0 || unheard(ctx) {
		return nil
	}
	l := later{at: at, due: make(chan struct{}), done: make(chan struct{})}
	close(l.done) // Advance doesn't wait for the answer
	s.mu.Lock()
	s.laters = append(s.laters, l)
	s.arm(at)
	s.mu.Unlock()
	select {
	case <-l.due:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.laters = slices.DeleteFunc(s.laters, func(o later) bool { return o.due == l.due })
		return status.FromContextError(ctx.Err()).Err()
	}
}
