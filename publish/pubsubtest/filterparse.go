package pubsubtest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The filter language
// (https://docs.cloud.google.com/pubsub/docs/subscription-message-filter):
//
//	filter     = [ expression ]
//	expression = term { "AND" term } | term { "OR" term }
//	term       = [ "NOT" | "-" ] primary
//	primary    = "(" expression ")"
//	           | "hasPrefix" "(" "attributes" "." key "," string ")"
//	           | "attributes" ":" key
//	           | "attributes" "." key ( "=" | "!=" ) string
//	key        = string | letters, digits, "_" and "-"
//	string     = a string in double quotes with the escapes of Go
//
// The page names Unicode, hexadecimal and octal escapes without listing them,
// and shows double quotes only. White space may stand between any two of these.

// parseFilter reads a filter; the empty one is nil. A filter of checkFilter's
// length bounds how deep it nests.
func parseFilter(text string) (filter, error) {
	if text == "" {
		return nil, nil
	}
	p := filterParser{rest: text}
	p.next()
	f, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.kind != tokenEnd {
		return nil, p.unexpected("AND, OR or the end")
	}
	return f, nil
}

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenString
	tokenSign  // one of ( ) , . : = != -
	tokenWrong // nothing of the language
)

// filterParser looks at one token at a time. A hyphen is part of a word except
// at its start, where it is a sign: only key knows it as part of a name.
type filterParser struct {
	rest string // behind the token
	kind tokenKind
	text string // of the token; a string's value
}

func (p *filterParser) next() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	switch {
	case p.rest == "":
		p.kind, p.text = tokenEnd, ""
	case p.rest[0] == '"':
		p.quoted()
	case strings.HasPrefix(p.rest, "!="):
		p.cut(tokenSign, 2)
	case strings.IndexByte("(),.:=-", p.rest[0]) >= 0:
		p.cut(tokenSign, 1)
	case wordBytes(p.rest) > 0:
		p.cut(tokenWord, wordBytes(p.rest))
	default:
		_, n := utf8.DecodeRuneInString(p.rest)
		p.cut(tokenWrong, n)
	}
}

func (p *filterParser) cut(kind tokenKind, n int) {
	p.kind, p.text, p.rest = kind, p.rest[:n], p.rest[n:]
}

// wordBytes is how many bytes of s a word takes.
func wordBytes(s string) int {
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return i
		}
	}
	return len(s)
}

// quoted reads a string literal.
func (p *filterParser) quoted() {
	var value []byte
	for s := p.rest[1:]; s != ""; {
		if s[0] == '"' {
			p.kind, p.text, p.rest = tokenString, string(value), s[1:]
			return
		}
		c, multibyte, tail, err := strconv.UnquoteChar(s, '"')
		if err != nil {
			break
		}
		if multibyte {
			value = utf8.AppendRune(value, c)
		} else {
			value = append(value, byte(c))
		}
		s = tail
	}
	p.cut(tokenWrong, len(p.rest))
}

func (p *filterParser) is(kind tokenKind, text string) bool { return p.kind == kind && p.text == text }

func (p *filterParser) unexpected(want string) error {
	got := strconv.Quote(p.text)
	if p.kind == tokenEnd {
		got = "the end"
	}
	return fmt.Errorf("%s instead of %s", got, want)
}

func (p *filterParser) expect(kind tokenKind, text string) error {
	if !p.is(kind, text) {
		return p.unexpected(text)
	}
	p.next()
	return nil
}

// expression reads terms joined by AND, or by OR, never both.
func (p *filterParser) expression() (filter, error) {
	first, err := p.term()
	if err != nil {
		return nil, err
	}
	join := p.text
	if p.kind != tokenWord || (join != "AND" && join != "OR") {
		return first, nil
	}
	terms := []filter{first}
	for p.is(tokenWord, join) {
		p.next()
		f, err := p.term()
		if err != nil {
			return nil, err
		}
		terms = append(terms, f)
	}
	if p.is(tokenWord, "AND") || p.is(tokenWord, "OR") {
		return nil, fmt.Errorf("AND and OR are combined without parentheses")
	}
	if join == "AND" {
		return allOf(terms), nil
	}
	return anyOf(terms), nil
}

func (p *filterParser) term() (filter, error) {
	if !p.is(tokenWord, "NOT") && !p.is(tokenSign, "-") {
		return p.primary()
	}
	p.next()
	f, err := p.primary()
	if err != nil {
		return nil, err
	}
	return not(f), nil
}

func (p *filterParser) primary() (filter, error) {
	switch {
	case p.is(tokenSign, "("):
		p.next()
		f, err := p.expression()
		if err != nil {
			return nil, err
		}
		return f, p.expect(tokenSign, ")")
	case p.is(tokenWord, "hasPrefix"):
		p.next()
		return p.prefix()
	case p.is(tokenWord, "attributes"):
		p.next()
		return p.comparison()
	}
	return nil, p.unexpected("attributes, hasPrefix or (")
}

// prefix reads what follows hasPrefix.
func (p *filterParser) prefix() (filter, error) {
	if err := p.expect(tokenSign, "("); err != nil {
		return nil, err
	}
	if err := p.expect(tokenWord, "attributes"); err != nil {
		return nil, err
	}
	if !p.is(tokenSign, ".") {
		return nil, p.unexpected(".")
	}
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	if err := p.expect(tokenSign, ","); err != nil {
		return nil, err
	}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	return hasPrefix(key, value), p.expect(tokenSign, ")")
}

// comparison reads what follows attributes.
func (p *filterParser) comparison() (filter, error) {
	list := p.is(tokenSign, ":")
	if !list && !p.is(tokenSign, ".") {
		return nil, p.unexpected(": or .")
	}
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	if list {
		return hasKey(key), nil
	}
	equal := p.is(tokenSign, "=")
	if !equal && !p.is(tokenSign, "!=") {
		return nil, p.unexpected("= or !=")
	}
	p.next()
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	f := hasValue(key, value)
	if !equal {
		f = not(f)
	}
	return f, nil
}

// key reads the key behind the sign that the parser stands on.
func (p *filterParser) key() (string, error) {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	if n := wordBytes(p.rest); n > 0 {
		p.cut(tokenWord, n)
	} else {
		p.next()
	}
	if p.kind != tokenWord && p.kind != tokenString {
		return "", p.unexpected("a key")
	}
	key := p.text
	p.next()
	return key, nil
}

// value reads a string literal.
func (p *filterParser) value() (string, error) {
	if p.kind != tokenString {
		return "", p.unexpected("a string in double quotes")
	}
	value := p.text
	p.next()
	return value, nil
}
