package schema_test

import (
	"errors"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

func TestChangeRoundTrip(t *testing.T) {
	roundTrip(t, schematest.EveryType())
	roundTrip(t, schematest.TenColumns())
	r := seeded(t)
	for range 400 {
		roundTrip(t, schematest.Change(r, schematest.Table(r), schematest.Position(r)))
	}
}

func TestChangeWithoutKeyAndColumns(t *testing.T) {
	c := schematest.TenColumns()
	table := *c.Table
	table.Key = nil
	c.Table, _ = schema.NewTable(table)
	c.Key = nil
	roundTrip(t, c)
	table.Columns = []schema.Column{}
	c.Table, _ = schema.NewTable(table)
	c.After = schema.Row{}
	roundTrip(t, c)
}

func TestPlaceholder(t *testing.T) {
	c := one(t, "bytea", "")
	c.Op, c.After[1] = schema.Update, schema.Value{State: schema.Unchanged}
	e := schema.Encoder{Placeholder: "__debezium_unavailable_value"}
	body, err := e.AppendChange(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), `"after":{"id":1,"v":"__debezium_unavailable_value"}`) {
		t.Errorf("%s", body)
	}
	m := &schema.Message{Attributes: schematest.AttributesOf(c), Data: body}
	got := decode(t, m)
	if got[0].After[1].State != schema.Unchanged || got[0].After[1].Text != nil {
		t.Error("the placeholder came back as a value")
	}
	if again, _ := e.AppendChange(nil, got[0]); string(again) != string(body) {
		t.Errorf("%s", again)
	}
}

func TestUnchangedTextStaysHome(t *testing.T) {
	c := one(t, "text", "")
	c.Op, c.After[1] = schema.Update, schema.Value{State: schema.Unchanged, Text: []byte("a secret")}
	if m := encode(t, c); strings.Contains(string(m.Data), "secret") {
		t.Errorf("%s", m.Data)
	}
}

// part is the block of a snapshot row.
func part() *schema.Snapshot { return &schema.Snapshot{Plan: "p", Parts: 1} }

