package bigquerytest

import (
	"fmt"
	"strconv"
	"strings"
)

// infoView is one view of INFORMATION_SCHEMA: its columns that are useful
// here, and its rows for one table, which is locked.
type infoView struct {
	columns []infoColumn
	rows    func(t *table) [][]any
}

type infoColumn struct {
	name string
	kind kind
}

// text makes columns of type STRING.
func text(names ...string) []infoColumn {
	var out []infoColumn
	for _, n := range names {
		out = append(out, infoColumn{n, kindString})
	}
	return out
}

// infoViews are by name, upper-case.
//
// https://docs.cloud.google.com/bigquery/docs/information-schema-intro
var infoViews = map[string]infoView{
	"TABLES": {append(text("table_catalog", "table_schema", "table_name", "table_type"),
		infoColumn{"creation_time", kindTimestamp}, infoColumn{"upsert_stream_apply_watermark", kindTimestamp}), tablesRows},
	"TABLE_OPTIONS": {text("table_catalog", "table_schema", "table_name", "option_name", "option_type", "option_value"), optionRows},
	"COLUMNS": {append(append(text("table_catalog", "table_schema", "table_name", "column_name"),
		infoColumn{"ordinal_position", kindInt64}, infoColumn{"clustering_ordinal_position", kindInt64}), text("is_nullable", "data_type")...), columnRows},
	"COLUMN_FIELD_PATHS": {text("table_catalog", "table_schema", "table_name", "column_name", "field_path", "data_type", "description"), fieldRows},
	"VIEWS":              {text("table_catalog", "table_schema", "table_name", "view_definition", "use_standard_sql"), viewRows},
	"KEY_COLUMN_USAGE": {append(text("constraint_catalog", "constraint_schema", "constraint_name", "table_catalog", "table_schema", "table_name", "column_name"),
		infoColumn{"ordinal_position", kindInt64}, infoColumn{"position_in_unique_constraint", kindInt64}), keyRows},
	"TABLE_CONSTRAINTS": {text("constraint_catalog", "constraint_schema", "constraint_name", "table_catalog", "table_schema", "table_name",
		"constraint_type", "is_deferrable", "initially_deferred", "enforced"), constraintRows},
}

// informationSchema is a view of dataset.INFORMATION_SCHEMA, or JOBS of a
// region.
func (s *Server) informationSchema(qualifier []string, view string, q queryContext) (*relation, *restError) {
	project, dataset := q.project, q.dataset
	switch len(qualifier) {
	case 2:
		project, dataset = qualifier[0], qualifier[1]
	case 1:
		dataset = qualifier[0]
	}
	name := strings.ToUpper(view)
	if region, ok := cutRegion(dataset); ok && (name == "JOBS" || name == "JOBS_BY_PROJECT") {
		return s.jobsView(project, region)
	}
	if dataset == "" {
		return nil, sqlInvalid(ruleSQL, "INFORMATION_SCHEMA."+view+" must be qualified with a dataset")
	}
	tables, e := s.catalog.tables(project, dataset)
	if e != nil {
		return nil, e
	}
	v, ok := infoViews[name]
	if !ok {
		return nil, sqlInvalid(ruleSQL, "INFORMATION_SCHEMA."+view+" isn't known by this server")
	}
	if e := s.may(onDataset(project, dataset), "bigquery.tables.get", "bigquery.tables.list"); e != nil {
		return nil, e
	}
	now := s.clock.now()
	rel := v.relation()
	for _, t := range tables {
		t.mu.Lock()
		t.catchUp(now)
		rel.rows = append(rel.rows, v.rows(t)...)
		t.mu.Unlock()
	}
	return rel, nil
}

func cutRegion(name string) (string, bool) {
	return strings.CutPrefix(strings.ToLower(name), "region-")
}

func (v infoView) relation() *relation {
	rel := &relation{rows: [][]any{}}
	for i, c := range v.columns {
		rel.columns = append(rel.columns, plainColumn(int32(i), c.name, c.kind))
	}
	return rel
}

