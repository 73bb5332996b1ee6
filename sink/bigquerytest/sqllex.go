package bigquerytest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSQLBytes is the limit of a query's text.
//
// https://docs.cloud.google.com/bigquery/quotas#query_jobs
const maxSQLBytes = 1 << 20

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenName             // an identifier or keyword
	tokenQuoted           // `…`: text without the quotes
	tokenNumber
	tokenText   // a string literal, unescaped
	tokenParam  // @name: text is the name
	tokenSymbol // one of the characters that the grammar knows
)

type token struct {
	kind     tokenKind
	text     string
	from, to int // bytes in the statement
}

// lexer cuts GoogleSQL into tokens.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/lexical
type lexer struct {
	sql string
	at  int
}

func lex(sql string) ([]token, *restError) {
	if len(sql) > maxSQLBytes {
		return nil, sqlInvalid(ruleSQL, "The query is too large. The maximum standard SQL query length is 1024.00K characters, including comments and white space characters.")
	}
	if !utf8.ValidString(sql) {
		return nil, sqlInvalid(ruleSQL, "Syntax error: the query isn't valid UTF-8")
	}
	l := &lexer{sql: sql}
	var out []token
	for {
		t, e := l.next()
		if e != nil {
			return nil, e
		}
		out = append(out, t)
		if t.kind == tokenEnd {
			return out, nil
		}
	}
}

func (l *lexer) fail(at int, format string, args ...any) *restError {
	line := 1 + strings.Count(l.sql[:at], "\n")
	column := at - strings.LastIndexByte(l.sql[:at], '\n')
	return sqlInvalid(ruleSQL, fmt.Sprintf("Syntax error: %s at [%d:%d]", fmt.Sprintf(format, args...), line, column))
}

func isNameByte(c byte, first bool) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || (!first && '0' <= c && c <= '9')
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (l *lexer) next() (token, *restError) {
	if e := l.skipSpace(); e != nil {
		return token{}, e
	}
	from := l.at
	if from == len(l.sql) {
		return token{kind: tokenEnd, from: from, to: from}, nil
	}
	switch c := l.sql[from]; {
	case isNameByte(c, true):
		return l.run(tokenName, func(c byte) bool { return isNameByte(c, false) }), nil
	case isDigit(c):
		return l.number(), nil
	case c == '@':
		l.at++
		t := l.run(tokenParam, func(c byte) bool { return isNameByte(c, false) })
		if t.text == "" {
			return token{}, l.fail(from, "Unexpected \"@\"")
		}
		return t, nil
	case c == '`':
		return l.quoted()
	case c == '\'' || c == '"':
		return l.text(c)
	}
	return l.symbol()
}

func (l *lexer) run(kind tokenKind, in func(byte) bool) token {
	from := l.at
	for l.at < len(l.sql) && in(l.sql[l.at]) {
		l.at++
	}
	return token{kind, l.sql[from:l.at], from, l.at}
}

// number reads digits with an optional fraction and exponent.
func (l *lexer) number() token {
	from := l.at
	l.run(tokenNumber, isDigit)
	if l.at+1 < len(l.sql) && l.sql[l.at] == '.' && isDigit(l.sql[l.at+1]) {
		l.at++
		l.run(tokenNumber, isDigit)
	}
	if l.at < len(l.sql) && (l.sql[l.at] == 'e' || l.sql[l.at] == 'E') {
		mark := l.at
		l.at++
		if l.at < len(l.sql) && (l.sql[l.at] == '+' || l.sql[l.at] == '-') {
			l.at++
		}
		if t := l.run(tokenNumber, isDigit); t.text == "" {
			l.at = mark
		}
	}
	return token{tokenNumber, l.sql[from:l.at], from, l.at}
}

func (l *lexer) quoted() (token, *restError) {
	from := l.at
	end := strings.IndexByte(l.sql[from+1:], '`')
	if end < 1 {
		return token{}, l.fail(from, "Unclosed or empty identifier literal")
	}
	text := l.sql[from+1 : from+1+end]
	if strings.ContainsAny(text, "\\\n") {
		return token{}, l.fail(from, "Escapes in identifiers aren't supported by this server")
	}
	l.at = from + end + 2
	return token{tokenQuoted, text, from, l.at}, nil
}

var escapes = map[byte]byte{
	'n': '\n', 'r': '\r', 't': '\t', '\\': '\\', '\'': '\'', '"': '"', '`': '`', '?': '?', 'a': 7, 'b': 8, 'f': 12, 'v': 11,
}

// text reads a one-line string literal with its simple escapes.
func (l *lexer) text(quote byte) (token, *restError) {
	from := l.at
	if strings.HasPrefix(l.sql[from:], strings.Repeat(string(quote), 3)) {
		return token{}, l.fail(from, "Triple-quoted strings aren't supported by this server")
	}
	bytes := from > 0 && strings.ContainsRune("bB", rune(l.sql[from-1])) && (from == 1 || !isNameByte(l.sql[from-2], false))
	var out strings.Builder
	for l.at++; l.at < len(l.sql); l.at++ {
		switch c := l.sql[l.at]; c {
		case quote:
			l.at++
			return token{tokenText, out.String(), from, l.at}, nil
		case '\n':
			return token{}, l.fail(from, "Unclosed string literal")
		case '\\':
			l.at++
			if l.at == len(l.sql) {
				return token{}, l.fail(from, "Unclosed string literal")
			}
			if e := l.escape(&out, bytes); e != nil {
				return token{}, e
			}
		default:
			out.WriteByte(c)
		}
	}
	return token{}, l.fail(from, "Unclosed string literal")
}

// escape writes what the character after a backslash stands for: a simple
// escape, or \x, \u and \U with the hexadecimal number of a character. In
// b'…' \x is a byte.
func (l *lexer) escape(out *strings.Builder, bytes bool) *restError {
	c := l.sql[l.at]
	if e, ok := escapes[c]; ok {
		out.WriteByte(e)
		return nil
	}
	digits := map[byte]int{'x': 2, 'X': 2, 'u': 4, 'U': 8}[c]
	if digits > 0 && l.at+digits < len(l.sql) {
		n, err := strconv.ParseUint(l.sql[l.at+1:l.at+1+digits], 16, 32)
		if err == nil && (n > 0 || bytes) && n <= unicode.MaxRune && utf8.ValidRune(rune(n)) {
			l.at += digits
			if bytes && digits == 2 {
				out.WriteByte(byte(n))
			} else {
				out.WriteRune(rune(n))
			}
			return nil
		}
	}
	return l.fail(l.at-1, "Illegal escape sequence, or one that this server doesn't support")
}

func (l *lexer) symbol() (token, *restError) {
	from := l.at
	for _, s := range []string{"<=", ">=", "!=", "<>", "(", ")", ",", ".", ";", "=", "<", ">", "*", "-", "+"} {
		if strings.HasPrefix(l.sql[from:], s) {
			l.at += len(s)
			return token{tokenSymbol, s, from, l.at}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(l.sql[from:])
	return token{}, l.fail(from, "Illegal input character %q", r)
}

// skipSpace skips white space and the three kinds of comments.
func (l *lexer) skipSpace() *restError {
	for l.at < len(l.sql) {
		rest := l.sql[l.at:]
		switch {
		case strings.ContainsRune(" \t\r\n\f\v", rune(rest[0])):
			l.at++
		case rest[0] == '#' || strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest) - 1
			}
			l.at += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return l.fail(l.at, "Unclosed comment")
			}
			l.at += end + 4
		default:
			return nil
		}
	}
	return nil
}
