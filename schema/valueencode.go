package schema

import (
	"encoding/base64"
)

// appendValue appends the JSON form of Postgres text of codec c. What has no
// JSON form that leads back to exactly this text is a JSON string of it; what
// isn't of the type is ErrValue.
func (e *Encoder) appendValue(dst []byte, c codec, text []byte) ([]byte, error) {
	if !c.array {
		return e.appendScalar(dst, c.kind, text)
	}
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return dst, ErrValue
	}
	out, ok, err := e.appendArray(dst, c, text)
	if ok || err != nil {
		return out, err
	}
	return appendString(dst, text)
}

func (e *Encoder) appendScalar(dst []byte, k kind, text []byte) ([]byte, error) {
	switch k {
	case kindText:
		return appendString(dst, text)
	case kindBool:
		switch string(text) {
		case "t":
			return append(dst, "true"...), nil
		case "f":
			return append(dst, "false"...), nil
		}
		return dst, ErrValue
	case kindInt2, kindInt4, kindInt8, kindOID:
		if isInteger(k, text) {
			return append(dst, text...), nil
		}
		return appendLoose(dst, text, isLooseInteger(k, text))
	case kindFloat4, kindFloat8:
		if isJSONNumber(text) {
			if !isFloat(k, text) {
				return dst, ErrValue
			}
			return append(dst, text...), nil
		}
		return appendLoose(dst, text, isLooseFloat(k, text))
	case kindNumeric:
		return appendLoose(dst, text, isNumeric(text))
	case kindTimestamp, kindTimestamptz:
		return appendTime(dst, text, k == kindTimestamptz)
	case kindBytea:
		return e.appendBytea(dst, text)
	}
	panic("schema: unknown kind")
}

func appendLoose(dst, text []byte, ok bool) ([]byte, error) {
	if !ok {
		return dst, ErrValue
	}
	return appendString(dst, text)
}

func appendTime(dst, text []byte, zone bool) ([]byte, error) {
	out, ok := appendWireTime(append(dst, '"'), text, zone)
	if ok {
		return append(out, '"'), nil
	}
	// Text that looks like the wire form would come back as other text. Under
	// the pinned datestyle Postgres never writes it.
	return appendLoose(dst, text, isLooseTime(text) && !isWireTime(text, zone))
}

// appendBytea turns the hex format
// (https://www.postgresql.org/docs/current/datatype-binary.html) into base64.
func (e *Encoder) appendBytea(dst, text []byte) ([]byte, error) {
	if !isHex(text) {
		return dst, ErrValue
	}
	e.bytes = e.bytes[:0]
	for i := 2; i < len(text); i += 2 {
		hi, lo := unhex[text[i]], unhex[text[i+1]]
		if hi > 0xF || lo > 0xF {
			// Upper-case digits: Postgres reads them but never writes them.
			return appendString(dst, text)
		}
		e.bytes = append(e.bytes, hi<<4|lo)
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, e.bytes)
	return append(dst, '"'), nil
}

// isHex reports whether text is \x and pairs of hexadecimal digits.
func isHex(text []byte) bool {
	if len(text) < 2 || len(text)%2 != 0 || text[0] != '\\' || text[1] != 'x' {
		return false
	}
	for _, c := range text[2:] {
		if unhex[c] > 0x1F {
			return false
		}
	}
	return true
}

// unhex holds the value of each hexadecimal digit, plus 0x10 for an upper-case
// one, and 0xFF for all other bytes.
var unhex = func() (table [256]byte) {
	for c := range table {
		table[c] = 0xFF
	}
	for i := range byte(10) {
		table['0'+i] = i
	}
	for i := range byte(6) {
		table['a'+i] = 10 + i
		table['A'+i] = 0x10 | 10 + i
	}
	return table
}()
