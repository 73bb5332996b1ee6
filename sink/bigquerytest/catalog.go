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
}

type dataset struct {
	meta   bq.Dataset
	etag   int
	tables map[string]*table
}

func newCatalog(c *Config, clock *clock) *catalog {
	return &catalog{settings: c, clock: clock, datasets: map[[2]string]*dataset{}}
}

// table returns nil for what doesn't exist.
func (c *catalog) table(project, dataset, name string) *table {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if d := c.datasets[[2]string{project, dataset}]; d != nil {
		return d.tables[name]
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
	t.meta.Location = d.meta.Location
	d.tables[t.name] = t
	return nil
}

func (c *catalog) removeTable(project, dataset, name string) *restError {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.datasets[[2]string{project, dataset}]
	if d == nil {
		return datasetMissing(project, dataset)
	}
	if d.tables[name] == nil {
		return tableMissing(project, dataset, name)
	}
	delete(d.tables, name)
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
		created: now, modified: now, applied: now, etag: 1,
		entries: map[string]*entry{},
	}
}
