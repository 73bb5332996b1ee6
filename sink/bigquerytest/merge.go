package bigquerytest

import (
	"math/rand/v2"
	"slices"
	"time"
)

// merged counts what an append did.
type merged struct {
	upserts, deletes, inserts, superseded int64
}

// store applies one change of the append that is being stored. The table is
// locked; row is kept.
func (t *table) store(p *rowPlan, r *parsedRow, row []byte, now time.Time, rng *rand.Rand, m *merged) {
	if r.change == changeInsert {
		t.inserted = append(t.inserted, storedRow{p, row})
		m.inserts++
		return
	}
	v := &version{
		sequence: r.sequence, hasSequence: r.hasSequence,
		request: t.request, ingested: now.UnixMicro(), plan: p, row: row,
	}
	if r.change == changeDelete {
		v.deleted, v.row = true, nil
		m.deletes++
	} else {
		m.upserts++
	}
	e := t.entries[string(r.key)]
	if e == nil {
		e = &entry{epoch: t.epoch}
		key := string(r.key)
		t.entries[key] = e
		t.set(e, v, key)
		return
	}
	if e.cur != nil && !e.cur.forgotten(now) && !v.wins(e.cur, rng) {
		m.superseded++
		return
	}
	if e.epoch != t.epoch {
		e.base, e.epoch = e.cur, t.epoch
	}
	t.set(e, v, string(r.key))
}

// set makes v the current version of a key.
func (t *table) set(e *entry, v *version, key string) {
	e.cur = v
	if v.deleted {
		t.tombs = append(t.tombs, tomb{key, v})
		if len(t.tombs) > 2*len(t.entries)+1000 { // keys that were deleted many times
			t.tombs = slices.DeleteFunc(t.tombs, func(d tomb) bool {
				now := t.entries[d.key]
				return now == nil || now.cur != d.v
			})
		}
	}
}

// forgotten says that a DELETE is older than the service remembers.
func (v *version) forgotten(now time.Time) bool {
	return v.deleted && now.UnixMicro()-v.ingested > deleteRetention.Microseconds()
}

// wins says whether a change that comes now replaces old. The larger sequence
// number wins, whenever it came. With equal ones, and without any, the later
// ingestion time wins; all rows of a request have one ingestion time, so
// within a request that winner is drawn. A mix of rows with and without a
// sequence number has no documented order: drawn too.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#manage_custom_ordering
// and java-bigquerystorage#2404
func (v *version) wins(old *version, rng *rand.Rand) bool {
	if v.hasSequence != old.hasSequence {
		return rng.Uint64()&1 == 0
	}
	if v.hasSequence {
		if c := v.sequence.compare(old.sequence); c != 0 {
			return c > 0
		}
	}
	return v.request != old.request || rng.Uint64()&1 == 0
}

// baseline is what a query within max_staleness sees of the key.
func (t *table) baseline(e *entry) *version {
	if e.epoch == t.epoch {
		return e.base
	}
	return e.cur
}
