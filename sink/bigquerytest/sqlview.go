package bigquerytest

import (
	"unicode/utf8"

	bq "google.golang.org/api/bigquery/v2"
)

// Limits of views.
//
// https://docs.cloud.google.com/bigquery/quotas#view_limits
const (
	maxViewLevels     = 15 // that can be queried; one more can be created
	maxViewCharacters = 256 << 10
)

// viewDefinition is what makes a table a view. It is guarded by the table's
// mutex; that a table is a view never changes.
type viewDefinition struct {
	query    string
	names    []string // of the columns; nil takes the query's
	comments []string // by name
}

// runCreateView makes or replaces a view by DDL.
func (s *Server) runCreateView(st *createView, q queryContext) (*result, *restError) {
	project, dataset, name, e := q.resolve(st.path)
	if e != nil {
		return nil, e
	}
	needs := []string{"bigquery.tables.create"}
	if st.replace {
		needs = append(needs, "bigquery.tables.update")
	}
	if e := s.may(onDataset(project, dataset), needs...); e != nil {
		return nil, e
	}
	old, missing := s.catalog.find(project, dataset, name)
	if missing == nil && st.ifAbsent {
		return &result{ddl: "SKIP", kind: "CREATE_VIEW"}, nil
	}
	def := viewDefinition{st.query, st.names, st.comments}
	if missing == nil && st.replace {
		if e := old.mustBe(true); e != nil {
			return nil, e
		}
		return &result{ddl: "REPLACE", kind: "CREATE_VIEW"}, s.setView(old, def, q, &st.options)
	}
	t, e := s.makeView(project, dataset, name, def, q)
	if e != nil {
		return nil, e
	}
	if e := t.setOptions(st.options); e != nil {
		return nil, e
	}
	return s.create(t, q, st.ifAbsent, "CREATE_VIEW")
}

// makeView checks a view; it isn't in the catalog yet.
func (s *Server) makeView(project, dataset, name string, def viewDefinition, q queryContext) (*table, *restError) {
	t, e := s.makeTable(project, dataset, name, &bq.Table{})
	if e != nil {
		return nil, e
	}
	columns, e := s.viewColumns(t, def, q)
	if e != nil {
		return nil, e
	}
	t.view, t.meta.Type = &def, "VIEW"
	t.schemas = []schemaAt{{newSchema(1, columns, nil, nil), t.created}}
	return t, nil
}

// setView gives a view another query. Its schema is frozen anew.
func (s *Server) setView(t *table, def viewDefinition, q queryContext, o *options) *restError {
	columns, e := s.viewColumns(t, def, q)
	if e != nil || q.dryRun {
		return e
	}
	if e := t.lockLive(); e != nil {
		return e
	}
	defer t.mu.Unlock()
	now := s.clock.now()
	if e := t.spend(now); e != nil {
		return e
	}
	t.meta.Description = ""
	if e := t.setOptions(*o); e != nil {
		return e
	}
	*t.view = def
	t.changed(now)
	return t.setSchema(columns, nil, nil, now)
}

// viewColumns is the schema that a view's query has now: without parameters of
// types and without REQUIRED.
//
// https://docs.cloud.google.com/bigquery/docs/views#view_limitations
func (s *Server) viewColumns(t *table, def viewDefinition, q queryContext) ([]*column, *restError) {
	if utf8.RuneCountInString(def.query) > maxViewCharacters {
		return nil, sqlInvalid(ruleViewQuery, "The query of a view is too large: at most 256 K characters")
	}
	q.dryRun, q.views, q.defines = true, -1, t.id()
	rel, e := s.queryView(t, def, q)
	if e != nil {
		return nil, e
	}
	var out []*column
	for i, c := range rel.columns {
		mode := "NULLABLE"
		if c.repeated {
			mode = "REPEATED"
		}
		col, e := newColumn(int32(i), &bq.TableFieldSchema{Name: c.name, Type: string(c.kind), Mode: mode})
		if e != nil {
			return nil, e
		}
		if def.comments != nil {
			col = col.described(def.comments[i])
		}
		out = append(out, col)
	}
	return out, checkSchema(out, nil, nil)
}

// viewRelation runs a view's query. Names in it are resolved as the view's
// project does, whoever asks.
func (s *Server) viewRelation(t *table, q queryContext) (*relation, *restError) {
	if q.defines == t.id() {
		return nil, sqlInvalid(ruleViewNesting, "View "+t.id()+" can't refer to itself")
	}
	t.mu.Lock()
	def := *t.view
	t.mu.Unlock()
	return s.queryView(t, def, q)
}

func (s *Server) queryView(t *table, def viewDefinition, q queryContext) (*relation, *restError) {
	if q.views >= maxViewLevels {
		return nil, sqlInvalid(ruleViewNesting, "Views are nested too deeply: a query goes through at most 15 levels")
	}
	parsed, e := parseSQL(def.query)
	if e != nil {
		return nil, e
	}
	st, ok := parsed.(*selectStatement)
	if !ok {
		return nil, sqlInvalid(ruleViewQuery, "The query of a view must be a SELECT statement")
	}
	out, e := s.runSelect(st, queryContext{project: t.project, views: q.views + 1, defines: q.defines, dryRun: q.dryRun})
	if e != nil {
		return nil, e
	}
	rel := out.relation(t.name)
	if def.names == nil {
		return rel, nil
	}
	if len(def.names) != len(rel.columns) {
		return nil, sqlInvalid(ruleViewQuery, "View "+t.id()+" has another number of columns than its query")
	}
	for i, name := range def.names {
		rel.columns[i] = rel.columns[i].as(name)
	}
	return rel, nil
}

// viewBody is the part of a table's body that makes it a view.
type viewBody struct {
	View *struct {
		Query        string           `json:"query"`
		UseLegacySQL *bool            `json:"useLegacySql"`
		UDFs         []map[string]any `json:"userDefinedFunctionResources"`
	} `json:"view"`
}

// viewDefinition reads it; nil without a view.
func (c *call) viewDefinition() (*viewDefinition, *restError) {
	var in viewBody
	if e := c.decode(&in); e != nil || in.View == nil {
		return nil, e
	}
	switch {
	case in.View.UseLegacySQL == nil || *in.View.UseLegacySQL:
		return nil, restUnhandled("views in legacy SQL aren't built (useLegacySql is true by default)")
	case len(in.View.UDFs) > 0:
		return nil, restUnhandled("functions of views aren't built")
	case in.View.Query == "":
		return nil, restInvalid(ruleViewQuery, "Required parameter is missing: query")
	}
	return &viewDefinition{query: in.View.Query}, nil
}
