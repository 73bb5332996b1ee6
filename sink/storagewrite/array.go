package storagewrite

import "bytes"

// arrayOf returns the encoder of a REPEATED column: each element of the array's
// text (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO) as one
// more field. REPEATED has neither nulls nor dimensions; lower bounds are lost.
func arrayOf(element appendValue, delimiter byte) appendValue {
	return func(e *encoder, dst, tag, b []byte) ([]byte, Code) {
		s := arrayScanner{rest: afterBounds(b), delimiter: delimiter}
		if code := s.open(); code != "" {
			return dst, code
		}
		for {
			text, null, more, code := s.next(e)
			switch {
			case code != "":
				return dst, code
			case !more:
				return dst, ""
			case null:
				return dst, ArrayNullElement
			}
			if dst, code = element(e, dst, tag, text); code != "" {
				return dst, code
			}
		}
	}
}

// afterBounds cuts off explicit bounds, [2:4]=.
func afterBounds(b []byte) []byte {
	if len(b) > 0 && b[0] == '[' {
		if i := bytes.IndexByte(b, '='); i > 0 {
			return b[i+1:]
		}
	}
	return b
}

// arrayScanner walks the elements of one dimension.
type arrayScanner struct {
	rest      []byte
	delimiter byte
	first     bool
}

func (s *arrayScanner) open() Code {
	if len(s.rest) < 2 || s.rest[0] != '{' || s.rest[len(s.rest)-1] != '}' {
		return InvalidValue
	}
	s.rest, s.first = s.rest[1:], true
	return ""
}

// next returns the text of the next element. It aliases the array's text or e's
// element scratch and is valid until the next call; more is false at the end.
func (s *arrayScanner) next(e *encoder) (text []byte, null, more bool, code Code) {
	b := s.rest
	if len(b) == 0 {
		return nil, false, false, InvalidValue
	}
	if b[0] == '}' {
		if len(b) > 1 {
			return nil, false, false, InvalidValue
		}
		return nil, false, false, ""
	}
	if !s.first {
		if b[0] != s.delimiter || len(b) < 2 {
			return nil, false, false, InvalidValue
		}
		b = b[1:]
	}
	s.first = false
	switch b[0] {
	case '{':
		return nil, false, false, ArrayDimensions
	case '"':
		end, ok := quotedEnd(b, 0)
		if !ok || end >= len(b) {
			return nil, false, false, InvalidValue
		}
		s.rest = b[end:]
		return e.unescape(b[1 : end-1]), false, true, ""
	default:
		end := 0
		for end < len(b) && b[end] != s.delimiter && b[end] != '}' {
			end++
		}
		if end == 0 || end == len(b) {
			return nil, false, false, InvalidValue
		}
		s.rest = b[end:]
		return b[:end], string(b[:end]) == "NULL", true, ""
	}
}

// unescape removes the backslashes of a quoted element.
func (e *encoder) unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := e.element[:0]
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) {
			i++
		}
		out = append(out, b[i])
	}
	e.element = out
	return out
}

// appendVector turns pgvector's text, [1,2.5,3], into a REPEATED FLOAT64.
func appendVector(e *encoder, dst, tag, b []byte) ([]byte, Code) {
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return dst, InvalidValue
	}
	b = b[1 : len(b)-1]
	var code Code
	for len(b) > 0 {
		element, rest, more := bytes.Cut(b, []byte{','})
		if more && len(rest) == 0 {
			return dst, InvalidValue
		}
		if dst, code = appendFloat64(e, dst, tag, element); code != "" {
			return dst, code
		}
		b = rest
	}
	return dst, ""
}

// arrayAsJSON returns the encoder of an array in a JSON column: what REPEATED
// can't hold. Elements that are JSON themselves stay so, all others are strings.
func arrayAsJSON(base string) appendValue {
	raw := base == "json" || base == "jsonb" || base == "vector"
	return func(e *encoder, dst, tag, b []byte) ([]byte, Code) {
		s := arrayScanner{rest: afterBounds(b), delimiter: ','}
		if code := s.open(); code != "" {
			return dst, code
		}
		out := append(e.scratch[:0], '[')
		for {
			text, null, more, code := s.next(e)
			switch {
			case code != "":
				return dst, code
			case !more:
				out = append(out, ']')
				e.scratch = out
				return appendJSONText(e, dst, tag, out)
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			switch {
			case null:
				out = append(out, "null"...)
			case raw:
				out = append(out, text...)
			default:
				out = appendJSONString(out, text, false)
			}
		}
	}
}
