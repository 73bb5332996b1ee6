package storagewrite

import (
	"encoding/hex"
	"math"
	"strconv"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// text views b as a string for the parsers of strconv, which don't keep it.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func appendText(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	dst = append(dst, tag...)
	return protowire.AppendBytes(dst, b), ""
}

func appendBool(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	dst = append(dst, tag...)
	switch string(b) {
	case "t", "true":
		return append(dst, 1), ""
	case "f", "false":
		return append(dst, 0), "" // written: an absent field would be NULL
	default:
		return dst, InvalidValue
	}
}

func appendInt64(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	n, ok := parseInt64(b)
	if !ok {
		return dst, InvalidValue
	}
	dst = append(dst, tag...)
	return protowire.AppendVarint(dst, uint64(n)), ""
}

// parseInt64 parses a decimal integer; it accepts exactly what Postgres writes.
func parseInt64(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0') // 19 digits fit
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true
	case !negative && n <= math.MaxInt64:
		return int64(n), true
	default:
		return 0, false
	}
}

func appendFloat64(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	f, err := strconv.ParseFloat(text(b), 64)
	if err != nil {
		return dst, InvalidValue
	}
	dst = append(dst, tag...)
	return protowire.AppendFixed64(dst, math.Float64bits(f)), ""
}

// appendBytes decodes bytea's hexadecimal form.
func appendBytes(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	if len(b) < 2 || b[0] != '\\' || b[1] != 'x' || len(b)%2 != 0 {
		return dst, InvalidValue
	}
	dst = append(dst, tag...)
	dst = protowire.AppendVarint(dst, uint64(len(b)/2-1))
	dst, err := hex.AppendDecode(dst, b[2:])
	if err != nil {
		return dst, InvalidValue
	}
	return dst, ""
}

// The decimal types' digits before and after the point
// (https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#decimal_types).
const (
	numericIntDigits, numericScale       = 29, 9
	bigNumericIntDigits, bigNumericScale = 39, 38
)

// maxBigNumeric is the digits of the largest BIGNUMERIC without the point; the
// smallest is one unit further from zero.
const maxBigNumeric = "578960446186580977117854925043439539266" + "34992332820282019728792003956564819967"

func appendNumeric(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	d, code := parseDecimal(b)
	if code == "" {
		code = d.check(numericIntDigits, numericScale)
	}
	if code != "" {
		return dst, code
	}
	return d.append(dst, tag, numericScale), ""
}

func appendBigNumeric(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	d, code := parseDecimal(b)
	if code == "" {
		code = d.check(bigNumericIntDigits, bigNumericScale)
	}
	if code == "" && len(d.digits) == bigNumericIntDigits && d.above(maxBigNumeric) {
		code = NumericRange
	}
	if code != "" {
		return dst, code
	}
	return d.append(dst, tag, bigNumericScale), ""
}

// decimal is a numeric's text in parts.
type decimal struct {
	text     []byte // as it came
	digits   []byte // before the point, without leading zeros
	fraction []byte // after it, without trailing zeros
	end      int    // of text without the fraction's trailing zeros
}

// parseDecimal splits what numeric_out writes: no exponent, no sign but a minus.
func parseDecimal(b []byte) (d decimal, code Code) {
	switch string(b) {
	case "NaN", "Infinity", "-Infinity":
		return d, NumericNotFinite
	}
	d.text = b
	rest := b
	if len(rest) > 0 && rest[0] == '-' {
		rest = rest[1:]
	}
	n := digitsIn(rest)
	d.digits, rest = rest[:n], rest[n:]
	if n == 0 {
		return d, InvalidValue
	}
	d.end = len(b) - len(rest)
	if len(rest) > 0 {
		if rest[0] != '.' || len(rest) == 1 || digitsIn(rest[1:]) != len(rest)-1 {
			return d, InvalidValue
		}
		d.fraction = rest[1:]
		for n := len(d.fraction); n > 0 && d.fraction[n-1] == '0'; n-- {
			d.fraction = d.fraction[:n-1]
		}
		if len(d.fraction) > 0 {
			d.end += 1 + len(d.fraction)
		}
	}
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
	}
	return d, ""
}

func digitsIn(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

func (d *decimal) check(intDigits, scale int) Code {
	switch {
	case len(d.fraction) > scale:
		return NumericScale
	case len(d.digits) > intDigits:
		return NumericRange
	default:
		return ""
	}
}

// above compares the absolute value with limit, which has as many digits before
// the point; a negative value may be one unit larger.
func (d *decimal) above(limit string) bool {
	n := len(d.digits)
	if s := string(d.digits); s != limit[:n] {
		return s > limit[:n]
	}
	tail := limit[n:]
	for i := range len(tail) {
		c := byte('0')
		if i < len(d.fraction) {
			c = d.fraction[i]
		}
		last := tail[i]
		if i == len(tail)-1 && d.text[0] == '-' {
			last++
		}
		if c != last {
			return c > last
		}
	}
	return false
}

// append writes the text as it came, without zeros beyond the type's scale.
func (d *decimal) append(dst, tag []byte, scale int) []byte {
	b := d.text
	if len(b)-d.end > scale {
		b = b[:d.end]
	}
	dst = append(dst, tag...)
	return protowire.AppendBytes(dst, b)
}
