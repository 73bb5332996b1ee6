package schema

import (
	"unicode/utf16"
)

// jsonKind is what a JSON value is.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonFalse
	jsonTrue
	jsonInteger // a number without fraction and exponent
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

// token is one JSON value in the data. For a string start and end leave out the
// quotes.
type token struct {
	start, end int32
	kind       jsonKind
	escaped    bool // a string with a backslash in it
}

// scanner walks JSON text (RFC 8259) without building anything. The data is
// UTF-8 and at most MaxMessageBytes long; its owner has checked that.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) text(t token) []byte { return s.data[t.start:t.end:t.end] }

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	return s.skipSpace()
}

func (s *scanner) skipSpace() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// open reads the opening bracket c.
func (s *scanner) open(c byte) error {
	if s.peek() != c {
		return s.unexpected()
	}
	s.pos++
	return nil
}

// unexpected tells a value of another kind from what isn't JSON.
func (s *scanner) unexpected() error {
	at := s.pos
	_, err := s.value(1)
	s.pos = at
	if err != nil {
		return err
	}
	return ErrField
}

// more is called before each element but knows from n, the number of elements
// so far, whether a comma is due. It returns false at the closing bracket c,
// which it reads.
func (s *scanner) more(n int, c byte) (bool, error) {
	b := s.peek()
	if b == c {
		s.pos++
		return false, nil
	}
	if n == 0 {
		return true, nil
	}
	if b != ',' {
		return false, ErrSyntax
	}
	s.pos++
	if s.peek() == c {
		return false, ErrSyntax
	}
	return true, nil
}

// member reads the name of the nth member of an object and the colon, or the
// closing brace, for which it returns false.
func (s *scanner) member(n int) (name token, ok bool, err error) {
	if i := s.pos; n > 0 && i+1 < len(s.data) && s.data[i] == ',' && s.data[i+1] == '"' {
		s.pos++ // what our encoder writes
	} else {
		if ok, err = s.more(n, '}'); !ok || err != nil {
			return token{}, false, err
		}
		if s.peek() != '"' {
			return token{}, false, ErrSyntax
		}
	}
	if name, err = s.str(); err != nil {
		return token{}, false, err
	}
	if s.peek() != ':' {
		return token{}, false, ErrSyntax
	}
	s.pos++
	return name, true, nil
}

// end returns ErrTrailing unless only white space is left.
func (s *scanner) end() error {
	if s.peek() != 0 || s.pos < len(s.data) {
		return ErrTrailing
	}
	return nil
}

// value reads any value; depth is the number of brackets around it.
func (s *scanner) value(depth int) (token, error) {
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case 't':
		return s.literal("true", jsonTrue)
	case 'f':
		return s.literal("false", jsonFalse)
	case 'n':
		return s.literal("null", jsonNull)
	case '[', '{':
		return s.skip(depth+1, c)
	default:
		return s.number()
	}
}

func (s *scanner) literal(text string, kind jsonKind) (token, error) {
	end := s.pos + len(text)
	if end > len(s.data) || string(s.data[s.pos:end]) != text {
		return token{}, ErrSyntax
	}
	t := token{start: int32(s.pos), end: int32(end), kind: kind}
	s.pos = end
	return t, nil
}

func (s *scanner) skip(depth int, open byte) (token, error) {
	if depth > MaxNesting {
		return token{}, ErrNesting
	}
	t := token{start: int32(s.pos), kind: jsonArray}
	s.pos++
	for n := 0; ; n++ {
		var ok bool
		var err error
		if open == '[' {
			ok, err = s.more(n, ']')
		} else {
			t.kind = jsonObject
			_, ok, err = s.member(n)
		}
		if err != nil {
			return token{}, err
		}
		if !ok {
			t.end = int32(s.pos)
			return t, nil
		}
		if _, err := s.value(depth); err != nil {
			return token{}, err
		}
	}
}

func (s *scanner) number() (token, error) {
	data, i := s.data, s.pos
	t := token{start: int32(i), kind: jsonInteger}
	if i < len(data) && data[i] == '-' {
		i++
	}
	first := i
	i = digits(data, i)
	if i == first || data[first] == '0' && i > first+1 {
		return token{}, ErrSyntax
	}
	if i < len(data) && data[i] == '.' {
		t.kind = jsonNumber
		first = i + 1
		if i = digits(data, first); i == first {
			return token{}, ErrSyntax
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		t.kind = jsonNumber
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		first = i
		if i = digits(data, first); i == first {
			return token{}, ErrSyntax
		}
	}
	s.pos, t.end = i, int32(i)
	return t, nil
}

func digits(data []byte, i int) int {
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// str reads a string; the next byte is its quote.
func (s *scanner) str() (token, error) {
	t := token{start: int32(s.pos + 1), kind: jsonString}
	for i := s.pos + 1; ; {
		i = stringEnd(s.data, i)
		if i >= len(s.data) {
			return token{}, ErrSyntax
		}
		switch s.data[i] {
		case '"':
			t.end = int32(i)
			s.pos = i + 1
			return t, nil
		case '\\':
			t.escaped = true
			n, err := escapeLen(s.data[i:])
			if err != nil {
				return token{}, err
			}
			i += n
		default:
			return token{}, ErrSyntax
		}
	}
}

// escapeLen returns the length of the escape at the start of b.
func escapeLen(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, ErrSyntax
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		_, n, err := escapedRune(b)
		return n, err
	default:
		return 0, ErrSyntax
	}
}

// escapedRune returns the rune and the length of the \u escape, or the pair of
// them, at the start of b. A surrogate alone isn't UTF-8.
func escapedRune(b []byte) (rune, int, error) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0, ErrSyntax
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, nil
	}
	r2, ok := hex4(b[6:])
	if !ok || utf16.DecodeRune(r, r2) == 0xFFFD {
		return 0, 0, ErrUTF8
	}
	return utf16.DecodeRune(r, r2), 12, nil
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		n, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(n)
	}
	return r, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	default:
		return 0, false
	}
}

// parseInt reads a JSON integer as an int64 without a panic for any length.
func parseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	n, ok := parseUint(b)
	switch {
	case !ok:
		return 0, false
	case neg && n <= 1<<63:
		return -int64(n), true
	case neg || n > 1<<63-1:
		return 0, false
	default:
		return int64(n), true
	}
}

func parseUint(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, c := range b {
		c -= '0'
		if c > 9 || n > (1<<64-1)/10 || n*10 > 1<<64-1-uint64(c) {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}
