package bigquerytest

import (
	"strconv"
	"strings"
)

// selectStatement is SELECT … FROM t [WHERE …] [ORDER BY …] [LIMIT n [OFFSET m]].
type selectStatement struct {
	star   bool
	items  []selectItem
	from   []string
	where  []condition // all of them
	order  []orderItem
	limit  int // -1: none
	offset int
}

// selectItem is a column or COUNT(*).
type selectItem struct {
	column string
	count  bool
	alias  string
}

// condition is column OP literal, or column IS [NOT] NULL.
type condition struct {
	column string
	op     string // = != < <= > >= null notnull
	value  literal
}

type orderItem struct {
	column string
	desc   bool
}

// literal is a constant, or a parameter until it is filled in.
type literal struct {
	text  string
	quote bool // it was a string
	param string
}

func (p *parser) selectStatement() (*selectStatement, *restError) {
	s := &selectStatement{limit: -1}
	if p.symbol("*") {
		s.star = true
	} else if e := p.selectItems(s); e != nil {
		return nil, e
	}
	e := p.expectWords("FROM")
	if e != nil {
		return nil, e
	}
	if s.from, e = p.path(); e != nil {
		return nil, e
	}
	if p.word("AS") {
		return nil, p.unexpected("no alias of a table")
	}
	if p.word("WHERE") {
		if e := p.conditions(s); e != nil {
			return nil, e
		}
	}
	if p.words("ORDER", "BY") {
		if e := p.orderBy(s); e != nil {
			return nil, e
		}
	}
	if p.word("LIMIT") {
		if s.limit, e = p.count(); e != nil {
			return nil, e
		}
		if p.word("OFFSET") {
			if s.offset, e = p.count(); e != nil {
				return nil, e
			}
		}
	}
	return s, nil
}

func (p *parser) selectItems(s *selectStatement) *restError {
	for {
		var item selectItem
		if p.word("COUNT") {
			for _, symbol := range []string{"(", "*", ")"} {
				if e := p.expectSymbol(symbol); e != nil {
					return e
				}
			}
			item.count = true
		} else {
			var e *restError
			if item.column, e = p.name(); e != nil {
				return e
			}
		}
		as := p.word("AS")
		if t := p.peek(); as || t.kind == tokenQuoted || (t.kind == tokenName && !isReserved(t.text)) {
			var e *restError
			if item.alias, e = p.name(); e != nil {
				return e
			}
		}
		s.items = append(s.items, item)
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *parser) conditions(s *selectStatement) *restError {
	for {
		c, e := p.condition()
		if e != nil {
			return e
		}
		s.where = append(s.where, c)
		if !p.word("AND") {
			return nil
		}
	}
}

func (p *parser) condition() (condition, *restError) {
	column, e := p.name()
	if e != nil {
		return condition{}, e
	}
	switch {
	case p.words("IS", "NOT", "NULL"):
		return condition{column: column, op: "notnull"}, nil
	case p.words("IS", "NULL"):
		return condition{column: column, op: "null"}, nil
	}
	t := p.peek()
	switch t.text {
	case "=", "<", "<=", ">", ">=", "!=", "<>":
		p.at++
	default:
		return condition{}, p.unexpected("a comparison")
	}
	value, e := p.literal()
	return condition{column, strings.Replace(t.text, "<>", "!=", 1), value}, e
}

// literal takes a constant. The type name of DATE '…' and its like is left to
// the column that it is compared with.
func (p *parser) literal() (literal, *restError) {
	sign := ""
	if p.symbol("-") {
		sign = "-"
	}
	t := p.peek()
	switch {
	case t.kind == tokenNumber:
		p.at++
		return literal{text: sign + t.text}, nil
	case sign != "":
	case t.kind == tokenText:
		p.at++
		return literal{text: t.text, quote: true}, nil
	case t.kind == tokenParam:
		p.at++
		return literal{param: t.text}, nil
	case p.word("TRUE"):
		return literal{text: "true"}, nil
	case p.word("FALSE"):
		return literal{text: "false"}, nil
	case t.kind == tokenName && isTypedLiteral(t.text) && p.tokens[p.at+1].kind == tokenText:
		p.at += 2
		return literal{text: p.tokens[p.at-1].text, quote: true}, nil
	}
	return literal{}, p.unexpected("a literal")
}

func isTypedLiteral(name string) bool {
	switch typeNames[strings.ToUpper(name)] {
	case kindDate, kindDatetime, kindTime, kindTimestamp, kindNumeric, kindBigNumeric:
		return true
	}
	return false
}

func (p *parser) orderBy(s *selectStatement) *restError {
	for {
		column, e := p.name()
		if e != nil {
			return e
		}
		item := orderItem{column: column}
		if !p.word("ASC") {
			item.desc = p.word("DESC")
		}
		s.order = append(s.order, item)
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *parser) count() (int, *restError) {
	t := p.peek()
	n, err := strconv.ParseInt(t.text, 10, 32)
	if t.kind != tokenNumber || err != nil {
		return 0, p.unexpected("a number of rows")
	}
	p.at++
	return int(n), nil
}
