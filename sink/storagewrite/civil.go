package storagewrite

import "google.golang.org/protobuf/encoding/protowire"

// Civil times in Postgres' ISO form. BigQuery's types hold the years 0001 to
// 9999 (https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types).

func appendDate(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	days, rest, code := parseDate(b)
	if code == "" && len(rest) > 0 {
		code = trailing(rest)
	}
	if code != "" {
		return dst, code
	}
	dst = append(dst, tag...)
	return protowire.AppendVarint(dst, uint64(days)), ""
}

func appendDateTime(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	_, rest, code := parseDate(b)
	if code != "" {
		return dst, code
	}
	if len(rest) == 0 || rest[0] != ' ' {
		return dst, InvalidValue
	}
	if _, rest, code = parseTime(rest[1:]); code == "" && len(rest) > 0 {
		code = trailing(rest)
	}
	if code != "" {
		return dst, code
	}
	return appendText(nil, dst, tag, b)
}

func appendTime(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	micros, rest, code := parseTime(b)
	switch {
	case code != "":
		return dst, code
	case len(rest) > 0:
		return dst, InvalidValue
	case micros >= microsPerDay:
		return dst, Time24
	}
	return appendText(nil, dst, tag, b)
}

func appendTimestamp(_ *encoder, dst, tag, b []byte) ([]byte, Code) {
	days, rest, code := parseDate(b)
	if code != "" {
		return dst, code
	}
	if len(rest) == 0 || rest[0] != ' ' {
		return dst, InvalidValue
	}
	micros, rest, code := parseTime(rest[1:])
	if code != "" {
		return dst, code
	}
	offset, rest, code := parseOffset(rest)
	if code == "" && len(rest) > 0 {
		code = trailing(rest)
	}
	if code != "" {
		return dst, code
	}
	at := days*microsPerDay + micros - offset
	if at < minTimestamp || at > maxTimestamp {
		return dst, DateRange
	}
	dst = append(dst, tag...)
	return protowire.AppendVarint(dst, uint64(at)), ""
}

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 24 * 3600 * microsPerSecond
	minTimestamp    = -719162 * microsPerDay   // 0001-01-01
	maxTimestamp    = 2932897*microsPerDay - 1 // 9999-12-31 23:59:59.999999
)

// trailing says what text after a complete date means.
func trailing(rest []byte) Code {
	if string(rest) == " BC" {
		return DateRange
	}
	return InvalidValue
}

// parseDate parses YYYY-MM-DD into days since 1970-01-01 and returns the rest.
func parseDate(b []byte) (days int64, rest []byte, code Code) {
	if s := string(b); s == "infinity" || s == "-infinity" {
		return 0, nil, DateInfinity
	}
	n := digitsIn(b)
	if n > 4 && n < 8 {
		return 0, nil, DateRange
	}
	if n != 4 || len(b) < 10 || b[4] != '-' || b[7] != '-' || digitsIn(b[5:7]) != 2 || digitsIn(b[8:10]) != 2 {
		return 0, nil, InvalidValue
	}
	year, month, day := two(b)*100+two(b[2:]), two(b[5:]), two(b[8:])
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, nil, InvalidValue
	}
	return daysSinceEpoch(year, month, day), b[10:], ""
}

func two(b []byte) int64 { return int64(b[0]-'0')*10 + int64(b[1]-'0') }

func daysIn(year, month int64) int64 {
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

// daysSinceEpoch counts days of the proleptic Gregorian calendar, with years
// that begin in March so that the leap day comes last.
func daysSinceEpoch(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}

// parseTime parses HH:MM:SS[.ffffff] into microseconds; 24:00:00 is a value.
func parseTime(b []byte) (micros int64, rest []byte, code Code) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' || digitsIn(b[:2]) != 2 || digitsIn(b[3:5]) != 2 || digitsIn(b[6:8]) != 2 {
		return 0, nil, InvalidValue
	}
	h, m, s := two(b), two(b[3:]), two(b[6:])
	micros = ((h*60+m)*60 + s) * microsPerSecond
	rest = b[8:]
	if len(rest) > 0 && rest[0] == '.' {
		n := digitsIn(rest[1:])
		if n == 0 || n > 6 {
			return 0, nil, InvalidValue
		}
		fraction := int64(0)
		for i := 1; i <= 6; i++ {
			fraction *= 10
			if i <= n {
				fraction += int64(rest[i] - '0')
			}
		}
		micros += fraction
		rest = rest[1+n:]
	}
	if m > 59 || s > 59 || micros > microsPerDay {
		return 0, nil, InvalidValue
	}
	return micros, rest, ""
}

// parseOffset parses +HH[:MM[:SS]] into microseconds east of UTC.
func parseOffset(b []byte) (micros int64, rest []byte, code Code) {
	if len(b) < 3 || (b[0] != '+' && b[0] != '-') || digitsIn(b[1:3]) != 2 {
		return 0, nil, InvalidValue
	}
	seconds := two(b[1:]) * 3600
	rest = b[3:]
	for unit := int64(60); unit > 0 && len(rest) >= 3 && rest[0] == ':' && digitsIn(rest[1:3]) == 2; unit /= 60 {
		seconds += two(rest[1:]) * unit
		rest = rest[3:]
	}
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds * microsPerSecond, rest, ""
}
