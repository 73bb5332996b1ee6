package schema

import (
	"strconv"
	"strings"
)

// Type is a parsed Postgres type name as format_type writes it.
type Type struct {
	Base  string // without modifiers and [], such as "timestamp with time zone" or "public.mood"
	Mods  []int  // type modifiers: numeric(10,2) has 10 and 2
	Array bool
}

// ParseType parses the text of format_type(oid, typmod), with which a Column
// names its type (https://www.postgresql.org/docs/current/functions-info.html).
// Base keeps the schema and the quotes that format_type writes, so `"char"` and
// `public."My Type"` are Bases. The fields of an interval (day to second) are
// dropped, its precision is kept. Modifiers that aren't numbers, such as
// PostGIS' geometry(Point,4326), stay part of Base. What it doesn't understand
// is all Base.
func ParseType(s string) Type {
	t := Type{Base: s}
	s, t.Array = strings.CutSuffix(s, "[]")
	if quotedAtEnd(s, t.Array) {
		return Type{Base: t.Base}
	}
	t.Base = s
	if from, to, ok := modifiers(s); ok {
		if mods, ok := parseMods(s[from+1 : to]); ok {
			t.Mods = mods
			t.Base = s[:from] + s[to+1:]
		}
	}
	if strings.HasPrefix(t.Base, "interval ") {
		t.Base = "interval"
	}
	return t
}

// quotedAtEnd reports whether the [] cut off after s was inside quotes.
func quotedAtEnd(s string, cut bool) bool { return cut && strings.Count(s, `"`)%2 == 1 }

// modifiers finds the one pair of parentheses outside of quotes.
func modifiers(s string) (from, to int, ok bool) {
	quoted := false
	from, to = -1, -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' && from < 0:
			from = i
		case c == ')' && from >= 0 && to < 0:
			to = i
		case c == '(' || c == ')':
			return 0, 0, false
		}
	}
	// After the modifiers comes nothing, or " with time zone" and the like.
	ok = !quoted && from > 0 && to > from && (to == len(s)-1 || s[to+1] == ' ')
	return from, to, ok
}

func parseMods(s string) ([]int, bool) {
	var mods []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || strconv.Itoa(n) != part {
			return nil, false
		}
		mods = append(mods, n)
	}
	return mods, true
}
