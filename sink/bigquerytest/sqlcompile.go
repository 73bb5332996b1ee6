package bigquerytest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// relation is what a SELECT reads and what each of its steps makes.
type relation struct {
	columns []*column
	alias   string        // that its columns may be qualified with
	rows    [][]any       // values by column: canonical texts, nil, or lists
	stored  []storedRow   // or rows of a table, decoded when they are looked at
	grouped *relation     // of a grouped relation, what was grouped
	used    map[int32]int // ids of the columns that expressions named
	// bytes is what a query processes that reads the used columns, or all for
	// nil. It is nil for what costs nothing.
	bytes func(used map[int32]int) int64
}

// compiled is an expression that can be evaluated on a row of a relation.
// Values of conditions are "true", "false" and nil, as in three-valued logic.
type compiled struct {
	column  *column // its type
	eval    func(row []any) any
	literal *literal // it is this constant, whose type may adapt
}

// compiler turns expressions into functions on the rows of one relation.
type compiler struct {
	rel    *relation
	params map[string]literal
}

func (c *compiler) compile(x *expr) (compiled, *restError) {
	switch x.op {
	case opColumn:
		return c.rel.named(x.name)
	case opLiteral:
		return c.constant(x.value)
	case opAnd, opOr:
		return c.logic(x)
	case opNot:
		arg, e := c.condition(x.args[0])
		return boolean(func(row []any) any {
			switch arg(row) {
			case "true":
				return "false"
			case "false":
				return "true"
			}
			return nil
		}), e
	case opNull:
		arg, e := c.compile(x.args[0])
		return boolean(func(row []any) any { return boolText(arg.eval(row) == nil) }), e
	case opIn:
		return c.in(x)
	case opLike:
		return c.like(x)
	case "=", "!=", "<", "<=", ">", ">=":
		left, e := c.compile(x.args[0])
		if e != nil {
			return compiled{}, e
		}
		right, e := c.compile(x.args[1])
		if e != nil {
			return compiled{}, e
		}
		return compare(x.op, left, right)
	}
	return compiled{}, sqlInvalid(ruleSQL, strings.ToUpper(x.op)+" is not allowed here")
}

func boolean(eval func([]any) any) compiled {
	return compiled{column: plainColumn(-1, "", kindBool), eval: eval}
}

func boolText(b bool) any { return strconv.FormatBool(b) }

// named finds a column by its name, which may be qualified.
func (rel *relation) named(name string) (compiled, *restError) {
	at := rel.find(name)
	if at >= 0 {
		if rel.used != nil {
			rel.used[rel.columns[at].id]++
		}
		return compiled{column: rel.columns[at], eval: func(row []any) any { return row[at] }}, nil
	}
	if rel.grouped != nil && rel.grouped.find(name) >= 0 {
		return compiled{}, sqlInvalid(ruleSQL, "SELECT list expression references column "+name+" which is neither grouped nor aggregated")
	}
	return compiled{}, sqlInvalid(ruleSQL, "Unrecognized name: "+name)
}

// find is the index of a column, -1 without one.
func (rel *relation) find(name string) int {
	for i, c := range rel.columns {
		if strings.EqualFold(c.name, name) {
			return i
		}
	}
	if table, column, ok := strings.Cut(name, "."); ok && rel.alias != "" && strings.EqualFold(table, rel.alias) {
		return rel.find(column)
	}
	return -1
}

