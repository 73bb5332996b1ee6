package schema

import "strconv"

// maxFloatBytes bounds what is parsed: Postgres writes at most 25 bytes and reads
// more, but no message has a reason to.
const maxFloatBytes = 400

// isFloat reports whether b, a JSON number, is in the range of k.
func isFloat(k kind, b []byte) bool {
	bits, short := 64, 280
	if k == kindFloat4 {
		bits, short = 32, 10
	}
	if len(b) <= 25 {
		// Within these bounds no number is out of range: at most 25 digits
		// before a small exponent.
		exp, ok := exponent(b)
		if ok && exp <= short {
			return true
		}
	}
	if len(b) > maxFloatBytes {
		return false
	}
	_, err := strconv.ParseFloat(string(b), bits)
	return err == nil
}

// exponent returns the absolute value of the exponent of a JSON number.
func exponent(b []byte) (int, bool) {
	for i, c := range b {
		if c|0x20 != 'e' {
			continue
		}
		i++
		if b[i] == '+' || b[i] == '-' {
			i++
		}
		n, ok := parseUint(b[i:])
		return int(min(n, 1000)), ok
	}
	return 0, true
}

// isLooseFloat reports whether b is a float that isn't a JSON number: NaN, the
// infinities, and what Postgres accepts but never writes.
func isLooseFloat(k kind, b []byte) bool {
	switch string(b) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	if len(b) > maxFloatBytes {
		return false
	}
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c != '+' && c != '-' && c|0x20 != 'e' {
			return false // ParseFloat knows 0x, _ and names; Postgres differs there
		}
	}
	bits := 64
	if k == kindFloat4 {
		bits = 32
	}
	_, err := strconv.ParseFloat(string(b), bits)
	return err == nil
}

// isJSONNumber reports whether all of b is one JSON number.
func isJSONNumber(b []byte) bool {
	s := scanner{data: b}
	_, err := s.number()
	return err == nil && s.pos == len(b)
}
