package schema

import (
	"fmt"
	"strconv"
)

// Encoder appends message bodies. The zero value is ready; it isn't safe for
// concurrent use (it holds scratch space). It allocates nothing a row.
//
// What can't be put on the wire is an error, and dst comes back as it was:
// ErrValue for a value that isn't of its column's type, ErrUTF8 for text that
// isn't UTF-8, ErrField for a Change that contradicts itself.
type Encoder struct {
	// Placeholder, if not empty, stands in `after` for the value of an unchanged
	// column, for consumers that read an absent column as null. Such a column is
	// in `unchanged` all the same.
	Placeholder string

	bytes   []byte // a bytea in binary
	element []byte // one array element

	batch batchState
}

// AppendChange appends the complete body of a one-change message, which is also
// the first line (without its newline) of a batch.
func (e *Encoder) AppendChange(dst []byte, c *Change) ([]byte, error) {
	e.batch = batchState{}
	out, err := e.appendLine(dst, c, false)
	if err != nil {
		return dst, err
	}
	e.batch.describe(c)
	return out, nil
}

// appendLine appends one change: complete, or what a later line of a batch holds.
func (e *Encoder) appendLine(dst []byte, c *Change, later bool) ([]byte, error) {
	if err := checkChange(c); err != nil {
		return dst, fmt.Errorf("encode change of %s at %s: %w", tableName(c.Table), c.Position, err)
	}
	p := c.Table.plan
	dst, err := e.appendRows(dst, c)
	if err != nil {
		return dst, fmt.Errorf("encode change of %s at %s: %w", c.Table, c.Position, err)
	}
	dst = appendSource(dst, c, later)
	dst = append(dst, `},"op":"`...)
	dst = append(dst, byte(c.Op))
	dst = append(dst, `","ts_ms":`...)
	dst = strconv.AppendInt(dst, c.ReadTime.Millis(), 10)
	dst = append(dst, `,"cdc":{"position":"`...)
	dst = append(c.Position.Append(dst), '"')
	if dst, err = e.appendKeys(dst, c); err != nil {
		return dst, fmt.Errorf("encode change of %s at %s: %w", c.Table, c.Position, err)
	}
	if !later || !e.batch.covers(c) {
		dst = e.appendShape(append(dst, ','), c)
	}
	if !later {
		dst = append(dst, p.version...)
	}
	dst = appendUnchanged(dst, c)
	if c.XID != 0 {
		dst = append(dst, `,"xid":`...)
		dst = strconv.AppendUint(dst, c.XID, 10)
	}
	dst = append(dst, `,"commit_time":"`...)
	dst = append(c.CommitTime.Append(dst), '"')
	if c.Snapshot != nil {
		if dst, err = appendSnapshot(dst, c.Snapshot); err != nil {
			return dst, fmt.Errorf("encode change of %s at %s: %w", c.Table, c.Position, err)
		}
	}
	if c.RowGone {
		dst = append(dst, `,"row_gone":true`...)
	}
	return append(dst, "}}"...), nil
}

// appendRows appends before and after.
func (e *Encoder) appendRows(dst []byte, c *Change) (_ []byte, err error) {
	dst = append(dst, `{"before":`...)
	switch {
	case c.Before != nil:
		dst, err = e.appendRow(dst, c.Table, c.Before, "")
	case c.Op == Delete:
		dst, err = e.appendKeyRow(dst, c.Table, c.Key)
	default:
		dst = append(dst, "null"...)
	}
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"after":`...)
	if c.After == nil {
		return append(dst, "null,"...), nil
	}
	dst, err = e.appendRow(dst, c.Table, c.After, e.Placeholder)
	return append(dst, ','), err
}

// appendRow appends a row as an object. An unchanged value is left out, or is
// the placeholder.
func (e *Encoder) appendRow(dst []byte, t *Table, row Row, placeholder string) (_ []byte, err error) {
	open := byte('{')
	for i := range row {
		v, col := &row[i], &t.plan.columns[i]
		if v.State == Unchanged && len(placeholder) == 0 {
			continue
		}
		dst = append(dst, open)
		open = ','
		dst = append(dst, col.member...)
		switch v.State {
		case Text:
			dst, err = e.appendValue(dst, col.codec, v.Text)
		case Null:
			dst = append(dst, "null"...)
		default:
			dst, err = appendString(dst, placeholder)
		}
		if err != nil {
			return dst, columnError(t, i, err)
		}
	}
	if open == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}'), nil
}

// appendKeyRow appends the key as a row, in the order of AttNum.
func (e *Encoder) appendKeyRow(dst []byte, t *Table, key Row) (_ []byte, err error) {
	open := byte('{')
	for _, column := range t.plan.keyFirst {
		for i, k := range t.Key {
			if k != column {
				continue
			}
			dst = append(dst, open)
			open = ','
			dst = append(dst, t.plan.columns[k].member...)
			if dst, err = e.appendValue(dst, t.plan.columns[k].codec, key[i].Text); err != nil {
				return dst, columnError(t, k, err)
			}
		}
	}
	return append(dst, '}'), nil
}

func (e *Encoder) appendKeys(dst []byte, c *Change) (_ []byte, err error) {
	if c.Key != nil {
		dst = append(dst, `,"key":`...)
		if dst, err = e.appendKey(dst, c.Table, c.Key); err != nil {
			return dst, err
		}
	}
	if c.PreviousKey != nil {
		dst = append(dst, `,"previous_key":`...)
		dst, err = e.appendKey(dst, c.Table, c.PreviousKey)
	}
	return dst, err
}

// appendKey appends a key as an object, in the order of the index.
func (e *Encoder) appendKey(dst []byte, t *Table, key Row) (_ []byte, err error) {
	open := byte('{')
	for i, k := range t.Key {
		dst = append(dst, open)
		open = ','
		dst = append(dst, t.plan.columns[k].member...)
		if dst, err = e.appendValue(dst, t.plan.columns[k].codec, key[i].Text); err != nil {
			return dst, columnError(t, k, err)
		}
	}
	return append(dst, '}'), nil
}

func columnError(t *Table, i int, err error) error {
	return fmt.Errorf("column %q of type %s: %w", t.Columns[i].Name, t.Columns[i].Type, err)
}
