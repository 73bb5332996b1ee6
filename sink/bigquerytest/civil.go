package bigquerytest

import (
	"errors"
	"strings"
	"time"
)

// Ranges of the date and time types, years 0001 to 9999.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types
const (
	minDateDays        = -719162
	maxDateDays        = 2932896
	minTimestampMicros = -62135596800000000
	maxTimestampMicros = 253402300799999999
	dayMicros          = 24 * 60 * 60 * 1_000_000
)

var (
	errDateText     = errors.New("not a DATE literal")
	errDatetimeText = errors.New("not a DATETIME literal")
	errTimeText     = errors.New("not a TIME literal")
	errRange        = errors.New("out of range")
)

// parseDate reads YYYY-[M]M-[D]D and returns days since 1970-01-01.
func parseDate(b []byte) (int64, error) {
	days, rest, err := leadingDate(b)
	if err != nil || len(rest) > 0 {
		return 0, errDateText
	}
	return days, nil
}

// parseDatetime reads YYYY-[M]M-[D]D[( |T|t)[H]H:[M]M:[S]S[.F]] with up to six
// digits of F and returns microseconds since 1970-01-01T00:00:00.
func parseDatetime(b []byte) (int64, error) {
	days, rest, err := leadingDate(b)
	if err != nil {
		return 0, errDatetimeText
	}
	if len(rest) == 0 {
		return days * dayMicros, nil
	}
	if rest[0] != ' ' && rest[0] != 'T' && rest[0] != 't' {
		return 0, errDatetimeText
	}
	micros, err := parseTime(rest[1:])
	if err != nil {
		return 0, errDatetimeText
	}
	return days*dayMicros + micros, nil
}

// parseTime reads [H]H:[M]M:[S]S[.F] with up to six digits of F and returns
// microseconds since midnight. 24:00:00 is not a TIME.
func parseTime(b []byte) (int64, error) {
	h, b, ok := number(b, 1, 2)
	if !ok || h > 23 || len(b) == 0 || b[0] != ':' {
		return 0, errTimeText
	}
	m, b, ok := number(b[1:], 1, 2)
	if !ok || m > 59 || len(b) == 0 || b[0] != ':' {
		return 0, errTimeText
	}
	s, b, ok := number(b[1:], 1, 2)
	if !ok || s > 59 {
		return 0, errTimeText
	}
	micros := int64(0)
	if len(b) > 0 {
		if b[0] != '.' {
			return 0, errTimeText
		}
		digits := len(b) - 1
		f, rest, ok := number(b[1:], 0, 6)
		if !ok || len(rest) > 0 {
			return 0, errTimeText
		}
		for ; digits < 6; digits++ {
			f *= 10
		}
		micros = f
	}
	return ((h*60+m)*60+s)*1_000_000 + micros, nil
}

func leadingDate(b []byte) (days int64, rest []byte, err error) {
	y, b, ok := number(b, 4, 4)
	if !ok || y < 1 || len(b) == 0 || b[0] != '-' {
		return 0, nil, errDateText
	}
	m, b, ok := number(b[1:], 1, 2)
	if !ok || m < 1 || m > 12 || len(b) == 0 || b[0] != '-' {
		return 0, nil, errDateText
	}
	d, b, ok := number(b[1:], 1, 2)
	if !ok || d < 1 || d > daysIn(y, m) {
		return 0, nil, errDateText
	}
	return civilDays(y, m, d), b, nil
}

// number reads between least and most decimal digits.
func number(b []byte, least, most int) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && i < most && b[i] >= '0' && b[i] <= '9' {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i >= least
}

func daysIn(y, m int64) int64 {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDays counts days from 1970-01-01 in the proleptic Gregorian calendar.
func civilDays(y, m, d int64) int64 {
	if m <= 2 {
		y--
	}
	era := y / 400 // y ≥ 0 here
	yoe := y - era*400
	mp := (m + 9) % 12
	doy := (153*mp+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// packedTime reads the int64 form of a TIME (CivilTimeEncoder's
// encodePacked64TimeMicros) and returns microseconds since midnight.
func packedTime(v int64) (int64, error) {
	micros, v := v&0xFFFFF, v>>20
	s, m, h := v&0x3F, v>>6&0x3F, v>>12
	if micros > 999_999 || s > 59 || m > 59 || h < 0 || h > 23 {
		return 0, errRange
	}
	return ((h*60+m)*60+s)*1_000_000 + micros, nil
}

// packedDatetime reads the int64 form of a DATETIME (CivilTimeEncoder's
// encodePacked64DatetimeMicros) and returns microseconds since 1970-01-01.
func packedDatetime(v int64) (int64, error) {
	clock, err := packedTime(v & (1<<37 - 1))
	if err != nil {
		return 0, err
	}
	v >>= 37
	d, m, y := v&0x1F, v>>5&0xF, v>>9
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, errRange
	}
	return civilDays(y, m, d)*dayMicros + clock, nil
}

func dateText(days int64) string {
	return time.Unix(days*86400, 0).UTC().Format(time.DateOnly)
}

func datetimeText(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999")
}

func timeText(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("15:04:05.999999")
}

func timestampText(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// parseTimestamp reads a TIMESTAMP literal: a date, with an optional time and
// an optional zone of Z, UTC or ±hh:mm; UTC without one.
func parseTimestamp(text string) (int64, bool) {
	text = strings.Replace(strings.TrimSuffix(text, " UTC"), " ", "T", 1)
	for _, layout := range []string{
		"2006-01-02T15:04:05.999999Z07:00", "2006-01-02T15:04:05.999999-07", "2006-01-02T15:04:05.999999", "2006-01-02",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			n, err := within(t.UnixMicro(), minTimestampMicros, maxTimestampMicros)
			return n, err == nil
		}
	}
	return 0, false
}
