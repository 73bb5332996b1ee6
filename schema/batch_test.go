package schema_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// batch returns n random changes of one table, in Position order.
func batch(t testing.TB, n int) []*schema.Change {
	r := seeded(t)
	table := schematest.Table(r)
	list := make([]*schema.Change, n)
	for i := range list {
		list[i] = schematest.Change(r, table, schema.Position{Epoch: 1, CommitLSN: schema.LSN(i + 1)})
	}
	return list
}

func TestBatchRoundTrip(t *testing.T) {
	for range 30 {
		roundTrip(t, batch(t, 1+int(seeded(t).Uint64N(20)))...)
	}
}

func TestBatchLeavesOut(t *testing.T) {
	lines := strings.Split(string(encode(t, wireExample(t)...).Data), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		for _, field := range []string{`"types"`, `"attnums"`, `"schema_version"`, `"version"`, `"connector"`, `"db"`, `"name"`} {
			if strings.Contains(line, field) != (i == 0) {
				t.Errorf("line %d: %s", i+1, field)
			}
		}
	}
}

// A delete that carries nothing but its key doesn't describe the table, so the
// first whole row after it does.
func TestBatchStartsWithDelete(t *testing.T) {
	c := schematest.TenColumns()
	list := []*schema.Change{schematest.Clone(c), schematest.Clone(c), schematest.Clone(c), schematest.Clone(c)}
	for i, c := range list {
		c.Position.Index = uint32(i)
		if i%2 == 0 {
			c.Op, c.After = schema.Delete, nil
		}
	}
	roundTrip(t, list...)
	lines := strings.Split(string(encode(t, list...).Data), "\n")
	for i, want := range []bool{true, true, false, false} {
		if strings.Contains(lines[i], `"types"`) != want {
			t.Errorf("line %d: %s", i+1, lines[i])
		}
	}
	got := decode(t, encode(t, list...))
	if got[0].Table != got[2].Table || got[1].Table != got[3].Table {
		t.Error("lines of one shape have different Tables")
	}
	// A line cut out of a batch, as for the dead letter, explains itself again.
	for _, c := range got {
		roundTrip(t, c)
	}
}

func TestBatchOfAnotherTable(t *testing.T) {
	c, other := schematest.TenColumns(), schematest.EveryType()
	other.Position.Index = 1
	var e schema.Encoder
	body, err := e.AppendChange(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.AppendNext(body, other); !errors.Is(err, schema.ErrField) || len(got) != len(body) {
		t.Errorf("%d bytes, %v", len(got)-len(body), err)
	}
}

func TestTablesAreShared(t *testing.T) {
	var d schema.Decoder
	tables := map[*schema.Table]bool{}
	c := schematest.TenColumns()
	c.Op = schema.Update
	for i := range 8 {
		c.After[5].State, c.After[6].State = schema.State(1+i%2), schema.State(1+i/2%2)
		m := encode(t, c)
		if err := d.Changes(&m.Attributes, m.Data); err != nil {
			t.Fatal(err)
		}
		var got schema.Change
		if !d.Next(&got) {
			t.Fatal(d.Err())
		}
		tables[got.Table] = true
	}
	if len(tables) != 1 {
		t.Errorf("%d Tables for one table", len(tables))
	}
}

// Two readings of one decoder don't mix: the values of a message stay until the
// next call of Changes.
func TestValuesStayValid(t *testing.T) {
	list := batch(t, 50)
	m := encode(t, list...)
	var d schema.Decoder
	if err := d.Changes(&m.Attributes, m.Data); err != nil {
		t.Fatal(err)
	}
	var kept []schema.Change
	var c schema.Change
	for d.Next(&c) {
		kept = append(kept, c)
	}
	if d.Err() != nil || len(kept) != len(list) {
		t.Fatal(d.Err())
	}
	for i := range kept {
		want := schematest.Normal(list[i])
		if string(schematest.AppendRow(nil, kept[i].After)) != string(schematest.AppendRow(nil, want.After)) ||
			string(schematest.AppendRow(nil, kept[i].Before)) != string(schematest.AppendRow(nil, want.Before)) {
			t.Fatalf("change %d was overwritten", i)
		}
	}
	if !slices.EqualFunc(kept, list, func(k schema.Change, c *schema.Change) bool { return k.Position == c.Position }) {
		t.Error("positions")
	}
}
