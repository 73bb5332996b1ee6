package bigquerytest

import (
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// queryContext is what a statement's names are resolved with.
type queryContext struct {
	project, dataset string // the default dataset may be ""
	params           map[string]literal
	views            int    // how many views are around the statement
	defines          string // the view that is being made or replaced
	dryRun           bool
}

// result is a query's answer: canonical texts by column.
type result struct {
	columns []*column
	rows    [][]any
	ddl     string // the operation that DDL performed, "" for a SELECT
	kind    string // the statement's type, as in the job's statistics
	bytes   int64  // bytes processed
}

// run parses and runs one statement.
func (s *Server) run(sql string, q queryContext) (*result, *restError) {
	parsed, e := parseSQL(sql)
	if e != nil {
		return nil, e
	}
	switch st := parsed.(type) {
	case *selectStatement:
		if !q.dryRun {
			s.count.add(func(n *Counters) { n.Queries++ })
		}
		out, e := s.runSelect(st, q)
		if e == nil {
			out.kind = "SELECT"
		}
		return out, e
	case *createTable:
		return s.runCreate(st, q)
	case *createView:
		return s.runCreateView(st, q)
	case *alterTable:
		return s.runAlter(st, q)
	case *dropTable:
		return s.runDrop(st, q)
	case *changeRows:
		return s.runChangeRows(st, q)
	}
	return nil, sqlInvalid(ruleSQL, "Unknown statement")
}

// resolve completes a table's path to project, dataset and table.
func (q queryContext) resolve(path []string) (project, dataset, table string, e *restError) {
	switch len(path) {
	case 3:
		return path[0], path[1], path[2], nil
	case 2:
		return q.project, path[0], path[1], nil
	case 1:
		if q.dataset != "" {
			return q.project, q.dataset, path[0], nil
		}
	}
	return "", "", "", sqlInvalid(ruleSQL, "Table \""+strings.Join(path, ".")+"\" must be qualified with a dataset (e.g. dataset.table).")
}

// runSelect does the steps of a SELECT in the order that the service names.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/query-syntax#qualify_clause
func (s *Server) runSelect(st *selectStatement, q queryContext) (*result, *restError) {
	rel, e := s.from(st.from, q)
	if e != nil {
		return nil, e
	}
	rel.used = map[int32]int{}
	if out, ok := countAll(st, rel); ok {
		out.bytes = rel.read()
		return out, nil
	}
	c := &compiler{rel: rel, params: q.params}
	if e := c.where(st.where); e != nil {
		return nil, e
	}
	star := st.hasStar()
	st.resolveAliases(rel)
	if e := c.groupBy(st); e != nil {
		return nil, e
	}
	if e := c.qualify(st); e != nil {
		return nil, e
	}
	out, e := c.project(st)
	if e != nil {
		return nil, e
	}
	if star {
		rel.used = nil
	}
	out.bytes = rel.read()
	return out, nil
}

// read is what the query processes.
func (rel *relation) read() int64 {
	if rel.bytes == nil {
		return 0
	}
	return rel.bytes(rel.used)
}

// from is what a SELECT reads: one row without columns if it has no FROM.
func (s *Server) from(f *fromItem, q queryContext) (*relation, *restError) {
	if f == nil {
		return &relation{rows: [][]any{{}}}, nil
	}
	if f.query == nil {
		rel, e := s.relation(f.path, q)
		if e == nil {
			rel.alias = f.alias
		}
		return rel, e
	}
	out, e := s.runSelect(f.query, q)
	if e != nil {
		return nil, e
	}
	return out.relation(f.alias), nil
}

// relation makes a result readable again; its columns get new ids.
func (r *result) relation(alias string) *relation {
	rel := &relation{alias: alias, rows: r.rows, bytes: func(map[int32]int) int64 { return r.bytes }}
	for i, c := range r.columns {
		out := *c
		out.id = int32(i)
		rel.columns = append(rel.columns, &out)
	}
	return rel
}

// relation reads a table as a query does, a view, or INFORMATION_SCHEMA.
func (s *Server) relation(path []string, q queryContext) (*relation, *restError) {
	if n := len(path); n >= 2 && strings.EqualFold(path[n-2], "INFORMATION_SCHEMA") {
		return s.informationSchema(path[:n-2], path[n-1], q)
	}
	project, dataset, name, e := q.resolve(path)
	if e != nil {
		return nil, e
	}
	t, e := s.catalog.find(project, dataset, name)
	if e != nil {
		return nil, e
	}
	if e := s.mayQuery(t); e != nil {
		return nil, e
	}
	if t.view != nil {
		return s.viewRelation(t, q)
	}
	now := s.clock.now()
	t.mu.Lock()
	t.catchUp(now)
	merge := t.fresh(now)
	waiting := merge && t.active
	t.mu.Unlock()
	if waiting && !q.dryRun {
		s.count.add(func(n *Counters) { n.RuntimeMerges++ })
	}
	rel := &relation{}
	rel.columns, rel.stored = t.read(now, !merge)
	stored := rel.stored
	rel.bytes = func(used map[int32]int) int64 {
		if waiting { // a runtime merge reads the whole baseline
			used = nil
		}
		return logicalBytes(stored, used)
	}
	if q.dryRun {
		rel.stored, rel.rows = nil, [][]any{}
	}
	return rel, nil
}

// countAll answers SELECT COUNT(*) FROM t without decoding a row.
func countAll(st *selectStatement, rel *relation) (*result, bool) {
	if len(st.items) != 1 || st.items[0].star || st.items[0].e.op != opCountAll || rel.rows != nil ||
		st.where != nil || st.group != nil || st.having != nil || st.qualify != nil || st.order != nil {
		return nil, false
	}
	out := &result{columns: []*column{plainColumn(-1, st.items[0].name(0), kindInt64)}}
	if st.limit != 0 && st.offset == 0 {
		out.rows = [][]any{{strconv.Itoa(len(rel.stored))}}
	}
	return out, true
}

func plainColumn(id int32, name string, k kind) *column {
	return &column{id: id, name: name, kind: k, field: &bq.TableFieldSchema{Name: name, Type: k.restName(), Mode: "NULLABLE"}}
}

// where decodes the rows and keeps those of which the condition is true.
func (c *compiler) where(x *expr) *restError {
	keep := func([]any) any { return "true" }
	if x != nil {
		var e *restError
		if keep, e = c.condition(x); e != nil {
			return e
		}
	}
	rows := [][]any{}
	for _, r := range c.rel.stored {
		values, row := r.plan.decode(r.row), make([]any, len(c.rel.columns))
		for i, col := range c.rel.columns {
			row[i] = col.shown(values)
		}
		if keep(row) == "true" {
			rows = append(rows, row)
		}
	}
	for _, row := range c.rel.rows {
		if keep(row) == "true" {
			rows = append(rows, row)
		}
	}
	rel := *c.rel
	rel.rows, rel.stored = rows, nil
	c.rel = &rel
	return nil
}

// filter keeps the rows of which a condition is true.
func (c *compiler) filter(x *expr) *restError {
	if x == nil {
		return nil
	}
	keep, e := c.condition(x)
	if e != nil {
		return e
	}
	rel := *c.rel
	rel.rows = [][]any{}
	for _, row := range c.rel.rows {
		if keep(row) == "true" {
			rel.rows = append(rel.rows, row)
		}
	}
	c.rel = &rel
	return nil
}

func (c *compiler) groupBy(st *selectStatement) *restError {
	aggregates := rewrite(isAggregateNode, st.roots()...)
	if len(aggregates) == 0 && st.group == nil {
		if st.having != nil {
			return sqlInvalid(ruleSQL, "The HAVING clause requires GROUP BY or aggregation to be present")
		}
		return nil
	}
	rel, e := c.group(st.group, aggregates)
	if e != nil {
		return e
	}
	c.rel = rel
	return c.filter(st.having)
}

func (c *compiler) qualify(st *selectStatement) *restError {
	windows := rewrite(isWindowNode, st.roots()...)
	if st.qualify != nil && len(windows) == 0 {
		return sqlInvalid(ruleQualify, "The QUALIFY clause requires analytic function to be present")
	}
	if len(windows) == 0 {
		return nil
	}
	rel, e := c.addWindows(windows)
	if e != nil {
		return e
	}
	c.rel = rel
	return c.filter(st.qualify)
}
