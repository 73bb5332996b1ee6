package bigquerytest

import (
	"slices"
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
	if e := s.may(onDataset(project, dataset), "bigquery.tables.create"); e != nil {
		return nil, e
	}
	skip := &result{ddl: "SKIP", kind: "CREATE_TABLE"}
	if _, missing := s.catalog.find(project, dataset, name); missing == nil && st.ifAbsent {
		return skip, nil
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
	if e := t.setOptions(st.options); e != nil {
		return nil, e
	}
	return s.create(t, q, st.ifAbsent, "CREATE_TABLE")
}

// create makes a table or a view known, unless the statement is only tried.
func (s *Server) create(t *table, q queryContext, ifAbsent bool, kind string) (*result, *restError) {
	if q.dryRun {
		return &result{ddl: "CREATE", kind: kind}, nil
	}
	e := s.catalog.addTable(t)
	if e != nil && ifAbsent && e.reason == "duplicate" {
		return &result{ddl: "SKIP", kind: kind}, nil
	}
	return &result{ddl: "CREATE", kind: kind}, e
}

// setOptions sets what the options name. The table is locked or not yet known.
func (t *table) setOptions(o options) *restError {
	if o.comment != nil {
		if e := checkDescription(*o.comment); e != nil {
			return e
		}
		t.meta.Description = *o.comment
	}
	if o.staleness != nil {
		t.staleness, t.stale = *o.staleness, true
	}
	if o.unstale {
		t.staleness, t.stale = 0, false
	}
	return nil
}

// runAlter does all actions of an ALTER TABLE, or none. They count as one
// update of the table's metadata.
func (s *Server) runAlter(st *alterTable, q queryContext) (*result, *restError) {
	kind := map[bool]string{false: "ALTER_TABLE", true: "ALTER_VIEW"}[st.view]
	t, e := s.target(st.path, st.view, st.ifExists, q, "bigquery.tables.get", "bigquery.tables.update")
	switch {
	case e != nil:
		return nil, e
	case t == nil:
		return &result{ddl: "SKIP", kind: kind}, nil
	case q.dryRun:
		return &result{ddl: "ALTER", kind: kind}, nil
	case st.newName != "":
		return &result{ddl: "ALTER", kind: kind}, s.rename(t, st.newName)
	}
	if e := t.lockLive(); e != nil {
		return nil, e
	}
	defer t.mu.Unlock()
	now := s.clock.now()
	t.catchUp(now)
	if e := t.spend(now); e != nil {
		return nil, e
	}
	return &result{ddl: "ALTER", kind: kind}, t.alter(st.actions, now)
}

// target finds the table or the view that a statement changes. It is nil without
// an error if there is none and the statement says IF EXISTS.
func (s *Server) target(path []string, view, ifExists bool, q queryContext, permissions ...string) (*table, *restError) {
	project, dataset, name, e := q.resolve(path)
	if e != nil {
		return nil, e
	}
	if e := s.may(onTable(project, dataset, name), permissions...); e != nil {
		return nil, e
	}
	t, e := s.catalog.find(project, dataset, name)
	switch {
	case e == nil:
		return t, t.mustBe(view)
	case ifExists && e.reason == "notFound":
		return nil, nil
	}
	return nil, e
}

// mustBe refuses a statement for views on a table and one for tables on a view.
func (t *table) mustBe(view bool) *restError {
	if view == (t.view != nil) {
		return nil
	}
	return sqlInvalid(ruleViewKind, t.id()+" is not allowed for this operation because it is currently a "+map[bool]string{true: "TABLE", false: "VIEW"}[view]+".")
}

func (t *table) alter(actions []alterAction, now time.Time) *restError {
	old := t.schema()
	shape := shape{append([]*column(nil), old.columns...), old.keyNames()}
	for _, a := range actions {
		if e := t.reshape(&shape, a); e != nil {
			return e
		}
	}
	if !slices.Equal(shape.columns, old.columns) || strings.Join(shape.keys, ",") != strings.Join(old.keyNames(), ",") {
		if e := t.setSchema(shape.columns, shape.keys, old.cluster, now); e != nil {
			return e
		}
	}
	for _, a := range actions {
		if a.options != nil {
			if e := t.setOptions(*a.options); e != nil {
				return e
			}
			t.overdue(now)
		}
	}
	t.changed(now)
	return nil
}

// runDrop drops a table or a view.
func (s *Server) runDrop(st *dropTable, q queryContext) (*result, *restError) {
	kind := map[bool]string{false: "DROP_TABLE", true: "DROP_VIEW"}[st.view]
	t, e := s.target(st.path, st.view, st.ifExists, q, "bigquery.tables.delete", "bigquery.tables.get")
	switch {
	case e != nil:
		return nil, e
	case t == nil:
		return &result{ddl: "SKIP", kind: kind}, nil
	case q.dryRun:
		return &result{ddl: "DROP", kind: kind}, nil
	}
	t.mu.Lock()
	e = t.spend(s.clock.now())
	t.mu.Unlock()
	if e != nil {
		return nil, e
	}
	return &result{ddl: "DROP", kind: kind}, s.catalog.removeTable(t.project, t.dataset, t.name)
}

// renameQuiet is how long a table wasn't streamed to before it can be renamed.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language#alter_table_rename_to_statement
const renameQuiet = 5 * time.Hour

// rename gives a table another name in its dataset.
func (s *Server) rename(t *table, name string) *restError {
	if e := checkTableName(name); e != nil {
		return e
	}
	now := s.clock.now()
	t.mu.Lock()
	e := t.spend(now)
	quiet, keyed := now.Sub(t.streamed) >= renameQuiet, len(t.schema().keys) > 0
	t.mu.Unlock()
	switch {
	case e != nil:
		return e
	case keyed:
		return sqlInvalid(ruleKeyFixed, "Table "+t.id()+" has a primary key: it can't be renamed")
	case !quiet:
		return sqlInvalid(ruleRenameStreaming, "Table "+t.id()+" can't be renamed: data was streamed into it lately")
	}
	return s.catalog.renameTable(t, name)
}

// runChangeRows refuses DML on a table with change data capture and on a view.
// Of the rest only TRUNCATE TABLE is built.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#limitations
func (s *Server) runChangeRows(st *changeRows, q queryContext) (*result, *restError) {
	t, e := s.target(st.path, false, false, q, "bigquery.tables.updateData", "bigquery.tables.getData")
	if e != nil {
		return nil, e
	}
	if e := t.lockLive(); e != nil {
		return nil, e
	}
	defer t.mu.Unlock()
	switch {
	case t.active && st.word != "INSERT":
		return nil, restInvalid(ruleDML, "DELETE/UPDATE/MERGE DMLs are currently not supported over tables that had UPSERT streams.")
	case st.word != "TRUNCATE TABLE" || st.rest:
		return nil, restUnhandled(st.word + " isn't built")
	}
	if !q.dryRun {
		t.inserted, t.measured = nil, tableSize{}
	}
	return &result{ddl: "TRUNCATE", kind: "TRUNCATE_TABLE"}, nil
}
