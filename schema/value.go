package schema

import "time"

// State says which of its three states a Value is in.
type State uint8

// The states of a Value. A null is a null; an unchanged value is a TOASTed one
// that Postgres didn't send because the UPDATE left it alone: it is never a null.
const (
	Null State = iota
	Unchanged
	Text
)

// Value is one column's value: null, unchanged, or Postgres text as the type's
// output function writes it under the pinned session settings. Text aliases the
// buffer that it was read from and is valid as long as that is.
type Value struct {
	State State
	Text  []byte
}

// TextValue returns a Value that holds text s.
func TextValue(s string) Value { return Value{Text, []byte(s)} }

// Row is the values of a table's columns, in the order of Table.Columns; for a
// key, in the order of Table.Key.
type Row []Value

// Micros is a time in microseconds since 1970-01-01 00:00:00 UTC.
type Micros int64

// MicrosOf returns t as Micros, cut to the microsecond.
func MicrosOf(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time returns m as a time.Time in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }
