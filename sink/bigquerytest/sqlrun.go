package bigquerytest

import (
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// runCreate makes a table by DDL.
func (s *Server) runCreate(st *createTable, q queryContext) (*result, *restError) {
	project, dataset, name, e := q.resolve(st.path)
	if e != nil {
		return nil, e
	}
	if st.ifAbsent && s.catalog.table(project, dataset, name) != nil {
		return &result{ddl: "SKIP"}, nil
	}
	in := &bq.Table{Schema: &bq.TableSchema{Fields: st.columns}}
	if len(st.keys) > 0 {
		in.TableConstraints = &bq.TableConstraints{PrimaryKey: &bq.TableConstraintsPrimaryKey{Columns: st.keys}}
	}
	if len(st.cluster) > 0 {
		in.Clustering = &bq.Clustering{Fields: st.cluster}
	}
	t, e := s.makeTable(project, dataset, name, in)
	if e != nil {
		return nil, e
	}
	t.setOptions(st.options)
	e = s.catalog.addTable(t)
	if e != nil && st.ifAbsent && e.reason == "duplicate" {
		return &result{ddl: "SKIP"}, nil
	}
	if e != nil {
		return nil, e
	}
	return &result{ddl: "CREATE"}, nil
}

func (t *table) setOptions(o options) {
	if o.staleness != nil {
		t.staleness, t.stale = *o.staleness, true
	}
	if o.unstale {
		t.staleness, t.stale = 0, false
	}
	if o.comment != nil {
		t.meta.Description = *o.comment
	}
}

// runAlter does all actions of an ALTER TABLE, or none. They count as one
// update of the table's metadata.
func (s *Server) runAlter(st *alterTable, q queryContext) (*result, *restError) {
	project, dataset, name, e := q.resolve(st.path)
	if e != nil {
		return nil, e
	}
	t, e := s.catalog.find(project, dataset, name)
	if e != nil {
		if st.ifExists && e.reason == "notFound" {
			return &result{ddl: "SKIP"}, nil
		}
		return nil, e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := s.clock.now()
	t.catchUp(now)
	if e := t.spend(now); e != nil {
		return nil, e
	}
	return &result{ddl: "ALTER"}, t.alter(st.actions, now)
}

func (t *table) alter(actions []alterAction, now time.Time) *restError {
	old := t.schema()
	columns := append([]*column(nil), old.columns...)
	var e *restError
	for _, a := range actions {
		if columns, e = t.alterColumns(columns, a); e != nil {
			return e
		}
	}
	if !sameColumns(columns, old.columns) {
		if e := t.setSchema(columns, old.keyNames(), old.cluster, now); e != nil {
			return e
		}
	}
	for _, a := range actions {
		if a.options != nil {
			t.setOptions(*a.options)
		}
	}
	t.changed(now)
	return nil
}

func sameColumns(a, b []*column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// alterColumns returns the columns after one action. Columns keep their id,
// so rows that were written before are found under a new name.
func (t *table) alterColumns(columns []*column, a alterAction) ([]*column, *restError) {
	find := func(name string) int {
		for i, c := range columns {
			if strings.EqualFold(c.name, name) {
				return i
			}
		}
		return -1
	}
	missing := func(name string) ([]*column, *restError) {
		if a.ifExists {
			return columns, nil
		}
		return nil, sqlInvalid(ruleAlter, "Column not found: "+name)
	}
	switch {
	case a.add != nil:
		if a.ifAbsent && find(a.add.Name) >= 0 {
			return columns, nil
		}
		c, e := t.addedColumn(a.add)
		return append(columns, c), e
	case a.drop != "":
		i := find(a.drop)
		if i < 0 {
			return missing(a.drop)
		}
		if e := t.mayChange(columns[i]); e != nil {
			return nil, e
		}
		return append(columns[:i:i], columns[i+1:]...), nil
	case a.rename != "":
		i := find(a.rename)
		if i < 0 {
			return missing(a.rename)
		}
		if e := t.mayChange(columns[i]); e != nil {
			return nil, e
		}
		if e := checkColumnName(a.to); e != nil {
			return nil, e
		}
		columns[i] = columns[i].as(a.to)
	case a.relax != "":
		i := find(a.relax)
		if i < 0 {
			return missing(a.relax)
		}
		columns[i] = columns[i].relaxed()
	}
	return columns, nil
}

// mayChange refuses to drop or rename a column of the key or the clustering.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language#alter_table_drop_column_statement
func (t *table) mayChange(c *column) *restError {
	s := t.schema()
	for _, k := range s.keys {
		if k.id == c.id {
			return sqlInvalid(ruleAlter, "Column "+c.name+" is part of the primary key and can't be dropped or renamed")
		}
	}
	for _, name := range s.cluster {
		if strings.EqualFold(name, c.name) {
			return sqlInvalid(ruleAlter, "Column "+c.name+" is a clustering column and can't be dropped or renamed")
		}
	}
	return nil
}

func (c *column) relaxed() *column {
	out, field := *c, *c.field
	out.required, field.Mode = false, "NULLABLE"
	out.field = &field
	return &out
}
