package bigquerytest

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// selectStatement is SELECT [DISTINCT] … [FROM …] [WHERE …] [GROUP BY …]
// [HAVING …] [QUALIFY …] [ORDER BY …] [LIMIT n [OFFSET m]].
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/query-syntax
type selectStatement struct {
	distinct bool
	items    []selectItem
	from     *fromItem // nil without FROM
	where    *expr
	group    []*expr
	having   *expr
	qualify  *expr
	order    []orderItem
	limit    int // -1: none
	offset   int
}

// selectItem is an expression, or * with the columns that it leaves out.
type selectItem struct {
	star   bool
	except []string
	e      *expr
	alias  string
}

// fromItem is a table, a view, or a query in parentheses.
type fromItem struct {
	path  []string
	query *selectStatement
	alias string
}

type orderItem struct {
	e    *expr
	desc bool
}

// literal is a constant, or a parameter until it is filled in.
type literal struct {
	text  string
	quote bool // it was a string
	null  bool
	kind  kind // of DATE '…', b'…' or a parameter; "" leaves it to what it meets
	param string
}

func (p *parser) selectStatement() (*selectStatement, *restError) {
	if e := p.deeper(); e != nil {
		return nil, e
	}
	defer func() { p.depth-- }()
	s := &selectStatement{limit: -1, distinct: p.word("DISTINCT")}
	e := p.selectItems(s)
	if e != nil {
		return nil, e
	}
	if !p.word("FROM") {
		return s, p.selectEnd(s)
	}
	if s.from, e = p.fromItem(); e != nil {
		return nil, e
	}
	if p.word("WHERE") {
		if s.where, e = p.expression(); e != nil {
			return nil, e
		}
	}
	if p.words("GROUP", "BY") {
		if s.group, e = p.operands(); e != nil {
			return nil, e
		}
	}
	if p.word("HAVING") {
		if s.having, e = p.expression(); e != nil {
			return nil, e
		}
	}
	if p.word("QUALIFY") {
		if s.qualify, e = p.expression(); e != nil {
			return nil, e
		}
	}
	return s, p.selectEnd(s)
}

// selectEnd is ORDER BY, LIMIT and OFFSET.
func (p *parser) selectEnd(s *selectStatement) (e *restError) {
	if p.words("ORDER", "BY") {
		if s.order, e = p.orderBy(); e != nil {
			return e
		}
	}
	if p.word("LIMIT") {
		if s.limit, e = p.count(); e != nil {
			return e
		}
		if p.word("OFFSET") {
			s.offset, e = p.count()
		}
	}
	return e
}

func (p *parser) fromItem() (f *fromItem, e *restError) {
	f = &fromItem{}
	if p.symbol("(") {
		if e := p.expectWords("SELECT"); e != nil {
			return nil, e
		}
		if f.query, e = p.selectStatement(); e != nil {
			return nil, e
		}
		if e := p.expectSymbol(")"); e != nil {
			return nil, e
		}
	} else {
		if f.path, e = p.path(); e != nil {
			return nil, e
		}
		f.alias = f.path[len(f.path)-1]
	}
	if name, e := p.alias(); name != "" || e != nil {
		f.alias = name
		return f, e
	}
	return f, nil
}

// alias takes [AS] name, or nothing.
func (p *parser) alias() (string, *restError) {
	as := p.word("AS")
	if t := p.peek(); as || t.kind == tokenQuoted || (t.kind == tokenName && !isReserved(t.text)) {
		return p.name()
	}
	return "", nil
}

func (p *parser) selectItems(s *selectStatement) *restError {
	for {
		item, e := p.selectItem()
		if e != nil {
			return e
		}
		s.items = append(s.items, item)
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *parser) selectItem() (item selectItem, e *restError) {
	if p.symbol("*") {
		item.star = true
		if p.word("EXCEPT") {
			if e = p.expectSymbol("("); e != nil {
				return item, e
			}
			if item.except, e = p.names(); e != nil {
				return item, e
			}
			e = p.expectSymbol(")")
		}
		return item, e
	}
	if item.e, e = p.expression(); e != nil {
		return item, e
	}
	item.alias, e = p.alias()
	return item, e
}

// literal takes a constant.
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
	case p.word("NULL"):
		return literal{null: true}, nil
	case p.word("TRUE"):
		return literal{text: "true", kind: kindBool}, nil
	case p.word("FALSE"):
		return literal{text: "false", kind: kindBool}, nil
	case t.kind == tokenName && p.tokens[p.at+1].kind == tokenText:
		if k := typedLiteral(t.text); k != "" {
			p.at += 2
			l := literal{text: p.tokens[p.at-1].text, quote: true, kind: k}
			if k == kindBytes {
				l.text = base64.StdEncoding.EncodeToString([]byte(l.text))
			}
			return l, nil
		}
	}
	return literal{}, p.unexpected("a literal")
}

// typedLiteral is the type of a literal such as DATE '…' or b'…'.
func typedLiteral(name string) kind {
	k := typeNames[strings.ToUpper(name)]
	switch {
	case strings.EqualFold(name, "b"):
		return kindBytes
	case k == kindDate, k == kindDatetime, k == kindTime, k == kindTimestamp, k == kindNumeric, k == kindBigNumeric, k == kindJSON:
		return k
	}
	return ""
}

func (p *parser) orderBy() ([]orderItem, *restError) {
	var out []orderItem
	for {
		by, e := p.operand()
		if e != nil {
			return nil, e
		}
		item := orderItem{e: by}
		if !p.word("ASC") {
			item.desc = p.word("DESC")
		}
		out = append(out, item)
		if !p.symbol(",") {
			return out, nil
		}
	}
}

func (p *parser) count() (int, *restError) {
	t := p.peek()
	n, err := strconv.ParseInt(t.text, 10, 32)
	if t.kind != tokenNumber || err != nil {
		return 0, p.unexpected("a number")
	}
	p.at++
	return int(n), nil
}