// keyless is t without its key.
func keyless(t *testing.T, table *schema.Table) *schema.Table {
	t.Helper()
	without := *table
	without.Key = nil
	made, err := schema.NewTable(without)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestEncodeRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*schema.Change)
		want error
	}{
		{"no table", func(c *schema.Change) { c.Table = nil }, schema.ErrField},
		{"a table made by hand", func(c *schema.Change) { c.Table = &schema.Table{Name: "x"} }, schema.ErrField},
		{"no position", func(c *schema.Change) { c.Position = schema.Position{} }, schema.ErrField},
		{"short row", func(c *schema.Change) { c.After = c.After[:1] }, schema.ErrField},
		{"no row", func(c *schema.Change) { c.After = nil }, schema.ErrField},
		{"no key", func(c *schema.Change) { c.Key = nil }, schema.ErrField},
		{"null key", func(c *schema.Change) { c.Key[0] = schema.Value{} }, schema.ErrField},
		{"another key", func(c *schema.Change) { c.Key[0] = schema.TextValue("2") }, schema.ErrField},
		{"op", func(c *schema.Change) { c.Op = schema.ControlOp }, schema.ErrField},
		{"delete with after", func(c *schema.Change) { c.Op = schema.Delete }, schema.ErrField},
		{"read without snapshot", func(c *schema.Change) { c.Op = schema.Read }, schema.ErrField},
		{"unchanged before", func(c *schema.Change) {
			c.Op, c.Before = schema.Update, schema.Row{schema.TextValue("1"), {State: schema.Unchanged}}
		}, schema.ErrField},
		{"short before", func(c *schema.Change) { c.Op, c.Before = schema.Update, c.After[:1] }, schema.ErrField},
		{"short previous key", func(c *schema.Change) { c.PreviousKey = schema.Row{} }, schema.ErrField},
		{"null previous key", func(c *schema.Change) { c.PreviousKey = schema.Row{{}} }, schema.ErrField},
		{"create with before", func(c *schema.Change) { c.Before = c.After }, schema.ErrField},
		{"update with snapshot", func(c *schema.Change) { c.Op, c.XID, c.Snapshot = schema.Update, 0, part() }, schema.ErrField},
		{"delete with previous key", func(c *schema.Change) { c.Op, c.After, c.PreviousKey = schema.Delete, nil, c.Key }, schema.ErrField},
		{"delete with row_gone", func(c *schema.Change) { c.Op, c.After, c.RowGone = schema.Delete, nil, true }, schema.ErrField},
		{"delete of nothing", func(c *schema.Change) { c.Op, c.After, c.Key, c.Table = schema.Delete, nil, nil, keyless(t, c.Table) }, schema.ErrField},
		{"key of a table without one", func(c *schema.Change) { c.Key, c.Table = schema.Row{}, keyless(t, c.Table) }, schema.ErrField},
		{"snapshot row with before", func(c *schema.Change) { c.Op, c.XID, c.Snapshot, c.Before = schema.Read, 0, part(), c.After }, schema.ErrField},
		{"snapshot row with previous key", func(c *schema.Change) { c.Op, c.XID, c.Snapshot, c.PreviousKey = schema.Read, 0, part(), c.Key }, schema.ErrField},
		{"plan", func(c *schema.Change) {
			c.Op, c.XID, c.Snapshot = schema.Read, 0, part()
			c.Snapshot.Plan = strings.Repeat("p", schema.MaxPlanBytes+1)
		}, schema.ErrField},
		{"chunk", func(c *schema.Change) {
			c.Op, c.XID, c.Snapshot = schema.Read, 0, &schema.Snapshot{Parts: 1, Chunk: -1}
		}, schema.ErrField},
		{"part is parts", func(c *schema.Change) { c.Op, c.XID, c.Snapshot = schema.Read, 0, &schema.Snapshot{Parts: 1, Part: 1} }, schema.ErrField},
		{"as_of", func(c *schema.Change) {
			c.Op, c.XID, c.Snapshot = schema.Read, 0, &schema.Snapshot{Parts: 1, AsOf: 1 << 62}
		}, schema.ErrField},
		{"ts_ms", func(c *schema.Change) { c.ReadTime = 1 << 62 }, schema.ErrField},
		{"row_gone without unchanged", func(c *schema.Change) { c.Op, c.RowGone = schema.Update, true }, schema.ErrField},
		{"unchanged in a snapshot row", func(c *schema.Change) {
			c.Op, c.XID, c.Snapshot = schema.Read, 0, part()
			c.After[1] = schema.Value{State: schema.Unchanged}
		}, schema.ErrField},
		{"snapshot row with xid", func(c *schema.Change) { c.Op, c.Snapshot = schema.Read, part() }, schema.ErrField},
		{"change without xid", func(c *schema.Change) { c.XID = 0 }, schema.ErrField},
		{"time", func(c *schema.Change) { c.CommitTime = 1 << 62 }, schema.ErrField},
		{"no parts", func(c *schema.Change) { c.Op, c.XID, c.Snapshot = schema.Read, 0, &schema.Snapshot{} }, schema.ErrField},
		{"UTF-8", func(c *schema.Change) { c.After[1] = schema.TextValue("secret\xff") }, schema.ErrUTF8},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := one(t, "text", "x")
			test.edit(c)
			var e schema.Encoder
			dst, err := e.AppendChange([]byte("before"), c)
			if !errors.Is(err, test.want) || string(dst) != "before" {
				t.Errorf("%q, %v; want %v", dst, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("a value in an error: %v", err)
			}
			if _, err := e.AppendNext(nil, c); !errors.Is(err, schema.ErrField) {
				t.Errorf("a line after a refused first one: %v", err)
			}
		})
	}
}
