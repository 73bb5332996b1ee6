package schema

// kind is how values of a type look on the wire.
type kind uint8

const (
	kindText kind = iota // Postgres text as a string; numeric and json too
	kindBool
	kindInt2
	kindInt4
	kindInt8
	kindOID
	kindFloat4
	kindFloat8
	kindNumeric
	kindTimestamp
	kindTimestamptz
	kindBytea
)

// codec is what the wire form of a column's values depends on.
type codec struct {
	kind  kind
	array bool
	delim byte // pg_type.typdelim of the elements
}

var kinds = map[string]kind{
	"boolean":                     kindBool,
	"smallint":                    kindInt2,
	"integer":                     kindInt4,
	"bigint":                      kindInt8,
	"oid":                         kindOID,
	"real":                        kindFloat4,
	"double precision":            kindFloat8,
	"numeric":                     kindNumeric,
	"timestamp without time zone": kindTimestamp,
	"timestamp with time zone":    kindTimestamptz,
	"bytea":                       kindBytea,
}

func codecOf(typ string) codec {
	t := ParseType(typ)
	c := codec{kind: kinds[t.Base], array: t.Array, delim: ','}
	if t.Base == "box" {
		// The only type of Postgres with another delimiter
		// (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-INPUT).
		c.delim = ';'
	}
	return c
}

// isInteger reports whether b is a canonical integer in the range of k.
func isInteger(k kind, b []byte) bool {
	neg := len(b) > 0 && b[0] == '-'
	d := b
	if neg {
		d = b[1:]
	}
	if len(d) == 0 || d[0] == '0' && (len(d) > 1 || neg) {
		return false
	}
	n, ok := parseUint(d)
	var limit uint64
	switch k {
	case kindInt2:
		limit = 1<<15 - 1
	case kindInt4:
		limit = 1<<31 - 1
	case kindInt8:
		limit = 1<<63 - 1
	default:
		return ok && !neg && n < 1<<32
	}
	if neg {
		limit++
	}
	return ok && n <= limit
}

// isLooseInteger reports whether b is an integer in the range of k in a form that
// Postgres accepts, though it never writes a plus or leading zeros.
func isLooseInteger(k kind, b []byte) bool {
	var buf [24]byte
	neg := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	for len(b) > 1 && b[0] == '0' {
		b = b[1:]
	}
	if len(b) > 20 {
		return false
	}
	n := buf[:0]
	if neg && string(b) != "0" {
		n = append(n, '-')
	}
	return isInteger(k, append(n, b...))
}

// isNumeric reports whether b can be the text of a numeric.
func isNumeric(b []byte) bool {
	switch string(b) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	seen := false
	for i, c := range b {
		switch {
		case c-'0' <= 9:
			seen = true
		case c == '.' || c|0x20 == 'e':
		case c == '+' || c == '-':
			if i > 0 && b[i-1]|0x20 != 'e' {
				return false
			}
		default:
			return false
		}
	}
	return seen
}

// isLooseTime reports whether b can be the text of a time that has no wire
// form: infinity, or a date with another year, zone or precision.
func isLooseTime(b []byte) bool {
	if string(b) == "infinity" || string(b) == "-infinity" {
		return true
	}
	n := digits(b, 0)
	return n >= 4 && n < len(b) && b[n] == '-'
}
