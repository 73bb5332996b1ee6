package bigquerytest

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// queryContext is what a statement's names are resolved with.
type queryContext struct {
	project, dataset string // the default dataset may be ""
	params           map[string]literal
}

// relation is what a SELECT reads.
type relation struct {
	columns []*column
	stored  []storedRow     // rows of a table, decoded when they are looked at
	rows    []map[int32]any // or rows of a view of INFORMATION_SCHEMA
}

// result is a query's answer: canonical texts by column.
type result struct {
	columns []*column
	rows    [][]any
	ddl     string // the operation that DDL performed, "" for a SELECT
}

// run parses and runs one statement.
func (s *Server) run(sql string, q queryContext) (*result, *restError) {
	parsed, e := parseSQL(sql)
	if e != nil {
		return nil, e
	}
	switch st := parsed.(type) {
	case *selectStatement:
		s.count.add(func(n *Counters) { n.Queries++ })
		return s.runSelect(st, q)
	case *createTable:
		return s.runCreate(st, q)
	case *alterTable:
		return s.runAlter(st, q)
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

func (s *Server) runSelect(st *selectStatement, q queryContext) (*result, *restError) {
	rel, e := s.relation(st.from, q)
	if e != nil {
		return nil, e
	}
	for i := range st.where {
		if e := st.where[i].value.fill(q.params); e != nil {
			return nil, e
		}
	}
	if out, ok := countAll(st, rel); ok {
		return out, nil
	}
	rows, e := rel.filter(st.where)
	if e != nil {
		return nil, e
	}
	if e := rel.sort(rows, st.order); e != nil {
		return nil, e
	}
	return rel.project(st, rows)
}

// relation reads a table as a query does, or a view of INFORMATION_SCHEMA.
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
	now := s.clock.now()
	t.mu.Lock()
	t.catchUp(now)
	merge := t.fresh(now)
	waiting := merge && t.active
	t.mu.Unlock()
	if waiting {
		s.count.add(func(n *Counters) { n.RuntimeMerges++ })
	}
	rel := &relation{}
	rel.columns, rel.stored = t.read(now, !merge)
	return rel, nil
}

func (l *literal) fill(params map[string]literal) *restError {
	if l.param == "" {
		return nil
	}
	v, ok := params[strings.ToLower(l.param)]
	if !ok {
		return sqlInvalid(ruleSQL, "Query parameter '"+l.param+"' not found")
	}
	*l = v
	return nil
}

// countAll answers SELECT COUNT(*) FROM t without decoding a row.
func countAll(st *selectStatement, rel *relation) (*result, bool) {
	if st.star || len(st.items) != 1 || !st.items[0].count || len(st.where) > 0 || rel.rows != nil {
		return nil, false
	}
	out := &result{columns: []*column{countColumn(st.items[0], 0)}}
	if st.limit != 0 && st.offset == 0 {
		out.rows = [][]any{{strconv.Itoa(len(rel.stored))}}
	}
	return out, true
}

func countColumn(item selectItem, i int) *column {
	name := item.alias
	if name == "" {
		name = "f" + strconv.Itoa(i) + "_"
	}
	return plainColumn(-1, name, kindInt64)
}

func plainColumn(id int32, name string, k kind) *column {
	return &column{id: id, name: name, kind: k, field: &bq.TableFieldSchema{Name: name, Type: k.restName(), Mode: "NULLABLE"}}
}

func (rel *relation) column(name string) (*column, *restError) {
	for _, c := range rel.columns {
		if strings.EqualFold(c.name, name) {
			return c, nil
		}
	}
	return nil, sqlInvalid(ruleSQL, "Unrecognized name: "+name)
}

// filter decodes the rows and keeps those that every condition takes.
func (rel *relation) filter(where []condition) ([]map[int32]any, *restError) {
	tests := make([]func(map[int32]any) bool, len(where))
	for i, w := range where {
		c, e := rel.column(w.column)
		if e != nil {
			return nil, e
		}
		if tests[i], e = c.test(w); e != nil {
			return nil, e
		}
	}
	var out []map[int32]any
	keep := func(values map[int32]any) {
		for _, test := range tests {
			if !test(values) {
				return
			}
		}
		out = append(out, values)
	}
	for _, r := range rel.stored {
		keep(r.plan.decode(r.row))
	}
	for _, values := range rel.rows {
		keep(values)
	}
	return out, nil
}

// test makes a condition's predicate. A comparison with NULL is never true.
func (c *column) test(w condition) (func(map[int32]any) bool, *restError) {
	if w.op == "null" || w.op == "notnull" {
		want := w.op == "null" && !c.repeated // a REPEATED column is never NULL
		return func(values map[int32]any) bool {
			_, ok := values[c.id]
			return ok != want || c.repeated && w.op == "notnull"
		}, nil
	}
	if c.repeated || c.kind == kindJSON || (c.kind == kindBytes && w.op != "=" && w.op != "!=") {
		return nil, sqlInvalid(ruleSQL, "Operator "+w.op+" isn't defined for column "+c.name)
	}
	want, e := c.constant(w.value)
	if e != nil {
		return nil, e
	}
	return func(values map[int32]any) bool {
		got, ok := values[c.id].(string)
		if !ok || (c.kind == kindFloat64 && (got == "NaN" || want == "NaN")) {
			return false
		}
		n := c.order(got, want)
		switch w.op {
		case "=":
			return n == 0
		case "!=":
			return n != 0
		case "<":
			return n < 0
		case "<=":
			return n <= 0
		case ">":
			return n > 0
		}
		return n >= 0
	}, nil
}

// constant turns a literal into the column's canonical text.
func (c *column) constant(l literal) (string, *restError) {
	mismatched := sqlInvalid(ruleSQL, "No matching signature for a comparison of column "+c.name+" of type "+string(c.kind)+" with this literal")
	b := []byte(l.text)
	switch c.kind {
	case kindString:
		if l.quote {
			return l.text, nil
		}
	case kindBool:
		if !l.quote && (l.text == "true" || l.text == "false") {
			return l.text, nil
		}
	case kindInt64:
		if n, err := strconv.ParseInt(l.text, 10, 64); err == nil && !l.quote {
			return strconv.FormatInt(n, 10), nil
		}
	case kindFloat64:
		if f, err := strconv.ParseFloat(l.text, 64); err == nil {
			return floatText(f), nil
		}
	case kindNumeric, kindBigNumeric:
		if n, err := c.unscaled(b); err == nil {
			return decimalText(n, c.decimalScale()), nil
		}
	case kindTimestamp:
		if t, ok := parseTimestamp(l.text); ok && l.quote {
			return timestampText(t), nil
		}
	default:
		f := &fieldPlan{proto: protoString, column: c}
		if v := (wireValue{b: b}); l.quote && f.check(v) == nil {
			return f.text(v), nil
		}
	}
	return "", mismatched
}

// order compares two canonical texts by the column's type.
func (c *column) order(a, b string) int {
	switch c.kind {
	case kindInt64, kindFloat64:
		if c.kind == kindInt64 {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			return cmp.Compare(x, y)
		}
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	case kindNumeric, kindBigNumeric:
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if okX && okY {
			return x.Cmp(y)
		}
	}
	return strings.Compare(a, b)
}

// sort orders rows; NULL comes first, as in ascending order of the service.
func (rel *relation) sort(rows []map[int32]any, order []orderItem) *restError {
	columns := make([]*column, len(order))
	for i, o := range order {
		c, e := rel.column(o.column)
		if e != nil {
			return e
		}
		if c.repeated || c.kind == kindJSON {
			return sqlInvalid(ruleSQL, "ORDER BY does not support expressions of type "+string(c.kind))
		}
		columns[i] = c
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(x, y map[int32]any) int {
		for i, c := range columns {
			n := c.orderAny(x[c.id], y[c.id])
			if order[i].desc {
				n = -n
			}
			if n != 0 {
				return n
			}
		}
		return 0
	})
	return nil
}

func (c *column) orderAny(a, b any) int {
	x, okX := a.(string)
	y, okY := b.(string)
	switch {
	case okX && okY:
		return c.order(x, y)
	case okX:
		return 1
	case okY:
		return -1
	}
	return 0
}

// project makes the answer's columns.
func (rel *relation) project(st *selectStatement, rows []map[int32]any) (*result, *restError) {
	out := &result{}
	counts := false
	if st.star {
		out.columns = rel.columns
	}
	for i, item := range st.items {
		if item.count {
			counts = true
			out.columns = append(out.columns, countColumn(item, i))
			continue
		}
		c, e := rel.column(item.column)
		if e != nil {
			return nil, e
		}
		out.columns = append(out.columns, c.as(item.alias))
	}
	if counts {
		return out, out.countRows(st, len(rows))
	}
	rows = rows[min(st.offset, len(rows)):]
	if st.limit >= 0 {
		rows = rows[:min(st.limit, len(rows))]
	}
	for _, values := range rows {
		row := make([]any, len(out.columns))
		for i, c := range out.columns {
			row[i] = c.shown(values)
		}
		out.rows = append(out.rows, row)
	}
	return out, nil
}

func (r *result) countRows(st *selectStatement, n int) *restError {
	row := make([]any, len(st.items))
	for i, item := range st.items {
		if !item.count {
			return sqlInvalid(ruleSQL, "SELECT list expression references column "+item.column+" which is neither grouped nor aggregated")
		}
		row[i] = strconv.Itoa(n)
	}
	if st.limit != 0 && st.offset == 0 {
		r.rows = [][]any{row}
	}
	return nil
}

func (c *column) as(alias string) *column {
	if alias == "" {
		return c
	}
	out, field := *c, *c.field
	out.name, field.Name = alias, alias
	out.field = &field
	return &out
}
