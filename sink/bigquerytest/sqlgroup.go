package bigquerytest

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// rewrite replaces the nodes that match by columns with made-up names, which
// the relation of the next step has, and returns the nodes by their names.
func rewrite(match func(*expr) bool, roots ...*expr) []*expr {
	var found []*expr
	for _, root := range roots {
		root.visit(func(x *expr) bool {
			if !match(x) {
				return true
			}
			was := *x
			found = append(found, &was)
			*x = expr{op: opColumn, name: hiddenName(match, len(found)-1)}
			return false
		})
	}
	return found
}

// hiddenName can't be written in a statement.
func hiddenName(match func(*expr) bool, i int) string {
	if match(&expr{op: opRowNumber}) {
		return "\x00window" + strconv.Itoa(i)
	}
	return "\x00aggregate" + strconv.Itoa(i)
}

func isAggregateNode(x *expr) bool { return isAggregate(x.op) }
func isWindowNode(x *expr) bool    { return x.op == opRowNumber }

// group makes one row of each group: the columns of the keys, then those of
// the aggregates. Without keys all rows are one group, even if there are none.
func (c *compiler) group(keys, aggregates []*expr) (*relation, *restError) {
	out := &relation{alias: c.rel.alias, grouped: c.rel}
	by := make([]compiled, len(keys))
	for i, k := range keys {
		var e *restError
		if by[i], e = c.compile(k); e != nil {
			return nil, e
		}
		if k.op != opColumn || !by[i].column.sortable() {
			return nil, sqlInvalid(ruleSQL, "Grouping by expressions of type "+by[i].column.typeName()+", or by what isn't a column, is not allowed")
		}
		out.columns = append(out.columns, by[i].column)
	}
	sums := make([]*aggregate, len(aggregates))
	for i, x := range aggregates {
		a, e := c.aggregate(x)
		if e != nil {
			return nil, e
		}
		sums[i] = a
		out.columns = append(out.columns, plainColumn(int32(-2-i), hiddenName(isAggregateNode, i), a.kind))
	}
	members := map[string][][]any{}
	var order []string
	if len(keys) == 0 {
		members[""], order = c.rel.rows, []string{""}
	} else {
		for _, row := range c.rel.rows {
			key := rowKey(by, row)
			if members[key] == nil {
				order = append(order, key)
			}
			members[key] = append(members[key], row)
		}
	}
	for _, key := range order {
		row := make([]any, 0, len(out.columns))
		for _, k := range by {
			row = append(row, k.eval(members[key][0]))
		}
		for _, a := range sums {
			v, e := a.of(members[key])
			if e != nil {
				return nil, e
			}
			row = append(row, v)
		}
		out.rows = append(out.rows, row)
	}
	return out, nil
}

// rowKey is equal for rows with equal values.
func rowKey(by []compiled, row []any) string {
	var b strings.Builder
	for _, k := range by {
		appendValue(&b, k.eval(row))
	}
	return b.String()
}

func appendValue(b *strings.Builder, v any) {
	text, ok := v.(string)
	if !ok {
		b.WriteString("-,")
		return
	}
	b.WriteString(strconv.Itoa(len(text)) + ":" + text)
}

// aggregate is one aggregate function.
type aggregate struct {
	op       string
	kind     kind // of its result
	distinct bool
	arg      compiled
}

func (c *compiler) aggregate(x *expr) (*aggregate, *restError) {
	a := &aggregate{op: x.op, kind: kindInt64, distinct: x.distinct}
	if x.op == opCountAll {
		return a, nil
	}
	var e *restError
	if a.arg, e = c.compile(x.args[0]); e != nil {
		return nil, e
	}
	col := a.arg.column
	fits := map[string]bool{
		opCount: !a.distinct || col.sortable(), opMin: col.sortable(), opMax: col.sortable(), opSum: isNumber(col.kind) && !col.repeated,
	}
	if !fits[x.op] {
		return nil, sqlInvalid(ruleSQL, "No matching signature for aggregate function "+strings.ToUpper(x.op)+" for argument types: "+col.typeName())
	}
	if x.op != opCount {
		a.kind = col.kind
	}
	return a, nil
}

func (a *aggregate) of(rows [][]any) (any, *restError) {
	if a.op == opCountAll {
		return strconv.Itoa(len(rows)), nil
	}
	var values []any
	seen := map[string]bool{}
	for _, row := range rows {
		v := a.arg.eval(row)
		if v == nil {
			continue
		}
		if a.distinct {
			key := fmt.Sprint(v)
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		values = append(values, v)
	}
	switch {
	case a.op == opCount:
		return strconv.Itoa(len(values)), nil
	case len(values) == 0:
		return nil, nil
	case a.op == opSum:
		return a.sum(values)
	}
	best := values[0]
	for _, v := range values {
		n := a.arg.column.orderAny(v, best)
		if v == "NaN" && a.kind == kindFloat64 {
			return v, nil
		}
		if a.op == opMin && n < 0 || a.op == opMax && n > 0 {
			best = v
		}
	}
	return best, nil
}

func (a *aggregate) sum(values []any) (any, *restError) {
	overflow := sqlInvalid(ruleSQL, "SUM has an overflow of "+string(a.kind))
	if a.kind == kindFloat64 {
		total := 0.0
		for _, v := range values {
			total += floatOf(v.(string))
		}
		return floatText(total), nil
	}
	total := new(big.Rat)
	for _, v := range values {
		total.Add(total, decimalOf(v.(string)))
	}
	if a.kind == kindInt64 {
		if !total.Num().IsInt64() {
			return nil, overflow
		}
		return total.Num().String(), nil
	}
	c := &column{kind: a.kind}
	n, err := c.unscaled([]byte(total.FloatString(c.decimalScale())))
	if err != nil {
		return nil, overflow
	}
	return decimalText(n, c.decimalScale()), nil
}

// addWindows appends a column for each ROW_NUMBER.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/numbering_functions#row_number
func (c *compiler) addWindows(windows []*expr) (*relation, *restError) {
	out := *c.rel
	out.rows = make([][]any, len(c.rel.rows))
	for i, row := range c.rel.rows {
		out.rows[i] = append(row[:len(row):len(row)], make([]any, len(windows))...)
	}
	width := len(out.columns)
	for w, x := range windows {
		by := make([]compiled, len(x.over.partition))
		for i, p := range x.over.partition {
			var e *restError
			if by[i], e = c.compile(p); e != nil {
				return nil, e
			}
			if !by[i].column.sortable() {
				return nil, sqlInvalid(ruleSQL, "Partitioning by expressions of type "+by[i].column.typeName()+" is not allowed")
			}
		}
		keys, e := c.sortKeys(x.over.order)
		if e != nil {
			return nil, e
		}
		next := map[string]int{}
		for _, i := range sortedBy(len(c.rel.rows), func(i int) []any { return c.rel.rows[i] }, keys, x.over.order) {
			key := rowKey(by, c.rel.rows[i])
			next[key]++
			out.rows[i][width+w] = strconv.Itoa(next[key])
		}
		out.columns = append(out.columns[:len(out.columns):len(out.columns)], plainColumn(int32(-100-w), hiddenName(isWindowNode, w), kindInt64))
	}
	return &out, nil
}
