package bigquerytest

import (
	"maps"
	"slices"
	"sync"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// catalog holds the datasets and tables. Its mutex guards the maps; a table
// guards itself. The catalog's mutex is never taken while a table is locked.
type catalog struct {
	settings *Config
	clock    *clock

	mu       sync.RWMutex
	datasets map[[2]string]*dataset // by project and id
	dropped  map[[3]string]dropped  // by project, dataset and name
	spent    map[string][]time.Time // updates by dataset, inserts of tables by project
}

// dropped is what is kept of a table's name after the table.
type dropped struct {
	at      time.Time
	updates []time.Time
}

// droppedMemory is how long a name is remembered.
const droppedMemory = time.Hour

type dataset struct {
	meta   bq.Dataset
	etag   int
	tables map[string]*table
}

func newCatalog(c *Config, clock *clock) *catalog {
	return &catalog{settings: c, clock: clock, datasets: map[[2]string]*dataset{}, dropped: map[[3]string]dropped{}, spent: map[string][]time.Time{}}
}

// table returns nil for what doesn't exist and for views.
func (c *catalog) table(project, dataset, name string) *table {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if d := c.datasets[[2]string{project, dataset}]; d != nil {
		if t := d.tables[name]; t != nil && t.view == nil {
			return t
		}
	}
	return nil
}

func (c *catalog) find(project, dataset, name string) (*table, *restError) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	d := c.datasets[[2]string{project, dataset}]
	if d == nil {
		return nil, datasetMissing(project, dataset)
	}
	t := d.tables[name]
	if t == nil {
		return nil, tableMissing(project, dataset, name)
	}
	return t, nil
}

func datasetMissing(project, dataset string) *restError {
	return restNotFound(ruleNotFound, "Not found: Dataset "+project+":"+dataset)
}

func tableMissing(project, dataset, name string) *restError {
	return restNotFound(ruleNotFound, "Not found: Table "+project+":"+dataset+"."+name)
}

// addTable makes a table known. It answers 409 for a name that is taken.
func (c *catalog) addTable(t *table) *restError {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.datasets[[2]string{t.project, t.dataset}]
	if d == nil {
		return datasetMissing(t.project, t.dataset)
	}
	if d.tables[t.name] != nil {
		return restDuplicate(ruleDuplicate, "Already Exists: Table "+t.id())
	}
	if e := c.recall(t); e != nil {
		return e
	}
	t.meta.Location = d.meta.Location
	d.tables[t.name] = t
	return nil
}

// recall applies what is known of the name: quotas belong to names, and writes
// to a name that was dropped before meet what was there.
//
// https://docs.cloud.google.com/bigquery/quotas#standard_tables
func (c *catalog) recall(t *table) *restError {
	was, ok := c.dropped[[3]string{t.project, t.dataset, t.name}]
	if !ok {
		return nil
	}
	t.updates = was.updates
	if e := t.spend(t.created); e != nil {
		return e
	}
	if t.created.Sub(was.at) < droppedMemory {
		t.createDelay = max(t.createDelay, c.settings.RecreateDelay)
	}
	return nil
}

// forget takes a table out and remembers its name. The catalog is locked.
func (c *catalog) forget(d *dataset, t *table) {
	now := c.clock.now()
	for name, was := range c.dropped {
		if now.Sub(was.at) >= droppedMemory {
			delete(c.dropped, name)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	c.dropped[[3]string{t.project, t.dataset, t.name}] = dropped{now, t.updates}
	delete(d.tables, t.name)
}

// renameTable puts a table's content under another name of its dataset. Who
// holds the old table has one that was dropped.
func (c *catalog) renameTable(t *table, name string) *restError {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.datasets[[2]string{t.project, t.dataset}]
	if d == nil || d.tables[t.name] != t {
		return tableMissing(t.project, t.dataset, t.name)
	}
	if d.tables[name] != nil {
		return restDuplicate(ruleDuplicate, "Already Exists: Table "+t.project+":"+t.dataset+"."+name)
	}
	c.forget(d, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	d.tables[name] = t.renamed(name, c.clock.now())
	return nil
}

func (c *catalog) removeTable(project, dataset, name string) *restError {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.datasets[[2]string{project, dataset}]
	if d == nil {
		return datasetMissing(project, dataset)
	}
	t := d.tables[name]
	if t == nil {
		return tableMissing(project, dataset, name)
	}
	c.forget(d, t)
	return nil
}

// tables lists a dataset's tables by name.
func (c *catalog) tables(project, dataset string) ([]*table, *restError) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	d := c.datasets[[2]string{project, dataset}]
	if d == nil {
		return nil, datasetMissing(project, dataset)
	}
	var out []*table
	for _, name := range slices.Sorted(maps.Keys(d.tables)) {
		out = append(out, d.tables[name])
	}
	return out, nil
}

func (c *catalog) allTables() []*table {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*table
	for _, d := range c.datasets {
		for _, t := range d.tables {
			out = append(out, t)
		}
	}
	return out
}

// newTable makes a table that nothing refers to yet.
func (c *catalog) newTable(project, dataset, name string, now time.Time) *table {
	return &table{
		project: project, dataset: dataset, name: name, settings: c.settings,
		created: now, modified: now, applied: now, etag: 1, createDelay: c.settings.CreateDelay,
		entries: map[string]*entry{},
	}
}
