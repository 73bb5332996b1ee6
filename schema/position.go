package schema

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LSN is a raw WAL address, a byte offset into the write-ahead log
// (https://www.postgresql.org/docs/current/datatype-pg-lsn.html).
type LSN uint64

// ParseLSN parses Postgres' text form of an LSN, such as 16/B374D848.
func ParseLSN(s string) (LSN, error) {
	hi, lo, ok := strings.Cut(s, "/")
	if !ok {
		return 0, fmt.Errorf("parse LSN %q: want two hexadecimal numbers joined by /", s)
	}
	h, err := strconv.ParseUint(hi, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("parse LSN %q: %w", s, err)
	}
	l, err := strconv.ParseUint(lo, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("parse LSN %q: %w", s, err)
	}
	return LSN(h<<32 | l), nil
}

// String returns Postgres' text form, such as 16/B374D848.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l)) }

// Position is where a change stands in the total order of all changes of a
// database. Positions are compared section by section as unsigned numbers.
//
// CommitLSN is the final_lsn of the transaction's BEGIN message, which strictly
// increases along the stream; ChangeLSN and Index name the change within its
// transaction (COPY gives many rows one LSN). Epoch grows when the lineage of
// the source breaks. The text form is a valid BigQuery _CHANGE_SEQUENCE_NUMBER
// (https://cloud.google.com/bigquery/docs/change-data-capture#manage_custom_ordering:
// at most four sections of at most 16 hexadecimal digits).
type Position struct {
	Epoch     uint32
	CommitLSN LSN
	ChangeLSN LSN
	Index     uint32
}

// PositionLen is the length in bytes of a Position's text form.
const PositionLen = 8 + 1 + 16 + 1 + 16 + 1 + 8

// MaxPosition is the highest Position there is.
var MaxPosition = Position{math.MaxUint32, math.MaxUint64, math.MaxUint64, math.MaxUint32}

// ErrPosition says that a text isn't a Position.
var ErrPosition = errors.New("not a position: want EEEEEEEE/CCCCCCCCCCCCCCCC/LLLLLLLLLLLLLLLL/IIIIIIII in upper-case hexadecimal digits")

// ParsePosition parses the text form strictly: every section has its full
// width and upper-case digits, so equal Positions have equal texts.
func ParsePosition[T ~string | ~[]byte](s T) (Position, error) {
	if len(s) != PositionLen || s[8] != '/' || s[25] != '/' || s[42] != '/' {
		return Position{}, ErrPosition
	}
	e, ok1 := parseHex(s, 0, 8)
	c, ok2 := parseHex(s, 9, 25)
	l, ok3 := parseHex(s, 26, 42)
	i, ok4 := parseHex(s, 43, 51)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return Position{}, ErrPosition
	}
	return Position{uint32(e), LSN(c), LSN(l), uint32(i)}, nil
}

func parseHex[T ~string | ~[]byte](s T, from, to int) (n uint64, ok bool) {
	for i := from; i < to; i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'A' <= c && c <= 'F':
			n = n<<4 | uint64(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// AppendText appends the text form, whose order as text is the order of Positions.
func (p Position) AppendText(dst []byte) ([]byte, error) { return p.Append(dst), nil }

// Append appends the text form; it is AppendText without an error.
func (p Position) Append(dst []byte) []byte {
	dst = appendHex(dst, uint64(p.Epoch), 8)
	dst = append(dst, '/')
	dst = appendHex(dst, uint64(p.CommitLSN), 16)
	dst = append(dst, '/')
	dst = appendHex(dst, uint64(p.ChangeLSN), 16)
	dst = append(dst, '/')
	return appendHex(dst, uint64(p.Index), 8)
}

func appendHex(dst []byte, n uint64, width int) []byte {
	const digits = "0123456789ABCDEF"
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		dst = append(dst, digits[n>>shift&0xF])
	}
	return dst
}

// String returns the text form.
func (p Position) String() string { return string(p.Append(make([]byte, 0, PositionLen))) }

// MarshalText implements encoding.TextMarshaler.
func (p Position) MarshalText() ([]byte, error) { return p.Append(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Position) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePosition(b)
	return err
}

// IsZero reports whether p is the zero Position, which is below every other.
func (p Position) IsZero() bool { return p == Position{} }

// Compare returns -1, 0 or +1 as p is below, equal to or above q.
func (p Position) Compare(q Position) int {
	switch {
	case p.Epoch != q.Epoch:
		return compare(p.Epoch, q.Epoch)
	case p.CommitLSN != q.CommitLSN:
		return compare(p.CommitLSN, q.CommitLSN)
	case p.ChangeLSN != q.ChangeLSN:
		return compare(p.ChangeLSN, q.ChangeLSN)
	default:
		return compare(p.Index, q.Index)
	}
}

// Less reports whether p is below q.
func (p Position) Less(q Position) bool { return p.Compare(q) < 0 }

func compare[T ~uint32 | ~uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}
