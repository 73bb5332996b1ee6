package schema

import (
	"fmt"
	"slices"
)

// batchState is what the earlier lines of a batch hold for the later ones.
type batchState struct {
	first   *Table // the table of the first line
	table   *Table // the table whose columns were described last
	keyOnly bool   // only its key columns were

	// The last answer of covers that took a comparison.
	asked   *Table
	covered bool
}

// AppendNext appends a newline and a later line of a batch: c without what
// holds for the whole message. c has the table of the batch's first change. The
// line names types and attnums only for columns that no earlier line named: a
// row after a delete that carried nothing but its key.
func (e *Encoder) AppendNext(dst []byte, c *Change) ([]byte, error) {
	b := &e.batch
	if b.first == nil {
		return dst, fmt.Errorf("encode a batch's later line without a first: %w", ErrField)
	}
	if c.Table != b.first && c.Table != b.table && !sameTable(b.first, c.Table) {
		return dst, fmt.Errorf("encode a batch of %s: line of %s: %w", b.first, tableName(c.Table), ErrField)
	}
	out, err := e.appendLine(append(dst, '\n'), c, true)
	if err != nil {
		return dst, err
	}
	if !b.covers(c) {
		b.describe(c)
	}
	return out, nil
}

// sameTable reports whether a and b describe the same version of one table,
// though perhaps not all of its columns.
func sameTable(a, b *Table) bool {
	if b == nil || a.Source != b.Source || a.Schema != b.Schema || a.Name != b.Name || a.Version != b.Version {
		return false
	}
	return slices.EqualFunc(a.Key, b.Key, func(i, j int) bool { return a.Columns[i] == b.Columns[j] })
}

func isKeyOnly(c *Change) bool {
	return c.Op == Delete && c.Before == nil && len(c.Table.Key) < len(c.Table.Columns)
}

func (b *batchState) describe(c *Change) {
	*b = batchState{first: b.first, table: c.Table, keyOnly: isKeyOnly(c)}
	if b.first == nil {
		b.first = c.Table
	}
}

// covers reports whether the columns of c's line have been described.
func (b *batchState) covers(c *Change) bool {
	if isKeyOnly(c) {
		return true // sameTable: every line has the key
	}
	if c.Table == b.table {
		return !b.keyOnly
	}
	if c.Table != b.asked {
		b.asked, b.covered = c.Table, true
		for i := range c.Table.Columns {
			b.covered = b.covered && b.describes(&c.Table.Columns[i])
		}
	}
	return b.covered
}

func (b *batchState) describes(col *Column) bool {
	i, ok := slices.BinarySearchFunc(b.table.Columns, col.AttNum, func(c Column, n int16) int { return int(c.AttNum) - int(n) })
	return ok && b.table.Columns[i] == *col && (!b.keyOnly || slices.Contains(b.table.Key, i))
}
