package schematest

import (
	"encoding/binary"

	"cdc/schema"
)

// Key returns a text that names a row of t: the table and the canonical key.
func Key(t *schema.Table, key schema.Row) string {
	return string(schema.AppendKey(schema.AppendTableKey(nil, t), key))
}

// AppendRow appends a row in a form that is equal for equal rows only.
func AppendRow(dst []byte, row schema.Row) []byte {
	for _, v := range row {
		dst = append(dst, byte(v.State))
		dst = binary.AppendUvarint(dst, uint64(len(v.Text)))
		dst = append(dst, v.Text...)
	}
	return dst
}

// Clone returns a copy of c that shares nothing with it but the Table.
func Clone(c *schema.Change) *schema.Change {
	n := *c
	n.After, n.Before = cloneRow(c.After), cloneRow(c.Before)
	n.Key, n.PreviousKey = cloneRow(c.Key), cloneRow(c.PreviousKey)
	if c.Snapshot != nil {
		s := *c.Snapshot
		n.Snapshot = &s
	}
	return &n
}

func cloneRow(row schema.Row) schema.Row {
	if row == nil {
		return nil
	}
	n := make(schema.Row, len(row))
	for i, v := range row {
		n[i].State = v.State
		if v.State == schema.Text {
			n[i].Text = append([]byte{}, v.Text...)
		}
	}
	return n
}

// Normal returns c as it comes back from the wire: the time of reading cut to
// the millisecond, and a Delete without Before as one of a table that has only
// the key columns.
func Normal(c *schema.Change) *schema.Change {
	n := Clone(c)
	n.ReadTime = schema.Micros(c.ReadTime.Millis() * 1000)
	if c.Op != schema.Delete || c.Before != nil {
		return n
	}
	t := *c.Table
	t.Columns, t.Key = nil, make([]int, len(c.Table.Key))
	n.Before = schema.Row{}
	for i, col := range c.Table.Columns {
		for j, k := range c.Table.Key {
			if k == i {
				t.Key[j] = len(t.Columns)
				t.Columns = append(t.Columns, col)
				n.Before = append(n.Before, n.Key[j])
			}
		}
	}
	table, err := schema.NewTable(t)
	if err != nil {
		panic(err) // a part of a valid table is one
	}
	n.Table = table
	return n
}
