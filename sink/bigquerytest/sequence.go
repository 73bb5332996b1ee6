package bigquerytest

import (
	"cmp"
	"errors"
	"fmt"
)

// sequence is a parsed _CHANGE_SEQUENCE_NUMBER. Missing sections are zero.
type sequence [4]uint64

var errSequence = errors.New("not 1 to 4 sections of 1 to 16 hexadecimal digits separated by '/'")

// parseSequence reads one to four sections of one to sixteen hexadecimal
// digits of either case, separated by slashes.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#manage_custom_ordering
func parseSequence(b []byte) (sequence, error) {
	var s sequence
	section, digits := 0, 0
	for _, c := range b {
		if c == '/' {
			if digits == 0 || section == len(s)-1 {
				return sequence{}, errSequence
			}
			section, digits = section+1, 0
			continue
		}
		d, ok := hexDigit(c)
		if !ok || digits == 16 {
			return sequence{}, errSequence
		}
		s[section] = s[section]<<4 | uint64(d)
		digits++
	}
	if digits == 0 {
		return sequence{}, errSequence
	}
	return s, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// compare orders section by section as unsigned numbers.
func (s sequence) compare(o sequence) int {
	for i := range s {
		if c := cmp.Compare(s[i], o[i]); c != 0 {
			return c
		}
	}
	return 0
}

// String writes zero-padded sections of upper-case digits, as wide as those of
// a Position.
func (s sequence) String() string {
	return fmt.Sprintf("%08X/%016X/%016X/%08X", s[0], s[1], s[2], s[3])
}
