package sink

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"cdc/sink/pull"
)

// stats are totals since the start; latency is of the present interval.
type stats struct {
	changes, rows, batches, retries, deadLetters, ignored atomic.Int64

	mu      sync.Mutex
	latency histogram
}

// Stats is what a sink has done since its start.
type Stats struct {
	Messages    int64 // received
	Changes     int64 // written, with those that a newer one hid
	Rows        int64 // written
	Batches     int64 // appends, failed ones too
	Retries     int64 // appends that were repeated
	Redelivered int64 // deliveries that weren't the first
	DeadLetters int64 // changes and undecodable messages
	Ignored     int64 // changes of rows that were gone
	Acked       int64 // messages
	Outstanding int   // messages received and not acked
}

// Stats returns the sink's totals.
func (s *Sink) Stats() Stats {
	c := s.puller.Counters()
	return Stats{
		Messages: c.Messages, Changes: s.stats.changes.Load(), Rows: s.stats.rows.Load(),
		Batches: s.stats.batches.Load(), Retries: s.stats.retries.Load(), Redelivered: c.Redelivered,
		DeadLetters: s.stats.deadLetters.Load(), Ignored: s.stats.ignored.Load(), Acked: c.Acked, Outstanding: c.Outstanding,
	}
}

// phase is what a table waits for, in the order in which it matters.
type phase int

const (
	phaseBigQuery phase = iota
	phaseTable
	phaseDeadLetter
	phaseHeld
	phases
)

// The values of waiting_for in the progress line; EventProgress says what they mean.
var phaseNames = [phases]string{"bigquery", "table", "dead_letter", "held"}

const (
	waitingForMessages = "messages"
	waitingForAcks     = "acks"
	waitingForStream   = "stream"
)

// waits counts what waits for each phase: a table's goroutine and its appends
// wait at the same time, each for one thing or several.
type waits [phases]atomic.Int32

// begin says that one more waits for p, until end is called.
func (w *waits) begin(p phase) (end func()) {
	w[p].Add(1)
	return func() { w[p].Add(-1) }
}

// worst returns the phase that matters most; ok is false if nothing waits.
func (w *waits) worst() (p phase, ok bool) {
	for p = phases - 1; p >= 0; p-- {
		if w[p].Load() > 0 {
			return p, true
		}
	}
	return 0, false
}

// waitingFor says what the sink waits for: the worst of what its tables wait for.
func (s *Sink) waitingFor(c pull.Counters) string {
	worst := phase(-1)
	for _, t := range s.allTables() {
		if p, ok := t.waits.worst(); ok {
			worst = max(worst, p)
		}
	}
	switch {
	case worst >= 0:
		return phaseNames[worst]
	case c.OpenStreams == 0:
		return waitingForStream
	case c.Unacked > 0:
		return waitingForAcks
	case c.Outstanding > 0 && s.waited.Load() == 0:
		return phaseNames[phaseHeld]
	default:
		return waitingForMessages
	}
}

// logProgress writes the progress line: totals since the start, and the time
// from commit to stored of what was written since the last line, if anything was.
func (s *Sink) logProgress() {
	now := s.Stats()
	s.stats.mu.Lock()
	latency := s.stats.latency
	s.stats.latency = histogram{}
	s.stats.mu.Unlock()
	c := s.puller.Counters()
	line := []any{
		"waiting_for", s.waitingFor(c),
		"messages", now.Messages, "changes", now.Changes, "rows", now.Rows, "batches", now.Batches,
		"write_retries", now.Retries, "redeliveries", now.Redelivered, "dead_letters", now.DeadLetters,
		"acked_messages", now.Acked, "outstanding_messages", c.Outstanding, "outstanding_bytes", c.HeldBytes,
		"oldest_held_ms", c.OldestHeld.Milliseconds(), "window_full", c.WindowIsFull,
	}
	if latency.total > 0 {
		line = append(line, "commit_to_stored_p50_ms", latency.quantile(0.50).Milliseconds(), "commit_to_stored_p99_ms", latency.quantile(0.99).Milliseconds())
	}
	s.log.Info(EventProgress, line...)
}

// histogram counts durations in buckets an eighth of a power of two wide.
type histogram struct {
	counts [64 * 8]int64
	total  int64
}

func (h *histogram) add(d time.Duration) {
	n := uint64(max(d, 8))
	exp := bits.Len64(n) - 4 // of the 4 leading bits, the first is always set
	h.counts[exp*8+int(n>>exp&7)]++
	h.total++
}

// quantile returns the upper end of the bucket in which the q-th duration lies,
// 0 without any.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q * float64(h.total))
	for i, n := range h.counts {
		if rank -= n; n > 0 && rank < 0 {
			return time.Duration((uint64(i%8) + 9) << (i / 8))
		}
	}
	return 0
}
