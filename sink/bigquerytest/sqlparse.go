package bigquerytest

import (
	"strings"
)

// parser reads the statements that this server knows. Everything else is
// refused with invalidQuery.
type parser struct {
	sql    string
	tokens []token
	at     int
	depth  int // of nesting at the present token
}

// statement is one of *selectStatement, *createTable, *createView,
// *alterTable, *dropTable and *changeRows.
type statement any

func parseSQL(sql string) (statement, *restError) {
	tokens, e := lex(sql)
	if e != nil {
		return nil, e
	}
	p := &parser{sql: sql, tokens: tokens}
	var out statement
	switch {
	case p.word("SELECT"):
		out, e = p.selectStatement()
	case p.words("CREATE", "TABLE"):
		out, e = p.createTable()
	case p.word("CREATE"):
		out, e = p.createView()
	case p.words("ALTER", "VIEW"):
		out, e = p.alterView()
	case p.word("ALTER"):
		out, e = p.alterTable()
	case p.word("DROP"):
		out, e = p.dropTable()
	default:
		return p.changeRows()
	}
	if e != nil {
		return nil, e
	}
	p.symbol(";")
	if p.peek().kind != tokenEnd {
		return nil, p.unexpected("the end of the statement")
	}
	return out, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// unexpected is the refusal at the present token.
func (p *parser) unexpected(want string) *restError {
	t := p.peek()
	got := "end of statement"
	if t.kind != tokenEnd {
		got = "\"" + p.sql[t.from:t.to] + "\""
	}
	l := &lexer{sql: p.sql}
	return l.fail(t.from, "Expected %s but got %s (this server knows a small part of GoogleSQL)", want, got)
}

// word takes the keyword if it is next.
func (p *parser) word(w string) bool {
	t := p.peek()
	if t.kind == tokenName && strings.EqualFold(t.text, w) {
		p.at++
		return true
	}
	return false
}

// words takes a row of keywords, or none of them.
func (p *parser) words(ws ...string) bool {
	mark := p.at
	for _, w := range ws {
		if !p.word(w) {
			p.at = mark
			return false
		}
	}
	return true
}

func (p *parser) symbol(s string) bool {
	t := p.peek()
	if t.kind == tokenSymbol && t.text == s {
		p.at++
		return true
	}
	return false
}

func (p *parser) expectWords(ws ...string) *restError {
	for _, w := range ws {
		if !p.word(w) {
			return p.unexpected(w)
		}
	}
	return nil
}

func (p *parser) expectSymbol(s string) *restError {
	if !p.symbol(s) {
		return p.unexpected("\"" + s + "\"")
	}
	return nil
}

// name takes one identifier, quoted or not.
func (p *parser) name() (string, *restError) {
	t := p.peek()
	if t.kind != tokenQuoted && (t.kind != tokenName || isReserved(t.text)) {
		return "", p.unexpected("an identifier")
	}
	p.at++
	return t.text, nil
}

// Reserved keywords of GoogleSQL that could be taken for names here.
var reserved = map[string]bool{
	"ALL": true, "AND": true, "ARRAY": true, "AS": true, "ASC": true, "BY": true, "CREATE": true, "DESC": true,
	"DISTINCT": true, "EXISTS": true, "FALSE": true, "FROM": true, "GROUP": true, "HAVING": true, "IF": true,
	"IN": true, "INTERVAL": true, "IS": true, "JOIN": true, "LIKE": true, "LIMIT": true, "NOT": true, "NULL": true,
	"ON": true, "OR": true, "ORDER": true, "PARTITION": true, "QUALIFY": true, "SELECT": true, "SET": true,
	"STRUCT": true, "TRUE": true, "UNION": true, "UNNEST": true, "WHERE": true, "WINDOW": true, "WITH": true,
}

func isReserved(s string) bool { return reserved[strings.ToUpper(s)] }

// path takes a table's name: up to four parts, separated by dots inside or
// outside of quotes; the first one may have dashes.
func (p *parser) path() ([]string, *restError) {
	var out []string
	for {
		quoted := p.peek().kind == tokenQuoted
		part, e := p.name()
		if e != nil {
			return nil, e
		}
		if quoted {
			out = append(out, strings.Split(part, ".")...)
		} else {
			if len(out) == 0 {
				part += p.dashes()
			}
			out = append(out, part)
		}
		if !p.symbol(".") {
			break
		}
	}
	for _, part := range out {
		if part == "" || len(out) > 4 {
			return nil, sqlInvalid(ruleSQL, "Invalid table name: "+strings.Join(out, "."))
		}
	}
	return out, nil
}

// dashes takes what follows the first word of a project's name.
func (p *parser) dashes() string {
	var out strings.Builder
	for {
		dash := p.peek()
		if dash.kind != tokenSymbol || dash.text != "-" || dash.from != p.tokens[p.at-1].to {
			return out.String()
		}
		next := p.tokens[p.at+1]
		if (next.kind != tokenName && next.kind != tokenNumber) || next.from != dash.to {
			return out.String()
		}
		p.at += 2
		out.WriteString("-" + next.text)
	}
}
