package schema

import (
	"encoding/base64"
	"encoding/hex"
)

var (
	textTrue     = []byte("t")
	textFalse    = []byte("f")
	strictBase64 = base64.StdEncoding.Strict()
)

// values turns JSON values back into Postgres text. What it can't take from the
// data as it is goes into text, which only grows while values are in use.
type values struct {
	text    []byte
	scratch []byte // one array element
}

// value returns the Value of one JSON value; s holds its data.
func (v *values) value(c codec, s *scanner, t token) (Value, error) {
	if t.kind == jsonNull {
		return Value{}, nil
	}
	if c.array {
		return v.array(c, s, t)
	}
	if isPlain(c.kind, t) {
		return Value{Text, s.text(t)}, nil
	}
	text, dst, err := appendScalarText(v.text, c.kind, s, t)
	if err != nil {
		return Value{}, err
	}
	v.text = dst
	return Value{Text, text}, nil
}

// isPlain reports whether the value's bytes in the data are its text.
func isPlain(k kind, t token) bool { return k == kindText && t.kind == jsonString && !t.escaped }

// appendScalarText returns the Postgres text of a JSON value that isn't an array.
// The text is either part of the data or was appended to dst.
func appendScalarText(dst []byte, k kind, s *scanner, t token) (text, out []byte, err error) {
	switch t.kind {
	case jsonTrue, jsonFalse:
		if k != kindBool {
			return nil, dst, ErrValue
		}
		if t.kind == jsonTrue {
			return textTrue, dst, nil
		}
		return textFalse, dst, nil
	case jsonInteger, jsonNumber:
		b := s.text(t)
		if isNumber(k, t.kind, b) {
			return b, dst, nil
		}
		return nil, dst, ErrValue
	case jsonString:
		return appendStringText(dst, k, s, t)
	default:
		return nil, dst, ErrValue
	}
}

func isNumber(k kind, j jsonKind, b []byte) bool {
	switch k {
	case kindInt2, kindInt4, kindInt8, kindOID:
		return j == jsonInteger && isInteger(k, b)
	case kindFloat4, kindFloat8:
		return isFloat(k, b)
	default:
		return false
	}
}

func appendStringText(dst []byte, k kind, s *scanner, t token) (text, out []byte, err error) {
	raw, start := s.text(t), len(dst)
	if t.escaped {
		dst = appendUnescaped(dst, raw)
		raw = dst[start:len(dst):len(dst)]
	}
	ok := true
	switch k {
	case kindText:
	case kindBool:
		ok = false
	case kindInt2, kindInt4, kindInt8, kindOID:
		ok = isLooseInteger(k, raw)
	case kindFloat4, kindFloat8:
		ok = isLooseFloat(k, raw)
	case kindNumeric:
		ok = isNumeric(raw)
	case kindTimestamp, kindTimestamptz:
		if out, ok = appendPostgresTime(dst, raw, k == kindTimestamptz); ok {
			return out[len(dst):len(out):len(out)], out, nil
		}
		ok = isLooseTime(raw)
	case kindBytea:
		if len(raw) == 0 || raw[0] != '\\' {
			return appendByteaText(dst, raw)
		}
		ok = isHex(raw)
	}
	if !ok {
		return nil, dst[:start], ErrValue
	}
	return raw, dst, nil
}

// appendByteaText turns base64 into the hex format, in place at the end of dst.
func appendByteaText(dst, raw []byte) (text, out []byte, err error) {
	for _, c := range raw {
		if c == '\n' || c == '\r' { // DecodedLen's package skips them
			return nil, dst, ErrValue
		}
	}
	start := len(dst)
	dst = append(dst, '\\', 'x')
	n := strictBase64.DecodedLen(len(raw))
	dst = grow(dst, 2*n)
	// The bytes go to the end of the room, so that the hex digits written from
	// its start on never overtake them.
	room := dst[start+2 : start+2+2*n]
	m, err := strictBase64.Decode(room[n:], raw)
	if err != nil {
		return nil, dst[:start], ErrValue
	}
	hex.Encode(room, room[n:n+m])
	dst = dst[:start+2+2*m]
	return dst[start:len(dst):len(dst)], dst, nil
}

// grow makes room for n more bytes after b.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(b, make([]byte, n)...)[:len(b)]
}
