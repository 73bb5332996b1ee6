package schema

// Times have two forms. Postgres (ISO datestyle, time zone UTC) writes
// `2026-01-02 03:04:05.12+00`, the wire `2026-01-02T03:04:05.120000Z`
// (https://www.rfc-editor.org/rfc/rfc3339) with exactly six digits. A timestamp
// without time zone has neither +00 nor Z. What can't be put that way (years
// outside 0001–9999, infinity) is Postgres text on both sides.

const (
	secondLen   = len("2026-01-02T03:04:05")
	wireTimeLen = len("2026-01-02T03:04:05.000000")
	microsecond = 1
	second      = 1_000_000 * microsecond
	day         = 24 * 3600 * second
)

// appendWireTime appends the wire form, without quotes, of Postgres' text. It
// returns false, with dst as it was, unless text is the canonical form.
func appendWireTime(dst, text []byte, zone bool) ([]byte, bool) {
	if zone {
		n := len(text) - len("+00")
		if n < secondLen || text[n] != '+' || text[n+1] != '0' || text[n+2] != '0' {
			return dst, false
		}
		text = text[:n]
	}
	if !isSecond(text, ' ') {
		return dst, false
	}
	frac := text[secondLen:]
	if len(frac) > 0 {
		if len(frac) == 1 || len(frac) > 7 || frac[0] != '.' || frac[len(frac)-1] == '0' || digits(frac, 1) != len(frac) {
			return dst, false
		}
		frac = frac[1:]
	}
	dst = append(dst, text[:10]...)
	dst = append(dst, 'T')
	dst = append(dst, text[11:secondLen]...)
	dst = append(dst, '.')
	dst = append(dst, frac...)
	dst = append(dst, "000000"[len(frac):]...)
	if zone {
		dst = append(dst, 'Z')
	}
	return dst, true
}

// appendPostgresTime is the way back.
func appendPostgresTime(dst, wire []byte, zone bool) ([]byte, bool) {
	if !isWireTime(wire, zone) {
		return dst, false
	}
	dst = append(dst, wire[:10]...)
	dst = append(dst, ' ')
	dst = append(dst, wire[11:secondLen]...)
	n := wireTimeLen
	for wire[n-1] == '0' {
		n--
	}
	if n > secondLen+1 {
		dst = append(dst, wire[secondLen:n]...)
	}
	if zone {
		dst = append(dst, "+00"...)
	}
	return dst, true
}

func isWireTime(wire []byte, zone bool) bool {
	if zone {
		if len(wire) != wireTimeLen+1 || wire[wireTimeLen] != 'Z' {
			return false
		}
		wire = wire[:wireTimeLen]
	}
	return len(wire) == wireTimeLen && wire[secondLen] == '.' && digits(wire, secondLen+1) == wireTimeLen && isSecond(wire, 'T')
}

// isSecond reports whether b starts with a date and a time of day in the years
// 0001–9999, joined by sep.
func isSecond(b []byte, sep byte) bool {
	if len(b) < secondLen || b[4] != '-' || b[7] != '-' || b[10] != sep || b[13] != ':' || b[16] != ':' {
		return false
	}
	y1, ok1 := two(b, 0)
	y2, ok2 := two(b, 2)
	month, ok3 := two(b, 5)
	d, ok4 := two(b, 8)
	hour, ok5 := two(b, 11)
	minute, ok6 := two(b, 14)
	sec, ok7 := two(b, 17)
	year := y1*100 + y2
	return ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 &&
		year >= 1 && month >= 1 && month <= 12 && d >= 1 && (d <= 28 || d <= daysIn(year, month)) &&
		hour <= 23 && minute <= 59 && sec <= 59
}

func two(b []byte, i int) (int, bool) {
	c, d := b[i]-'0', b[i+1]-'0'
	return int(c)*10 + int(d), c <= 9 && d <= 9
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 31
	}
}

// The range of times that have a wire form: 0001-01-01 to 9999-12-31.
const (
	minMicros Micros = -62_135_596_800 * second
	maxMicros Micros = 253_402_300_800*second - 1
)

// Append appends m in RFC 3339 form, UTC, with six digits. m must be in the
// years 0001–9999; others are cut to them.
func (m Micros) Append(dst []byte) []byte {
	m = max(minMicros, min(m, maxMicros))
	days := floorDiv(int64(m), day)
	rest := int64(m) - days*day
	y, mo, d := civil(days)
	sec := rest / second
	dst = appendDigits(dst, y, 4)
	dst = appendDigits(append(dst, '-'), mo, 2)
	dst = appendDigits(append(dst, '-'), d, 2)
	dst = appendDigits(append(dst, 'T'), int(sec/3600), 2)
	dst = appendDigits(append(dst, ':'), int(sec/60%60), 2)
	dst = appendDigits(append(dst, ':'), int(sec%60), 2)
	dst = appendDigits(append(dst, '.'), int(rest%second), 6)
	return append(dst, 'Z')
}

// ParseMicros parses exactly the form that Append writes.
func ParseMicros(b []byte) (Micros, error) {
	if !isWireTime(b, true) {
		return 0, ErrField
	}
	num := func(from, to int) (n int64) {
		for _, c := range b[from:to] {
			n = n*10 + int64(c-'0')
		}
		return n
	}
	days := daysFromCivil(num(0, 4), num(5, 7), num(8, 10))
	return Micros(days*day + (num(11, 13)*3600+num(14, 16)*60+num(17, 19))*second + num(20, 26)), nil
}

// ofMillis returns n milliseconds as Micros, or a time outside of the range.
func ofMillis(n int64) Micros {
	if n < int64(minMicros)/1000 || n > int64(maxMicros)/1000 {
		return maxMicros + 1
	}
	return Micros(n * 1000)
}

// inRange reports whether m has a wire form.
func (m Micros) inRange() bool { return minMicros <= m && m <= maxMicros }

// Millis returns m cut to the millisecond, as milliseconds since 1970.
func (m Micros) Millis() int64 { return floorDiv(int64(m), 1000) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func appendDigits(dst []byte, n, width int) []byte {
	dst = append(dst, "0000000"[:width]...)
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// civil turns days since 1970-01-01 into a date of the proleptic Gregorian
// calendar (https://howardhinnant.github.io/date_algorithms.html#civil_from_days).
func civil(days int64) (year, month, dayOfMonth int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d := doy - (153*mp+2)/5 + 1
	m, y := mp+3, yoe+era*400
	if m > 12 {
		m, y = m-12, y+1
	}
	return int(y), int(m), int(d)
}

func daysFromCivil(y, m, d int64) int64 {
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}
