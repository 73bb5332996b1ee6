package schema_test

import (
	"errors"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// With a placeholder all lines have the same members: only `unchanged` tells which
// of them hold values.
func TestPlaceholdersAreToldApart(t *testing.T) {
	const placeholder = "?"
	e := schema.Encoder{Placeholder: placeholder}
	var body []byte
	var list []*schema.Change
	for i, column := range []int{5, 6, 6, 5} { // email, note
		c := schematest.TenColumns()
		c.Op, c.Position.Index, c.After[column] = schema.Update, uint32(i), schema.Value{State: schema.Unchanged}
		list = append(list, c)
		var err error
		if i == 0 {
			body, err = e.AppendChange(body, c)
		} else {
			body, err = e.AppendNext(body, c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range decode(t, &schema.Message{Attributes: schematest.BatchAttributes(list), Data: body}) {
		want := string(schematest.AppendRow(nil, list[i].After))
		if string(schematest.AppendRow(nil, got.After)) != want {
			t.Errorf("line %d: %v", i+1, got.After)
		}
	}
}

// Two clusters with the same tables, as after a failover to a restored one.
func TestSourcesAreToldApart(t *testing.T) {
	var d schema.Decoder
	for _, id := range []string{"7300000000000000001", "7300000000000000002", "7300000000000000001"} {
		m := encode(t, schematest.TenColumns())
		m.Attributes.SourceID = id
		var c schema.Change
		if err := d.Changes(&m.Attributes, m.Data); err != nil || !d.Next(&c) {
			t.Fatal(err, d.Err())
		}
		if got := c.Table.Source.SystemID; got != id {
			t.Errorf("source_id %s, want %s", got, id)
		}
	}
}

// reads is snapshot rows in the parts that are named, in Position order.
func reads(parts ...int32) []*schema.Change {
	var list []*schema.Change
	for i, n := range parts {
		c := schematest.TenColumns()
		c.Op, c.XID, c.Position.Index = schema.Read, 0, uint32(i)
		c.Snapshot = &schema.Snapshot{Plan: "p", Part: n, Parts: 9, Floor: schema.Position{Epoch: 1}, AsOf: c.CommitTime}
		list = append(list, c)
	}
	return list
}

func TestSnapshotBlocksOfABatch(t *testing.T) {
	roundTrip(t, reads(0, 0, 1, 1, 0, 8, 8)...)
}

func TestSnapshotBlockIsStrict(t *testing.T) {
	for _, test := range []struct {
		old, new string
		want     error
	}{
		{`"chunk":0,`, ``, schema.ErrField},
		{`"plan":"p",`, ``, schema.ErrField},
		{`"chunk":0,`, `"chunk":0,"chunk":0,`, schema.ErrDuplicate},
		{`"chunk":0,`, `"chunk":0,"x":0,`, schema.ErrUnknown},
		{`"chunk":0,`, `"chunk":-1,`, schema.ErrField},
		{`"chunk":0,`, `"chunk":2147483648,`, schema.ErrField},
		{`"chunk":0,`, `"chunk":"0",`, schema.ErrField},
		{`"attempt":0,`, `"attempt":0.5,`, schema.ErrField},
		{`"part":0,`, `"part":9,`, schema.ErrField},
		{`"plan":"p"`, `"plan":"` + strings.Repeat("p", schema.MaxPlanBytes+1) + `"`, schema.ErrField},
		{`"plan":"p"`, `"plan":"` + strings.Repeat(`\u0070`, schema.MaxPlanBytes) + `"`, nil},
		{`"plan":"p"`, `"plan":"` + strings.Repeat(`\u0070`, schema.MaxPlanBytes+1) + `"`, schema.ErrField},
		{`"as_of":"2026`, `"as_of":"26`, schema.ErrField},
		{`"floor":"0`, `"floor":"`, schema.ErrField},
		{`"snapshot":{`, `"snapshot":null,"x":{`, schema.ErrField},
	} {
		m := encode(t, reads(0)...)
		data := strings.Replace(string(m.Data), test.old, test.new, 1)
		if data == string(m.Data) {
			t.Fatalf("no %s in %s", test.old, data)
		}
		m.Data = []byte(data)
		if err := read(m); !errors.Is(err, test.want) {
			t.Errorf("%s → %.60s: %v, want %v", test.old, test.new, err, test.want)
		}
	}
}
