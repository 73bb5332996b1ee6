package bigquerytest

import (
	"slices"
	"sync"
	"time"
)

// Applied is one stored row as a verdict needs it.
type Applied struct {
	Dataset, Table string
	Change         string    // UPSERT, DELETE or INSERT
	Position       string    // of _cdc_position, or of _CHANGE_SEQUENCE_NUMBER without it
	CommitTime     time.Time // of _cdc_commit_time; zero without one
	StoredAt       time.Time // real time
}

// Latency is how long rows took from commit to stored, in real time. Of rows
// with one Position only the first counts: copies come late by design.
type Latency struct {
	Rows          int
	P50, P99, Max time.Duration
}

type appliedRow struct {
	table    *table
	position sequence
	commit   int64 // microseconds
	stored   int64 // microseconds
	change   change
	located  bool // position is known
}

// appliedLog keeps a compact record of each stored row, if Config.Record.
type appliedLog struct {
	mu   sync.Mutex
	rows []appliedRow
}

func (l *appliedLog) record(on bool, t *table, rows []parsedRow, now time.Time) {
	if !on {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		r := &rows[i]
		row := appliedRow{table: t, commit: r.commit, stored: now.UnixMicro(), change: r.change}
		if p, err := parseSequence(r.position); err == nil {
			row.position, row.located = p, true
		} else if r.hasSequence {
			row.position, row.located = r.sequence, true
		}
		l.rows = append(l.rows, row)
	}
}

// Applied returns every stored row in the order of storing, superseded ones
// and copies too. It is empty without Config.Record.
func (s *Server) Applied() []Applied {
	s.applied.mu.Lock()
	defer s.applied.mu.Unlock()
	out := make([]Applied, len(s.applied.rows))
	for i, r := range s.applied.rows {
		out[i] = Applied{
			Dataset: r.table.dataset, Table: r.table.name, Change: r.change.String(),
			StoredAt: time.UnixMicro(r.stored).UTC(),
		}
		if r.located {
			out[i].Position = r.position.String()
		}
		if r.commit != 0 {
			out[i].CommitTime = time.UnixMicro(r.commit).UTC()
		}
	}
	return out
}

// Latency measures the stored rows that carry _cdc_commit_time. It needs
// Config.Record.
func (s *Server) Latency() Latency {
	type first struct {
		table    *table
		position sequence
	}
	s.applied.mu.Lock()
	defer s.applied.mu.Unlock()
	seen := map[first]bool{}
	var took []time.Duration
	for _, r := range s.applied.rows {
		at := first{r.table, r.position}
		if r.commit == 0 || (r.located && seen[at]) {
			continue
		}
		seen[at] = true
		took = append(took, time.Duration(r.stored-r.commit)*time.Microsecond)
	}
	if len(took) == 0 {
		return Latency{}
	}
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[min(len(took)-1, len(took)*percent/100)] }
	return Latency{Rows: len(took), P50: at(50), P99: at(99), Max: took[len(took)-1]}
}
