package bigquerytest

import "time"

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
	if t.paused || !t.active || every <= 0 {
		return
	}
	if passed := now.Sub(t.applied) / every; passed > 0 {
		t.apply(t.applied.Add(passed * every))
	}
}

// apply makes the baseline equal to the current state.
func (t *table) apply(at time.Time) {
	t.epoch++
	t.applied, t.everApply = at, true
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
		key := t.tombs[n].key
		if e := t.entries[key]; e != nil && e.cur == t.tombs[n].v && t.baseline(e).gone() {
			delete(t.entries, key)
		}
		n++
	}
	if n > 0 {
		t.tombs = append([]tomb(nil), t.tombs[n:]...)
	}
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
		t.catchUp(s.clock.now())
		t.paused = paused
	}
}