func (t *table) infoBase() []any { return []any{t.project, t.dataset, t.name} }

// tablesRows shows the watermark once an apply has run on rows with a change type.
func tablesRows(t *table) [][]any {
	kind, watermark := "BASE TABLE", any(nil)
	if t.view != nil {
		kind = "VIEW"
	}
	if t.everApply {
		watermark = timestampText(t.applied.UnixMicro())
	}
	return [][]any{append(t.infoBase(), kind, timestampText(t.created.UnixMicro()), watermark)}
}

func optionRows(t *table) [][]any {
	var out [][]any
	if t.stale {
		out = append(out, append(t.infoBase(), "max_staleness", "INTERVAL", intervalText(t.staleness)))
	}
	if t.meta.Description != "" {
		out = append(out, append(t.infoBase(), "description", "STRING", strconv.Quote(t.meta.Description)))
	}
	return out
}

func columnRows(t *table) [][]any {
	var out [][]any
	s := t.schema()
	for i, c := range s.columns {
		nullable := "YES"
		if c.required || c.repeated {
			nullable = "NO"
		}
		cluster := any(nil)
		for n, name := range s.cluster {
			if strings.EqualFold(name, c.name) {
				cluster = strconv.Itoa(n + 1)
			}
		}
		out = append(out, append(t.infoBase(), c.name, strconv.Itoa(i+1), cluster, nullable, c.fullType()))
	}
	return out
}

func fieldRows(t *table) [][]any {
	var out [][]any
	for _, c := range t.schema().columns {
		comment := any(nil)
		if c.field.Description != "" {
			comment = c.field.Description
		}
		out = append(out, append(t.infoBase(), c.name, c.name, c.fullType(), comment))
	}
	return out
}

func viewRows(t *table) [][]any {
	if t.view == nil {
		return nil
	}
	return [][]any{append(t.infoBase(), t.view.query, "YES")}
}

func (t *table) constraint() []any { return []any{t.project, t.dataset, t.name + ".pk$"} }

func keyRows(t *table) [][]any {
	var out [][]any
	for i, k := range t.schema().keys {
		out = append(out, append(append(t.constraint(), t.infoBase()...), k.name, strconv.Itoa(i+1), nil))
	}
	return out
}

func constraintRows(t *table) [][]any {
	if len(t.schema().keys) == 0 {
		return nil
	}
	return [][]any{append(append(t.constraint(), t.infoBase()...), "PRIMARY KEY", "NO", "NO", "NO")}
}

// jobsInfo is JOBS. The service's destination_table is a STRUCT; its fields
// are columns here, which a query names in the same way.
var jobsInfo = infoView{columns: append([]infoColumn{
	{"creation_time", kindTimestamp}, {"start_time", kindTimestamp}, {"end_time", kindTimestamp},
}, text("project_id", "user_email", "job_id", "job_type", "state", "destination_table.project_id", "destination_table.dataset_id", "destination_table.table_id")...)}

// jobsView shows the background applies of a project's tables in a region.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#recommended-max-staleness
func (s *Server) jobsView(project, region string) (*relation, *restError) {
	if e := s.may(onProject(project), "bigquery.jobs.listAll"); e != nil {
		return nil, e
	}
	now := s.clock.now()
	rel := jobsInfo.relation()
	for _, t := range s.catalog.allTables() {
		t.mu.Lock()
		if t.project == project && strings.EqualFold(t.meta.Location, region) {
			t.catchUp(now)
			for _, a := range t.applies {
				at := timestampText(a.at.UnixMicro())
				id := fmt.Sprintf("cdc_background_%s_%s_%d", t.dataset, t.name, a.epoch)
				rel.rows = append(rel.rows, []any{at, at, at, project, "bigquery-adminbot@system.gserviceaccount.com", id, "QUERY", "DONE", t.project, t.dataset, t.name})
			}
		}
		t.mu.Unlock()
	}
	return rel, nil
}
