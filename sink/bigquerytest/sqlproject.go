package bigquerytest

import (
	"slices"
	"strconv"
	"strings"
)

func (st *selectStatement) hasStar() bool {
	return slices.ContainsFunc(st.items, func(i selectItem) bool { return i.star })
}

// roots are the expressions that may have aggregates and window functions.
func (st *selectStatement) roots() []*expr {
	var out []*expr
	for _, i := range st.items {
		if i.e != nil {
			out = append(out, i.e)
		}
	}
	for _, o := range st.order {
		out = append(out, o.e)
	}
	for _, x := range []*expr{st.having, st.qualify} {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}

// resolveAliases puts the expressions of the SELECT list where their aliases
// or their ordinals stand. A column wins over an alias except in ORDER BY.
func (st *selectStatement) resolveAliases(rel *relation) {
	put := func(x *expr, preferred bool) {
		x.visit(func(x *expr) bool {
			if x.op != opColumn || (!preferred && rel.find(x.name) >= 0) {
				return true
			}
			for _, i := range st.items {
				if i.alias != "" && strings.EqualFold(i.alias, x.name) {
					*x = *i.e
					return false
				}
			}
			return true
		})
	}
	ordinal := func(x *expr) {
		if n, err := strconv.Atoi(x.value.text); err == nil && x.op == opLiteral && !x.value.quote && n > 0 && n <= len(st.items) && !st.hasStar() {
			*x = *st.items[n-1].e
		}
	}
	for _, g := range st.group {
		ordinal(g)
		put(g, false)
	}
	put(st.having, false)
	put(st.qualify, false)
	for _, o := range st.order {
		ordinal(o.e)
		put(o.e, true)
	}
}

// name is the column's name in the answer.
func (i selectItem) name(at int) string {
	switch {
	case i.alias != "":
		return i.alias
	case i.e.op == opColumn && !strings.HasPrefix(i.e.name, "\x00"):
		_, name, ok := strings.Cut(i.e.name, ".")
		if !ok {
			name = i.e.name
		}
		return name
	}
	return "f" + strconv.Itoa(at) + "_"
}

// outputs compiles the SELECT list.
func (c *compiler) outputs(st *selectStatement) (columns []*column, values []compiled, e *restError) {
	for at, item := range st.items {
		if !item.star {
			v, e := c.compile(item.e)
			if e != nil {
				return nil, nil, e
			}
			columns, values = append(columns, v.column.as(item.name(at))), append(values, v)
			continue
		}
		if c.rel.grouped != nil {
			return nil, nil, sqlInvalid(ruleSQL, "SELECT list expression references columns which are neither grouped nor aggregated")
		}
		for _, name := range item.except {
			if c.rel.find(name) < 0 {
				return nil, nil, sqlInvalid(ruleSQL, "Column "+name+" in SELECT * EXCEPT list does not exist")
			}
		}
		before := len(columns)
		for i, col := range c.rel.columns {
			hidden := strings.HasPrefix(col.name, "\x00")
			if hidden || slices.ContainsFunc(item.except, func(n string) bool { return strings.EqualFold(n, col.name) }) {
				continue
			}
			columns, values = append(columns, col), append(values, compiled{column: col, eval: func(row []any) any { return row[i] }})
		}
		if len(columns) == before {
			return nil, nil, sqlInvalid(ruleSQL, "SELECT * has no columns left")
		}
	}
	return columns, values, nil
}

// project makes the answer: SELECT list, DISTINCT, ORDER BY, LIMIT.
func (c *compiler) project(st *selectStatement) (*result, *restError) {
	columns, values, e := c.outputs(st)
	if e != nil {
		return nil, e
	}
	keys, e := c.sortKeys(st.order)
	if e != nil {
		return nil, e
	}
	rows := c.rel.rows
	if st.distinct {
		if rows, e = distinct(columns, values, rows); e != nil {
			return nil, e
		}
	}
	order := sortedBy(len(rows), func(i int) []any { return rows[i] }, keys, st.order)
	order = order[min(st.offset, len(order)):]
	if st.limit >= 0 {
		order = order[:min(st.limit, len(order))]
	}
	out := &result{columns: columns}
	for _, at := range order {
		row := make([]any, len(values))
		for i, v := range values {
			row[i] = v.eval(rows[at])
		}
		out.rows = append(out.rows, row)
	}
	return out, nil
}

// distinct keeps the first of the rows that look the same.
func distinct(columns []*column, values []compiled, rows [][]any) ([][]any, *restError) {
	for _, c := range columns {
		if !c.sortable() {
			return nil, sqlInvalid(ruleSQL, "Column "+c.name+" of type "+c.typeName()+" cannot be used in SELECT DISTINCT")
		}
	}
	var out [][]any
	seen := map[string]bool{}
	for _, row := range rows {
		key := rowKey(values, row)
		if !seen[key] {
			seen[key] = true
			out = append(out, row)
		}
	}
	return out, nil
}

// as is the column under another name.
func (c *column) as(name string) *column {
	if name == c.name {
		return c
	}
	out, field := *c, *c.field
	out.name, field.Name = name, name
	out.field = &field
	return &out
}
