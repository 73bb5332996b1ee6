package bigquerytest

import (
	"slices"
	"time"
)

// interval is the pace of background applies.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#manage_table_staleness
func (t *table) interval() time.Duration {
	if t.stale && t.staleness > 0 {
		return t.staleness
	}
	return t.settings.UnsetApplyInterval
}

// catchUp runs the background applies that became due before now. It is
// called before every append and every read, so that an apply takes in exactly
// what was there when it was due.
func (t *table) catchUp(now time.Time) {
	t.forget(now)
	every := t.interval()
	if t.paused || every <= 0 {
		return
	}
	due := t.applied.Add(now.Sub(t.applied) / every * every)
	switch {
	case !due.After(t.applied):
	case t.active:
		t.apply(due)
	default:
		t.applied = due // nothing was there to apply
	}
}

// overdue runs the apply that is late because it was held back or because the
// interval was longer until now: now, with all that came since it was due.
func (t *table) overdue(now time.Time) {
	if every := t.interval(); !t.paused && t.active && every > 0 && now.Sub(t.applied) >= every {
		t.apply(now)
	}
}

// apply makes the baseline equal to the current state.
func (t *table) apply(at time.Time) {
	t.epoch++
	t.applied, t.everApply = at, true
	for _, d := range t.unapplied {
		t.drop(d)
	}
	t.unapplied = nil
	t.applies = append(t.applies, applied{t.epoch, at})
	if len(t.applies) > maxApplies {
		t.applies = append([]applied(nil), t.applies[1:]...)
	}
}

// applied is one background apply, which INFORMATION_SCHEMA.JOBS shows.
type applied struct {
	epoch uint32
	at    time.Time
}

// maxApplies is how many of them a table remembers.
const maxApplies = 64

// forget drops deletes that the service no longer remembers.
func (t *table) forget(now time.Time) {
	n := 0
	for n < len(t.tombs) && t.tombs[n].v.forgotten(now) {
		if !t.drop(t.tombs[n]) {
			t.unapplied = append(t.unapplied, t.tombs[n])
		}
		n++
	}
	if n > 0 {
		t.tombs = append([]tomb(nil), t.tombs[n:]...)
	}
	if len(t.unapplied) > len(t.entries)+1000 { // keys that were deleted many times
		t.unapplied = slices.DeleteFunc(t.unapplied, t.drop)
	}
}

// drop takes out a key that was deleted and isn't in the baseline; of one that
// lives again there is nothing to do. It returns false while the baseline has it.
func (t *table) drop(d tomb) bool {
	e := t.entries[d.key]
	if e == nil || e.cur != d.v {
		return true
	}
	if !t.baseline(e).gone() {
		return false
	}
	delete(t.entries, d.key)
	return true
}

func (v *version) gone() bool { return v == nil || v.deleted }

// fresh says whether a query at now must merge: without max_staleness, or when
// the last apply is longer ago than it.
func (t *table) fresh(now time.Time) bool {
	return !t.stale || t.staleness <= 0 || now.Sub(t.applied) > t.staleness
}

// Apply runs a background apply of a table now, as the service may at any time
// within the interval. It does nothing for a table that doesn't exist.
func (s *Server) Apply(project, dataset, table string) {
	if t := s.catalog.table(project, dataset, table); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		now := s.clock.now()
		t.catchUp(now)
		t.apply(now)
	}
}

// PauseApply holds the background applies of a table back, or lets them go on:
// the service may not finish one within the interval.
func (s *Server) PauseApply(project, dataset, table string, paused bool) {
	if t := s.catalog.table(project, dataset, table); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		now := s.clock.now()
		t.catchUp(now)
		t.paused = paused
		t.overdue(now)
	}
}
