package config

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Pattern matches tables by schema.table. * stands for any characters, none
// too; a part in double quotes is taken as it stands, with "" for a quote.
type Pattern struct {
	text         string
	schema, name glob
}

// glob is a text cut at its asterisks.
type glob []string

// ParsePattern parses the notation of the file.
func ParsePattern(s string) (Pattern, error) {
	schema, rest, err := cutPart(s)
	if err != nil {
		return Pattern{}, err
	}
	if !strings.HasPrefix(rest, ".") {
		return Pattern{}, errors.New("the schema is missing")
	}
	name, rest, err := cutPart(rest[1:])
	if err != nil {
		return Pattern{}, err
	}
	if rest != "" {
		return Pattern{}, errors.New("something follows the table's name")
	}
	return Pattern{s, schema, name}, nil
}

// maxIdentifierBytes is Postgres' NAMEDATALEN-1
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS).
const maxIdentifierBytes = 63

func cutPart(s string) (g glob, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		n := strings.IndexAny(s, ".\"")
		if n < 0 {
			n = len(s)
		}
		part, rest := s[:n], s[n:]
		if part == "" || strings.ContainsAny(part, " \t\r\n") {
			return nil, "", errors.New("a name is empty or holds a space")
		}
		if len(part) > maxIdentifierBytes {
			return nil, "", errors.New("a name is longer than 63 bytes")
		}
		return strings.Split(part, "*"), rest, nil
	}
	var b strings.Builder
	for s = s[1:]; ; {
		n := strings.IndexByte(s, '"')
		if n < 0 {
			return nil, "", errors.New("a double quote isn't closed")
		}
		b.WriteString(s[:n])
		s = s[n+1:]
		if !strings.HasPrefix(s, `"`) {
			break
		}
		b.WriteByte('"')
		s = s[1:]
	}
	if b.Len() == 0 || b.Len() > maxIdentifierBytes {
		return nil, "", errors.New("a name is empty or longer than 63 bytes")
	}
	return glob{b.String()}, s, nil
}

func (g glob) matches(s string) bool {
	if len(g) == 0 {
		return false
	}
	first, last := g[0], g[len(g)-1]
	if len(g) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range g[1 : len(g)-1] {
		n := strings.Index(s, part)
		if n < 0 {
			return false
		}
		s = s[n+len(part):]
	}
	return true
}

// Matches reports whether the pattern stands for schema.name.
func (p Pattern) Matches(schema, name string) bool {
	return p.schema.matches(schema) && p.name.matches(name)
}

// Exact returns the one table that the pattern stands for, false if it holds an
// asterisk.
func (p Pattern) Exact() (schema, name string, ok bool) {
	if len(p.schema) != 1 || len(p.name) != 1 {
		return "", "", false
	}
	return p.schema[0], p.name[0], true
}

// Plain returns the pattern without quotes, false if it then says something else.
func (p Pattern) Plain() (string, bool) {
	schema, name := strings.Join(p.schema, "*"), strings.Join(p.name, "*")
	ok := strings.Count(schema, "*") == len(p.schema)-1 && strings.Count(name, "*") == len(p.name)-1 && !strings.Contains(schema+name, ".")
	return schema + "." + name, ok
}

// String returns the notation of the file.
func (p Pattern) String() string { return p.text }

func (p *Pattern) decode(d *decoder, n ast.Node, path string) {
	decodeScalar(d, n, path, p, ParsePattern, "schema.table, such as public.orders or public.*; quote a name that holds a dot")
}
