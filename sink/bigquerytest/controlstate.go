package bigquerytest

import (
	"cmp"
	"slices"
	"time"
)

// TableState is a table as it is now.
type TableState struct {
	Table    string // project.dataset.table
	Rows     int    // of the current state, everything merged
	Baseline int    // of the last background apply
	// AppliedAt is the apply watermark: everything stored before it is in the
	// baseline. Before the first apply it is when one would have been due last,
	// at first the table's creation.
	AppliedAt time.Time
	// MaxStaleness is 0 for a table without one.
	MaxStaleness time.Duration
	// ApplyPaused says that background applies are held back.
	ApplyPaused bool
}

// Tables returns the state of all tables, sorted by name. It looks at every key
// of each.
func (s *Server) Tables() []TableState {
	var out []TableState
	for _, t := range s.catalog.allTables() {
		out = append(out, t.state(s.clock.now()))
	}
	slices.SortFunc(out, func(a, b TableState) int { return cmp.Compare(a.Table, b.Table) })
	return out
}

// TableCount returns how many tables there are.
func (s *Server) TableCount() int { return len(s.catalog.allTables()) }

func (t *table) state(now time.Time) TableState {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.catchUp(now)
	out := TableState{
		Table: t.project + "." + t.dataset + "." + t.name, Rows: len(t.inserted), Baseline: len(t.inserted),
		AppliedAt: t.applied, MaxStaleness: t.staleness, ApplyPaused: t.paused,
	}
	for _, e := range t.entries {
		if !e.cur.gone() {
			out.Rows++
		}
		if !t.baseline(e).gone() {
			out.Baseline++
		}
	}
	return out
}
