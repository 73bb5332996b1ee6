package schematest

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"cdc/schema"
)

// Types are the types that Text knows, in the form of format_type, without
// their arrays.
var Types = []string{
	"boolean", "smallint", "integer", "bigint", "oid", "real", "double precision",
	"numeric(12,2)", "numeric", "money", "text", "character varying(40)", "character(6)",
	"public.citext", "name", "public.mood", "uuid", "json", "jsonb", "public.hstore", "bytea",
	"date", "timestamp without time zone", "timestamp(3) without time zone", "timestamp with time zone",
	"time without time zone", "time with time zone", "interval", "inet", "cidr", "macaddr",
	"bit(5)", "xml", "tsvector", "pg_lsn", "int4range", "box", "point", "public.pair", `public."Odd Type"`,
}

// Text returns a random value of the type as Postgres writes it. Rare values
// (NaN, infinity, years before Christ, empty text) come often.
func Text(r *rand.Rand, typ string) []byte {
	t := schema.ParseType(typ)
	if t.Array {
		return array(r, strings.TrimSuffix(typ, "[]"), t.Base)
	}
	if f, ok := generators[t.Base]; ok {
		return []byte(f(r))
	}
	return []byte(anyText(r))
}

var generators = map[string]func(*rand.Rand) string{
	"boolean":  func(r *rand.Rand) string { return pick(r, "t", "f") },
	"smallint": func(r *rand.Rand) string { return strconv.FormatInt(int64(int16(r.Uint32())), 10) },
	"integer":  func(r *rand.Rand) string { return strconv.FormatInt(int64(int32(r.Uint32())), 10) },
	"bigint": func(r *rand.Rand) string {
		return pick(r, strconv.FormatInt(int64(r.Uint64()), 10), "-9223372036854775808", "9223372036854775807", "0", strconv.Itoa(r.IntN(1000)))
	},
	"oid": func(r *rand.Rand) string { return strconv.FormatUint(uint64(r.Uint32()), 10) },
	"real": func(r *rand.Rand) string {
		return float(r, float64(math.Float32frombits(r.Uint32())), 32)
	},
	"double precision": func(r *rand.Rand) string { return float(r, math.Float64frombits(r.Uint64()), 64) },
	"numeric":          numeric,
	"money":            func(r *rand.Rand) string { return pick(r, "$1,234,567.89", "-$0.01") },
	"uuid":             func(r *rand.Rand) string { return uuid(r) },
	"json":             func(r *rand.Rand) string { return pick(r, `{"a": 1, "a": 2}`, `[1e400, "\u0041"]`, "null", `"x"`) },
	"jsonb":            func(r *rand.Rand) string { return pick(r, `{"a": [1, {"b": null}]}`, "1", `"ß\n"`) },
	"bytea":            func(r *rand.Rand) string { return `\x` + hex.EncodeToString(randomBytes(r, r.IntN(40))) },
	"date":             func(r *rand.Rand) string { return pick(r, "2026-01-02", "infinity", "0044-03-15 BC", "5874897-12-31") },
	"timestamp without time zone": func(r *rand.Rand) string {
		return timestamp(r, "")
	},
	"timestamp with time zone": func(r *rand.Rand) string { return timestamp(r, "+00") },
	"interval":                 func(r *rand.Rand) string { return pick(r, "1 year 2 mons", "-00:00:00.000001", "178000000 years") },
	"time without time zone":   func(r *rand.Rand) string { return pick(r, "24:00:00", "03:04:05.123") },
	"inet":                     func(r *rand.Rand) string { return pick(r, "10.0.0.1", "::1", "192.168.0.0/16") },
	"box": func(r *rand.Rand) string {
		return fmt.Sprintf("(%d,%d),(%d,%d)", r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(9))
	},
}

func pick(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }

func float(r *rand.Rand, f float64, bits int) string {
	switch {
	case math.IsNaN(f) || r.IntN(8) == 0:
		return pick(r, "NaN", "Infinity", "-Infinity", "-0", "0")
	case math.IsInf(f, 0):
		return "Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

func numeric(r *rand.Rand) string {
	if r.IntN(8) == 0 {
		return pick(r, "NaN", "Infinity", "-Infinity", "0.00")
	}
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteByte('-')
	}
	b.WriteByte(byte('1' + r.IntN(9)))
	for range r.IntN(60) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	b.WriteByte('.')
	for range 1 + r.IntN(20) {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	return b.String()
}

func timestamp(r *rand.Rand, zone string) string {
	switch r.IntN(10) {
	case 0:
		return pick(r, "infinity", "-infinity")
	case 1:
		return pick(r, "0044-03-15 00:00:00"+zone+" BC", "294276-12-31 23:59:59.999999"+zone)
	case 2:
		return pick(r, "0001-01-01 00:00:00"+zone, "9999-12-31 23:59:59.999999"+zone, "2024-02-29 12:00:00.1"+zone)
	}
	t := time.UnixMicro(r.Int64N(4e15)).UTC()
	return t.Format("2006-01-02 15:04:05.999999") + zone
}

func uuid(r *rand.Rand) string {
	h := hex.EncodeToString(randomBytes(r, 16))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// anyText is text with much of what needs care: quotes, backslashes, commas,
// braces, control characters, the word NULL, runes of every length.
func anyText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pick(r, "a", "Z", " ", `"`, `\`, ",", ";", "{", "}", "\n", "\t", "\x01", "\x7f", "ß", "漢", "🙂", "NULL", "\u2028", "<", "abcdefghij", "/"))
	}
	return b.String()
}

// array returns the text of an array as array_out writes it.
func array(r *rand.Rand, typ, base string) []byte {
	delim := ","
	if base == "box" {
		delim = ";"
	}
	n := r.IntN(5)
	if n == 0 {
		return []byte("{}")
	}
	dims := 1 + r.IntN(3)
	text := arrayLevel(r, typ, delim, dims, n)
	if r.IntN(8) == 0 {
		return []byte(strings.Repeat("[0:"+strconv.Itoa(n-1)+"]", dims) + "=" + text)
	}
	return []byte(text)
}

func arrayLevel(r *rand.Rand, typ, delim string, dims, n int) string {
	parts := make([]string, n)
	for i := range parts {
		switch {
		case dims > 1:
			parts[i] = arrayLevel(r, typ, delim, dims-1, n)
		case r.IntN(6) == 0:
			parts[i] = "NULL"
		default:
			parts[i] = QuoteElement(string(Text(r, typ)), delim)
		}
	}
	return "{" + strings.Join(parts, delim) + "}"
}

// QuoteElement writes an array's element as array_out does. It stands apart from
// package schema's own, so that tests compare two programs.
func QuoteElement(s, delim string) string {
	if s != "" && !strings.EqualFold(s, "NULL") && !strings.ContainsAny(s, "{}\"\\ \t\n\r\v\f"+delim) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
