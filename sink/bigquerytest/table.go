package bigquerytest

import (
	"sync"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// deleteRetention is how long a DELETE holds back older UPSERTs, counted from
// its ingestion.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#deleted_data_considerations
const deleteRetention = 48 * time.Hour

// table is one table of a dataset. Its mutex guards everything in it.
type table struct {
	project, dataset, name string
	settings               *Config
	created                time.Time
	createDelay            time.Duration   // streams don't know the table for so long
	view                   *viewDefinition // nil for a table

	mu       sync.Mutex
	gone     bool     // it was dropped, or renamed: the other one has all of it
	meta     bq.Table // what tables.get answers, without what changes
	etag     int
	modified time.Time
	updates  []time.Time // metadata updates within the last updateWindow
	schemas  []schemaAt  // oldest first
	columnID int32

	entries  map[string]*entry
	inserted []storedRow
	epoch    uint32 // grows with each apply
	tombs    []tomb // deletes in the order of their ingestion
	// unapplied are deletes that are no longer remembered, of keys that the
	// baseline still has.
	unapplied []tomb
	request   uint64 // of the append that is being stored

	staleness time.Duration
	stale     bool      // staleness is set
	applied   time.Time // of the last apply; before the first, when one was due last
	everApply bool      // an apply has run
	active    bool      // rows with a change type have come
	paused    bool      // background applies are held back
	streamed  time.Time // of the last append
	applies   []applied // the last background applies
	measured  tableSize
}

// schemaAt is a schema and when it was set.
type schemaAt struct {
	*schema
	at time.Time
}

// version is what one accepted change made of a row. It never changes.
type version struct {
	sequence    sequence
	hasSequence bool
	deleted     bool
	request     uint64 // rows of one request have one ingestion time
	ingested    int64  // microseconds on the server's clock
	plan        *rowPlan
	row         []byte // wire bytes; of a DELETE nil
}

// entry is one key. base is what the baseline shows, if epoch is the table's;
// otherwise the baseline shows cur.
type entry struct {
	cur, base *version
	epoch     uint32
}

// storedRow is a row of an insert-only connection.
type storedRow struct {
	plan *rowPlan
	row  []byte
}

type tomb struct {
	key string
	v   *version
}

// lockLive locks a table that a call has found, unless it is gone by now.
func (t *table) lockLive() *restError {
	t.mu.Lock()
	if !t.gone {
		return nil
	}
	t.mu.Unlock()
	return tableMissing(t.project, t.dataset, t.name)
}

// schema is the newest schema.
func (t *table) schema() *schema { return t.schemas[len(t.schemas)-1].schema }

// streamSchema is the schema that a connection opened now gets to see.
func (t *table) streamSchema(now time.Time) *schema {
	for i := len(t.schemas) - 1; i > 0; i-- {
		if !now.Before(t.schemas[i].at.Add(t.settings.SchemaDelay)) {
			return t.schemas[i].schema
		}
	}
	return t.schemas[0].schema
}

// seen says whether the Storage Write API knows the table yet.
func (t *table) seen(now time.Time) bool {
	return !now.Before(t.created.Add(t.createDelay))
}

// renamed is the same table under another name. The table is locked.
func (t *table) renamed(name string, now time.Time) *table {
	out := &table{
		project: t.project, dataset: t.dataset, name: name, settings: t.settings, created: t.created, createDelay: t.createDelay,
		meta: t.meta, etag: t.etag + 1, modified: now, updates: []time.Time{now}, schemas: t.schemas, columnID: t.columnID,
		entries: t.entries, inserted: t.inserted, epoch: t.epoch, tombs: t.tombs, unapplied: t.unapplied, request: t.request,
		staleness: t.staleness, stale: t.stale, applied: t.applied, everApply: t.everApply, active: t.active, paused: t.paused,
		streamed: t.streamed, applies: t.applies,
	}
	out.meta.Id = out.id()
	out.meta.TableReference = &bq.TableReference{ProjectId: t.project, DatasetId: t.dataset, TableId: name}
	t.entries, t.inserted, t.tombs, t.unapplied = map[string]*entry{}, nil, nil, nil
	return out
}

// id is the table's name in messages of the REST API.
func (t *table) id() string { return t.project + ":" + t.dataset + "." + t.name }
