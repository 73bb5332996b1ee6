package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cdc/schema"
)

// What is exactly as large as a limit allows is taken; one more is refused, which
// TestDecodeRefuses and its like show.
func TestLimitsAreInclusive(t *testing.T) {
	m := encode(t, one(t, "text", ""))
	m = encode(t, one(t, "text", strings.Repeat("x", schema.MaxMessageBytes-len(m.Data))))
	if err := read(m); err != nil || len(m.Data) != schema.MaxMessageBytes {
		t.Errorf("%d bytes: %v", len(m.Data), err)
	}
	var d schema.Decoder
	a := m.Attributes
	if err := d.Attribute(&a, []byte(schema.AttrCount), fmt.Append(nil, schema.MaxChanges)); err != nil {
		t.Error(err)
	}
	a.Op, a.ContentType = schema.BatchOp, schema.ContentNDJSON
	if err := d.Changes(&a, m.Data); err != nil {
		t.Error(err)
	}
	if err := d.Attribute(&a, []byte(schema.AttrDatabase), []byte(strings.Repeat("x", 1024))); err != nil {
		t.Error(err)
	}
	keys := strings.Repeat(`{"a":1},`, schema.MaxChanges-1) + `{"a":1}`
	if _, err := schema.ParseRequest([]byte(`{"v":1,"id":"r","schema":"s","table":"t","reason":"x","keys":[` + keys + `]}`)); err != nil {
		t.Error(err)
	}
}

// A table of 10,000 columns goes both ways, each of its lists whole.
func TestMostColumns(t *testing.T) {
	c := one(t, "text", "x")
	table := *c.Table
	for i := 2; i < schema.MaxColumns; i++ {
		table.Columns = append(table.Columns, schema.Column{Name: fmt.Sprintf("c%d", i), Type: "text", AttNum: int16(i + 1)})
		c.After = append(c.After, schema.Value{})
	}
	made, err := schema.NewTable(table)
	if err != nil {
		t.Fatal(err)
	}
	c.Table = made
	roundTrip(t, c)
	c.Op = schema.Update
	for i := range c.After[1:] {
		c.After[1+i] = schema.Value{State: schema.Unchanged}
	}
	roundTrip(t, c)
	one := schema.Column{Name: "more", Type: "text", AttNum: schema.MaxColumns + 1}
	table.Columns = append(table.Columns, one)
	if _, err := schema.NewTable(table); !errors.Is(err, schema.ErrTooManyColumns) {
		t.Errorf("one more: %v", err)
	}
	// `unchanged` may name columns that aren't in `after`: it has its own bound, and
	// both together have one.
	for _, n := range []int{1, 1 + len(c.After)} {
		m := encode(t, c)
		m.Data = []byte(strings.Replace(string(m.Data), `"unchanged":[`, `"unchanged":[`+strings.Repeat(`"more",`, n), 1))
		if err := read(m); !errors.Is(err, schema.ErrTooManyColumns) {
			t.Errorf("%d more in unchanged: %v", n, err)
		}
	}
}

// Brackets are counted from the body's first one: 2 stand around a column's value.
func TestNestingIsExact(t *testing.T) {
	for brackets, want := range map[int]error{schema.MaxNesting - 2: schema.ErrValue, schema.MaxNesting - 1: schema.ErrNesting} {
		for _, pair := range []string{"[]", "{}"} {
			deep := strings.Repeat(pair[:1], brackets) + strings.Repeat(pair[1:], brackets)
			if pair == "{}" {
				deep = strings.Repeat(`{"a":`, brackets-1) + "{}" + strings.Repeat("}", brackets-1)
			}
			m := encode(t, one(t, "text", "x"))
			m.Data = []byte(strings.Replace(string(m.Data), `"v":"x"`, `"v":`+deep, 1))
			if err := read(m); !errors.Is(err, want) {
				t.Errorf("%d %s in a value: %v, want %v", brackets, pair, err, want)
			}
		}
	}
}
