package publish

import (
	"math/bits"
	"time"

	"google.golang.org/grpc/codes"
)

// Stats is what the Dispatcher has done since it was made, and where it stands.
type Stats struct {
	Messages int64 // accepted by Pub/Sub
	Bytes    int64 // of the accepted messages, as sent
	Requests int64 // attempts, failed ones included
	// Retries counts the failed attempts by their code; codes without any are absent.
	Retries map[codes.Code]int64

	InFlight       int   // requests on the wire
	Retrying       int   // keys whose back-off runs
	Resting        int   // keys at their rate limit, and drained ones that rest
	QueuedMessages int   // messages not accepted yet, those in flight included
	QueuedBytes    int64 // of Config.MaxQueuedBytes
	Open           bool  // false while the Watch holds publishing

	// Latency from Publish to acceptance of what was accepted since the last call
	// of Stats, exact to 25 %; 0 if there was nothing.
	P50, P99 time.Duration
}

// buckets of a histogram: up to 2^42 microseconds, 50 days.
const buckets = 4 * 40

// histogram counts durations in 4 buckets per power of two of microseconds.
type histogram struct {
	counts [buckets]int64
	total  int64
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(max(d.Microseconds(), 0)))]++
	h.total++
}

func bucket(us uint64) int {
	if us < 4 {
		return int(us)
	}
	exponent := bits.Len64(us) - 3 // us>>exponent is 4..7
	return min(4*exponent+int(us>>exponent), buckets-1)
}

// bound returns the upper end of bucket i.
func bound(i int) time.Duration {
	if i < 4 {
		return time.Duration(i) * time.Microsecond
	}
	exponent, mantissa := i/4-1, uint64(i%4+4)
	return time.Duration((mantissa+1)<<exponent-1) * time.Microsecond
}

// quantile returns the upper bound of the bucket in which quantile q lies.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := int64(q*float64(h.total-1)) + 1
	for i, n := range h.counts {
		if rank -= n; rank <= 0 {
			return bound(i)
		}
	}
	return bound(len(h.counts) - 1)
}

// counters are the Dispatcher's own; its mutex guards them.
type counters struct {
	messages, bytes, requests int64
	retries                   [codes.Unauthenticated + 1]int64 // by code; that is the last one
	latency                   histogram
}

func (c *counters) retry(code codes.Code) {
	if int(code) >= len(c.retries) {
		code = codes.Unknown
	}
	c.retries[code]++
}

// Stats returns the figures for a progress line. Its latencies start anew with
// each call, so only one caller reads it.
func (d *Dispatcher) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	q, c := d.queue, &d.counts
	s := Stats{
		Messages: c.messages, Bytes: c.bytes, Requests: c.requests,
		Retries:  make(map[codes.Code]int64),
		InFlight: q.InFlight(), Retrying: q.Retrying(),
		Resting:        q.Resting(),
		QueuedMessages: q.Messages(), QueuedBytes: q.Bytes(),
		Open: q.IsOpen(),
		P50:  c.latency.quantile(0.5), P99: c.latency.quantile(0.99),
	}
	for code, n := range c.retries {
		if n > 0 {
			s.Retries[codes.Code(code)] = n
		}
	}
	c.latency = histogram{}
	return s
}