// constant is a literal or parameter with the type that it has by itself.
func (c *compiler) constant(l literal) (compiled, *restError) {
	if e := l.fill(c.params); e != nil {
		return compiled{}, e
	}
	k := l.kind
	switch {
	case l.null:
		return compiled{column: plainColumn(-1, "", kindInt64), eval: func([]any) any { return nil }, literal: &l}, nil
	case k != "":
	case l.quote:
		k = kindString
	case strings.ContainsAny(l.text, ".eE"):
		k = kindFloat64
	default:
		k = kindInt64
	}
	col := plainColumn(-1, "", k)
	text, ok := col.constant(l)
	if !ok {
		return compiled{}, sqlInvalid(ruleSQL, fmt.Sprintf("Invalid %s literal", k))
	}
	return compiled{column: col, eval: func([]any) any { return text }, literal: &l}, nil
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

// condition is an expression of type BOOL.
func (c *compiler) condition(x *expr) (func([]any) any, *restError) {
	out, e := c.compile(x)
	if e != nil {
		return nil, e
	}
	if out.column.kind != kindBool || out.column.repeated {
		return nil, sqlInvalid(ruleSQL, "A condition should be of type BOOL, but is of type "+out.column.typeName())
	}
	return out.eval, nil
}

func (c *compiler) logic(x *expr) (compiled, *restError) {
	args := make([]func([]any) any, len(x.args))
	for i, a := range x.args {
		var e *restError
		if args[i], e = c.condition(a); e != nil {
			return compiled{}, e
		}
	}
	decides, other := "false", any("true")
	if x.op == opOr {
		decides, other = "true", any("false")
	}
	return boolean(func(row []any) any {
		out := other
		for _, arg := range args {
			switch arg(row) {
			case decides:
				return decides
			case nil:
				out = nil
			}
		}
		return out
	}), nil
}

// in is left = any of the list.
func (c *compiler) in(x *expr) (compiled, *restError) {
	or := &expr{op: opOr}
	for _, item := range x.args[1:] {
		or.args = append(or.args, &expr{op: "=", args: []*expr{x.args[0], item}})
	}
	return c.logic(or)
}

// compare makes a comparison, whose value is NULL if either side is.
func compare(op string, left, right compiled) (compiled, *restError) {
	mismatched := sqlInvalid(ruleSQL, fmt.Sprintf("No matching signature for operator %s for argument types: %s, %s", op, left.column.typeName(), right.column.typeName()))
	left, right, ok := coerce(left, right)
	if !ok || left.column.repeated || right.column.repeated || left.column.kind == kindJSON || right.column.kind == kindJSON {
		return compiled{}, mismatched
	}
	order := orderOf(left.column.kind, right.column.kind)
	if order == nil {
		return compiled{}, mismatched
	}
	holds := map[string]func(int) bool{
		"=": func(n int) bool { return n == 0 }, "!=": func(n int) bool { return n != 0 },
		"<": func(n int) bool { return n < 0 }, "<=": func(n int) bool { return n <= 0 },
		">": func(n int) bool { return n > 0 }, ">=": func(n int) bool { return n >= 0 },
	}[op]
	floats := left.column.kind == kindFloat64 || right.column.kind == kindFloat64
	return boolean(func(row []any) any {
		a, okA := left.eval(row).(string)
		b, okB := right.eval(row).(string)
		switch {
		case !okA || !okB:
			return nil
		case floats && (a == "NaN" || b == "NaN"):
			return boolText(op == "!=")
		}
		return boolText(holds(order(a, b)))
	}), nil
}

// coerce gives a constant the type of what it is compared with.
func coerce(left, right compiled) (l, r compiled, ok bool) {
	switch {
	case left.literal != nil && left.literal.null:
		left.column = right.column
	case right.literal != nil && right.literal.null:
		right.column = left.column
	case right.literal != nil && (left.literal == nil || right.literal.kind == ""):
		right, ok = right.as(left.column)
		return left, right, ok
	case left.literal != nil && (right.literal == nil || left.literal.kind == ""):
		left, ok = left.as(right.column)
		return left, right, ok
	}
	return left, right, true
}

// as gives a constant another type; numbers may keep theirs.
func (c compiled) as(col *column) (compiled, bool) {
	text, ok := col.constant(*c.literal)
	if !ok {
		return c, isNumber(col.kind) && isNumber(c.column.kind)
	}
	return compiled{column: plainColumn(-1, "", col.kind), eval: func([]any) any { return text }}, true
}

func isNumber(k kind) bool {
	return k == kindInt64 || k == kindFloat64 || k == kindNumeric || k == kindBigNumeric
}

// constant turns a literal into the canonical text of the column's type, as
// the coercion of literals and parameters allows.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/conversion_rules
func (c *column) constant(l literal) (string, bool) {
	number := !l.quote && l.kind != kindBool
	switch c.kind {
	case kindString:
		return l.text, l.quote && (l.kind == "" || l.kind == kindString)
	case kindBool:
		return l.text, l.kind == kindBool && (l.text == "true" || l.text == "false")
	case kindInt64:
		n, err := strconv.ParseInt(l.text, 10, 64)
		return strconv.FormatInt(n, 10), err == nil && number && (l.kind == "" || l.kind == kindInt64)
	case kindFloat64:
		f, err := strconv.ParseFloat(l.text, 64)
		return floatText(f), (err == nil || math.IsInf(f, 0)) && (number || l.kind == kindNumeric || l.kind == kindBigNumeric)
	case kindNumeric, kindBigNumeric:
		n, err := (&column{kind: c.kind}).unscaled([]byte(l.text))
		if err != nil || l.kind == kindFloat64 || (!number && l.kind != kindNumeric && l.kind != kindBigNumeric) {
			return "", false
		}
		return decimalText(n, c.decimalScale()), true
	case kindTimestamp:
		t, ok := parseTimestamp(l.text)
		return timestampText(t), ok && l.quote && (l.kind == "" || l.kind == kindString || l.kind == c.kind)
	case kindBytes:
		return l.text, l.kind == kindBytes
	}
	f := &fieldPlan{proto: protoString, column: c}
	v := wireValue{b: []byte(l.text)}
	if !l.quote || (l.kind != "" && l.kind != c.kind && l.kind != kindString) || f.check(v) != nil {
		return "", false
	}
	return f.text(v), true
}
