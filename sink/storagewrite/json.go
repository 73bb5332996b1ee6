package storagewrite

import (
	"bytes"
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxJSONNesting is BigQuery's limit
// (https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#json_type).
const maxJSONNesting = 500

// appendJSON is for jsonb, which has no name twice in an object.
func appendJSON(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	if code := checkJSON(b); code != "" {
		return dst, code
	}
	return appendText(nil, dst, tag, b)
}

// appendJSONText is for json, which is kept as it was written: of members with
// one name Postgres reads the last, BigQuery keeps the first.
func appendJSONText(e *encoder, dst, tag, b []byte) ([]byte, Code) {
	if dst, code := appendJSON(e, dst, tag, b); code != "" || !e.names.twice(b) {
		return dst, code
	}
	return dst, JSONDuplicate
}

// memberNames finds names that an object has twice. Names of the objects that
// are open lie one object behind the other; it keeps its space for the next value.
type memberNames struct {
	names [][]byte
	open  []int // for each open bracket where its names begin
}

func (m *memberNames) twice(b []byte) bool {
	m.names, m.open = m.names[:0], m.open[:0]
	defer m.release()
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			end := stringEnd(b, i)
			if at := afterSpace(b, end); at < len(b) && b[at] == ':' {
				m.names = append(m.names, memberName(b[i:end]))
			}
			i = end
			continue
		case c == '{' || c == '[':
			m.open = append(m.open, len(m.names))
		case (c == '}' || c == ']') && len(m.open) > 0:
			from := m.open[len(m.open)-1]
			names := m.names[from:]
			slices.SortFunc(names, bytes.Compare)
			for n := 1; n < len(names); n++ {
				if bytes.Equal(names[n-1], names[n]) {
					return true
				}
			}
			m.names, m.open = m.names[:from], m.open[:len(m.open)-1]
		}
		i++
	}
	return false
}

// release lets the value go, and the space that a huge one needed.
func (m *memberNames) release() {
	if clear(m.names[:cap(m.names)]); cap(m.names) > maxKeptNames {
		m.names = nil
	}
}

const maxKeptNames = 1024

// memberName returns what the quoted name is without its escapes.
func memberName(quoted []byte) []byte {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') < 0 {
		return name
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return name
	}
	return []byte(s)
}

func afterSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// checkJSON finds what BigQuery's JSON type would change or refuse: integers
// outside of -2^63 to 2^64-1 become FLOAT64 and lose digits. Postgres has made
// sure that b is JSON; what isn't comes back as a refused row.
func checkJSON(b []byte) Code {
	depth := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i)
		case c == '{' || c == '[':
			depth++
			if depth > maxJSONNesting {
				return JSONNesting
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == '-' || c >= '0' && c <= '9':
			end := numberEnd(b, i)
			if bigInteger(b[i:end]) {
				return JSONInteger
			}
			i = end
		default:
			i++
		}
	}
	return ""
}

// stringEnd returns the index after the string that starts at b[i].
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// numberEnd returns the index after the number that starts at b[i].
func numberEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return i
		}
	}
	return i
}

// bigInteger reports whether a number is an integer that 64 bit can't hold.
func bigInteger(b []byte) bool {
	limit := "18446744073709551615"
	if b[0] == '-' {
		b, limit = b[1:], "9223372036854775808"
	}
	if digitsIn(b) != len(b) || len(b) < len(limit) {
		return false // a fraction or an exponent: FLOAT64 by nature
	}
	return len(b) > len(limit) || string(b) > limit
}

// appendHstore turns hstore's text, `"k"=>"v", "n"=>NULL`, into a JSON object of
// strings and nulls.
func appendHstore(e *encoder, dst, tag, b []byte) ([]byte, Code) {
	out := append(e.scratch[:0], '{')
	for i := 0; i < len(b); {
		if i > 0 {
			if len(b)-i < 2 || b[i] != ',' || b[i+1] != ' ' {
				return dst, InvalidValue
			}
			i += 2
			out = append(out, ',')
		}
		end, ok := quotedEnd(b, i)
		if !ok || len(b)-end < 2 || b[end] != '=' || b[end+1] != '>' {
			return dst, InvalidValue
		}
		out = appendJSONString(out, b[i+1:end-1], true)
		out = append(out, ':')
		i = end + 2
		if len(b)-i >= 4 && string(b[i:i+4]) == "NULL" {
			out = append(out, "null"...)
			i += 4
			continue
		}
		if end, ok = quotedEnd(b, i); !ok {
			return dst, InvalidValue
		}
		out = appendJSONString(out, b[i+1:end-1], true)
		i = end
	}
	out = append(out, '}')
	e.scratch = out
	dst = append(dst, tag...)
	return protowire.AppendBytes(dst, out), ""
}

// quotedEnd returns the index after the quoted text that starts at b[i].
func quotedEnd(b []byte, i int) (end int, ok bool) {
	if i >= len(b) || b[i] != '"' {
		return 0, false
	}
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return 0, false
}

// appendJSONString appends b as a JSON string; if escaped, a backslash in b
// stands before a character that is meant.
func appendJSONString(dst, b []byte, escaped bool) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(b); i++ {
		c := b[i]
		if escaped && c == '\\' && i+1 < len(b) {
			i++
			c = b[i]
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
