package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes at a time: a set high bit in the result marks a byte that a JSON
// string can't hold as it is. Only the lowest mark is exact, which is the one
// that is used.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

func markSpecial(w uint64) uint64 {
	quote := w ^ '"'*lowBits
	slash := w ^ '\\'*lowBits
	return ((w-0x20*lowBits)&^w | (quote-lowBits)&^quote | (slash-lowBits)&^slash) & highBits
}

// plainPrefix returns how many bytes at the start of s are ASCII and need no
// escape in a JSON string.
func plainPrefix[T ~string | ~[]byte](s T) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		if m := markSpecial(w) | w&highBits; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// stringEnd returns the index in data, from i on, of the first byte that ends a
// run of plain string bytes: a quote, a backslash or a control character.
func stringEnd(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		if m := markSpecial(binary.LittleEndian.Uint64(data[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

// appendString appends s as a JSON string. Only what RFC 8259 demands is
// escaped. It returns ErrUTF8 if s isn't UTF-8.
func appendString[T ~string | ~[]byte](dst []byte, s T) ([]byte, error) {
	dst = append(dst, '"')
	for {
		n := plainPrefix(s)
		dst = append(dst, s[:n]...)
		s = s[n:]
		if len(s) == 0 {
			return append(dst, '"'), nil
		}
		if s[0] < utf8.RuneSelf {
			dst = appendEscape(dst, s[0])
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
		if r == utf8.RuneError && size == 1 {
			return dst, ErrUTF8
		}
		dst = append(dst, s[:size]...)
		s = s[size:]
	}
}

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	default:
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xF])
	}
}

// appendUnescaped appends the text of the JSON string whose inside is raw. The
// scanner has checked its escapes.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, n, _ := escapedRune(raw[i-1:])
			dst = utf8.AppendRune(dst, r)
			i += n - 2
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}
