package schematest

import (
	"fmt"
	"math/rand/v2"

	"cdc/schema"
)

// keyTypes are the types that a generated key has: their generators give enough
// different values.
var keyTypes = []string{"bigint", "integer", "uuid", "text", "timestamp with time zone"}

var columnNames = []string{"plain", "CamelCase", "with space", `quo"te`, `back\slash`, "ünï", "comma,", "select", "tab\t"}

// Table returns a random table with a key of one or two columns and up to eight
// others, some of them arrays, with gaps in its attnums.
func Table(r *rand.Rand) *schema.Table {
	t := schema.Table{
		Source: schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
		Schema: "public", Name: fmt.Sprintf("t%d", r.IntN(1000)), Version: int64(r.IntN(100)),
	}
	n := 2 + r.IntN(9)
	att := int16(0)
	for i := range n {
		att += 1 + int16(r.IntN(3))
		name := fmt.Sprintf("%s_%d", columnNames[r.IntN(len(columnNames))], i)
		typ := Types[r.IntN(len(Types))]
		if r.IntN(3) == 0 {
			typ += "[]"
		}
		t.Columns = append(t.Columns, schema.Column{Name: name, Type: typ, AttNum: att})
	}
	for _, k := range r.Perm(n)[:1+r.IntN(2)] {
		t.Key = append(t.Key, k)
		t.Columns[k].Type = keyTypes[r.IntN(len(keyTypes))]
	}
	table, err := schema.NewTable(t)
	if err != nil {
		panic(err) // the generator's own mistake
	}
	return table
}

// Row returns a random row of t; only columns outside of the key are null.
func Row(r *rand.Rand, t *schema.Table) schema.Row {
	row := make(schema.Row, len(t.Columns))
	for i, c := range t.Columns {
		if r.IntN(8) > 0 {
			row[i] = schema.Value{State: schema.Text, Text: Text(r, c.Type)}
		}
	}
	for _, k := range t.Key {
		row[k] = schema.Value{State: schema.Text, Text: Text(r, t.Columns[k].Type)}
	}
	return row
}

// Change returns a random change of t at the Position, of any op and with any of
// the optional parts: a whole old row, a previous key, unchanged columns, a
// snapshot block.
func Change(r *rand.Rand, t *schema.Table, p schema.Position) *schema.Change {
	row := Row(r, t)
	c := &schema.Change{
		Position: p, Table: t, Key: t.KeyOf(nil, row), XID: 1 + r.Uint64N(1<<40),
		CommitTime: schema.Micros(r.Int64N(4e15)), ReadTime: schema.Micros(r.Int64N(4e15)),
	}
	switch r.IntN(4) {
	case 0:
		c.Op, c.After = schema.Create, row
		if r.IntN(3) == 0 {
			c.PreviousKey = t.KeyOf(nil, Row(r, t))
		}
	case 1:
		c.Op, c.After = schema.Update, row
		if r.IntN(2) == 0 {
			c.Before = Row(r, t)
		}
		c.RowGone = leaveUnchanged(r, c) && r.IntN(2) == 0
	case 2:
		c.Op = schema.Delete
		if r.IntN(2) == 0 {
			c.Before = row
		}
		if r.IntN(3) == 0 {
			c.XID, c.Snapshot = 0, snapshot(r)
		}
	case 3:
		c.Op, c.After, c.XID, c.Snapshot = schema.Read, row, 0, snapshot(r)
	}
	return c
}

// leaveUnchanged makes some of the values that aren't in the key unchanged.
func leaveUnchanged(r *rand.Rand, c *schema.Change) (some bool) {
	isKey := make(map[int]bool)
	for _, k := range c.Table.Key {
		isKey[k] = true
	}
	for i := range c.After {
		if !isKey[i] && r.IntN(4) == 0 {
			c.After[i] = schema.Value{State: schema.Unchanged}
			some = true
		}
	}
	return some
}

func snapshot(r *rand.Rand) *schema.Snapshot {
	parts := 1 + r.Int32N(9)
	return &schema.Snapshot{
		Plan: fmt.Sprintf("plan-%d", r.IntN(5)), Chunk: r.Int32N(100), Attempt: r.Int64(),
		Part: r.Int32N(parts), Parts: parts, Floor: Position(r), AsOf: schema.Micros(r.Int64N(4e15)),
	}
}

// Position returns a random Position.
func Position(r *rand.Rand) schema.Position {
	return schema.Position{Epoch: r.Uint32(), CommitLSN: schema.LSN(r.Uint64()), ChangeLSN: schema.LSN(r.Uint64()), Index: r.Uint32()}
}
