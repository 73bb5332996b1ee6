package bigquerytest

import "strings"

// maxDepth bounds how deep expressions, subqueries and views nest in one
// statement here, so that no text can exhaust the stack.
const maxDepth = 64

// expr is a node of an expression.
type expr struct {
	op       string // one of the constants below, or a comparison's operator
	name     string // of a column; with a table's alias before a dot
	value    literal
	args     []*expr
	distinct bool    // COUNT(DISTINCT x)
	over     *window // of ROW_NUMBER
}

// Operators of expr besides = != < <= > >= .
const (
	opColumn    = "column"
	opLiteral   = "literal"
	opAnd       = "and"
	opOr        = "or"
	opNot       = "not"
	opNull      = "is null"
	opIn        = "in"
	opLike      = "like"
	opCountAll  = "count(*)"
	opRowNumber = "row_number"
	opCount     = "count"
	opMin       = "min"
	opMax       = "max"
	opSum       = "sum"
)

// window is OVER (PARTITION BY … ORDER BY …).
type window struct {
	partition []*expr
	order     []orderItem
}

func isAggregate(op string) bool {
	switch op {
	case opCountAll, opCount, opMin, opMax, opSum:
		return true
	}
	return false
}

// visit calls f for e and all below it until f returns false.
func (e *expr) visit(f func(*expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, a := range e.args {
		a.visit(f)
	}
	if e.over != nil {
		for _, p := range e.over.partition {
			p.visit(f)
		}
		for _, o := range e.over.order {
			o.e.visit(f)
		}
	}
}

// deeper counts a level of nesting; the caller takes it back with p.depth--.
func (p *parser) deeper() *restError {
	if p.depth++; p.depth > maxDepth {
		return p.unexpected("less nesting")
	}
	return nil
}

// expression is conditions with OR, AND and NOT.
func (p *parser) expression() (*expr, *restError) {
	if e := p.deeper(); e != nil {
		return nil, e
	}
	defer func() { p.depth-- }()
	return p.chain(opOr, "OR", func() (*expr, *restError) { return p.chain(opAnd, "AND", p.negation) })
}

// chain takes operands that are joined by one keyword.
func (p *parser) chain(op, word string, operand func() (*expr, *restError)) (*expr, *restError) {
	first, e := operand()
	if e != nil {
		return nil, e
	}
	out := &expr{op: op, args: []*expr{first}}
	for p.word(word) {
		next, e := operand()
		if e != nil {
			return nil, e
		}
		out.args = append(out.args, next)
	}
	if len(out.args) == 1 {
		return first, nil
	}
	return out, nil
}

func (p *parser) negation() (*expr, *restError) {
	if !p.word("NOT") {
		return p.comparison()
	}
	if e := p.deeper(); e != nil {
		return nil, e
	}
	defer func() { p.depth-- }()
	arg, e := p.negation()
	return not(arg), e
}

func not(e *expr) *expr { return &expr{op: opNot, args: []*expr{e}} }

func (p *parser) comparison() (*expr, *restError) {
	left, e := p.operand()
	if e != nil {
		return nil, e
	}
	if p.word("IS") {
		negated := p.word("NOT")
		out := &expr{op: opNull, args: []*expr{left}}
		if negated {
			out = not(out)
		}
		return out, p.expectWords("NULL")
	}
	if t := p.peek(); t.kind == tokenSymbol {
		switch t.text {
		case "=", "<", "<=", ">", ">=", "!=", "<>":
			p.at++
			right, e := p.operand()
			return &expr{op: strings.Replace(t.text, "<>", "!=", 1), args: []*expr{left, right}}, e
		}
		return left, nil
	}
	negated := p.word("NOT")
	out, e := p.membership(left)
	if e != nil || out == nil {
		if e == nil && negated {
			e = p.unexpected("IN, BETWEEN or LIKE")
		}
		return left, e
	}
	if negated {
		out = not(out)
	}
	return out, nil
}

// membership is IN (…), BETWEEN … AND … or LIKE …; nil without one.
func (p *parser) membership(left *expr) (*expr, *restError) {
	switch {
	case p.word("IN"):
		if e := p.expectSymbol("("); e != nil {
			return nil, e
		}
		args, e := p.operands()
		if e != nil {
			return nil, e
		}
		return &expr{op: opIn, args: append([]*expr{left}, args...)}, p.expectSymbol(")")
	case p.word("BETWEEN"):
		low, e := p.operand()
		if e != nil {
			return nil, e
		}
		if e := p.expectWords("AND"); e != nil {
			return nil, e
		}
		high, e := p.operand()
		return &expr{op: opAnd, args: []*expr{{op: ">=", args: []*expr{left, low}}, {op: "<=", args: []*expr{left, high}}}}, e
	case p.word("LIKE"):
		pattern, e := p.operand()
		return &expr{op: opLike, args: []*expr{left, pattern}}, e
	}
	return nil, nil
}

func (p *parser) operands() ([]*expr, *restError) {
	var out []*expr
	for {
		o, e := p.operand()
		if e != nil {
			return nil, e
		}
		out = append(out, o)
		if !p.symbol(",") {
			return out, nil
		}
	}
}

// operand is a literal, a column, a call, or an expression in parentheses.
func (p *parser) operand() (*expr, *restError) {
	if p.symbol("(") {
		out, e := p.expression()
		if e != nil {
			return nil, e
		}
		return out, p.expectSymbol(")")
	}
	t, next := p.peek(), p.tokens[min(p.at+1, len(p.tokens)-1)]
	if t.kind == tokenName && next.kind == tokenSymbol && next.text == "(" {
		return p.call(strings.ToLower(t.text))
	}
	if t.kind == tokenQuoted || (t.kind == tokenName && !isReserved(t.text) && next.kind != tokenText) {
		return p.columnName()
	}
	l, e := p.literal()
	return &expr{op: opLiteral, value: l}, e
}

func (p *parser) columnName() (*expr, *restError) {
	name, e := p.name()
	if e != nil {
		return nil, e
	}
	if p.symbol(".") {
		part, e := p.name()
		if e != nil {
			return nil, e
		}
		name += "." + part
	}
	return &expr{op: opColumn, name: name}, nil
}

// call is an aggregate function or ROW_NUMBER; no other function is known.
func (p *parser) call(name string) (*expr, *restError) {
	out := &expr{op: name}
	if !isAggregate(name) && name != opRowNumber {
		return nil, p.unexpected("COUNT, MIN, MAX, SUM or ROW_NUMBER")
	}
	p.at += 2
	switch {
	case name == opRowNumber:
	case name == opCount && p.symbol("*"):
		out.op = opCountAll
	default:
		out.distinct = name == opCount && p.word("DISTINCT")
		arg, e := p.expression()
		if e != nil {
			return nil, e
		}
		out.args = []*expr{arg}
	}
	if e := p.expectSymbol(")"); e != nil || name != opRowNumber {
		return out, e
	}
	if e := p.expectWords("OVER"); e != nil {
		return nil, e
	}
	var e *restError
	out.over, e = p.window()
	return out, e
}

func (p *parser) window() (*window, *restError) {
	if e := p.expectSymbol("("); e != nil {
		return nil, e
	}
	w := &window{}
	var e *restError
	if p.words("PARTITION", "BY") {
		if w.partition, e = p.operands(); e != nil {
			return nil, e
		}
	}
	if p.words("ORDER", "BY") {
		if w.order, e = p.orderBy(); e != nil {
			return nil, e
		}
	}
	return w, p.expectSymbol(")")
}
