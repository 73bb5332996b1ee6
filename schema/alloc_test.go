package schema_test

import (
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// variants are changes of both fixtures with each of the optional parts.
func variants() map[string]*schema.Change {
	list := map[string]*schema.Change{"ten columns": schematest.TenColumns(), "every type": schematest.EveryType()}
	every := func(edit func(*schema.Change)) *schema.Change {
		c := schematest.EveryType()
		edit(c)
		return c
	}
	list["unchanged"] = every(func(c *schema.Change) {
		c.Op, c.After[10], c.RowGone = schema.Update, schema.Value{State: schema.Unchanged}, true
	})
	list["full update"] = every(func(c *schema.Change) { c.Op, c.Before = schema.Update, schematest.EveryType().After })
	list["delete"] = every(func(c *schema.Change) { c.Op, c.After = schema.Delete, nil })
	list["key change"] = every(func(c *schema.Change) { c.PreviousKey = keyRow("1") })
	list["read"] = every(func(c *schema.Change) {
		c.Op, c.XID, c.Snapshot = schema.Read, 0, &schema.Snapshot{Plan: "p", Parts: 1, Floor: c.Position, AsOf: c.CommitTime}
	})
	return list
}

func TestAllocsOfOneChange(t *testing.T) {
	for name, c := range variants() {
		var e schema.Encoder
		m := encode(t, c)
		var err error
		if n := testing.AllocsPerRun(100, func() { m.Data, err = e.AppendChange(m.Data[:0], c) }); n != 0 || err != nil {
			t.Errorf("%s: encode: %v allocations, %v", name, n, err)
		}
		var d schema.Decoder
		var got schema.Change
		if n := testing.AllocsPerRun(100, func() {
			if d.Changes(&m.Attributes, m.Data) != nil || !d.Next(&got) || d.Next(&got) || d.Err() != nil {
				t.Fatal(d.Err())
			}
		}); n != 0 {
			t.Errorf("%s: decode: %v allocations", name, n)
		}
	}
}

func TestAllocsOfABatch(t *testing.T) {
	list := fixtureBatch(schematest.EveryType(), 100)
	m := encode(t, list...)
	var e schema.Encoder
	var err error
	if n := testing.AllocsPerRun(20, func() {
		m.Data, err = e.AppendChange(m.Data[:0], list[0])
		for _, c := range list[1:] {
			m.Data, err = e.AppendNext(m.Data, c)
		}
	}); n != 0 || err != nil {
		t.Errorf("encode: %v allocations, %v", n, err)
	}
	var d schema.Decoder
	var got schema.Change
	if n := testing.AllocsPerRun(20, func() {
		if d.Changes(&m.Attributes, m.Data) != nil {
			t.Fatal(d.Err())
		}
		for d.Next(&got) {
		}
		if d.Err() != nil {
			t.Fatal(d.Err())
		}
	}); n != 0 {
		t.Errorf("decode: %v allocations", n)
	}
	// What is decoded can be encoded again without an allocation, too.
	decoded := decode(t, m)
	if n := testing.AllocsPerRun(20, func() {
		m.Data, err = e.AppendChange(m.Data[:0], decoded[0])
		for _, c := range decoded[1:] {
			m.Data, err = e.AppendNext(m.Data, c)
		}
	}); n != 0 || err != nil {
		t.Errorf("encode again: %v allocations, %v", n, err)
	}
}

// fixtureBatch returns n changes like c in Position order: every tenth is a
// delete, every tenth an update with an unchanged value.
func fixtureBatch(c *schema.Change, n int) []*schema.Change {
	list := make([]*schema.Change, n)
	for i := range list {
		list[i] = schematest.Clone(c)
		list[i].Position.Index = uint32(i)
		switch i % 10 {
		case 4:
			list[i].Op, list[i].After = schema.Delete, nil
		case 7:
			list[i].Op, list[i].After[6] = schema.Update, schema.Value{State: schema.Unchanged}
		}
	}
	return list
}
