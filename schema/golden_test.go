package schema_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"

	"github.com/google/go-cmp/cmp"
)

// wireExample is the batch of three lines that WIRE.md shows.
func wireExample(t testing.TB) []*schema.Change {
	t.Helper()
	table, err := schema.NewTable(schema.Table{
		Source: schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
		Schema: "public", Name: "items", Key: []int{0}, Version: 3,
		Columns: []schema.Column{
			{Name: "id", Type: "bigint", AttNum: 1},
			{Name: "price", Type: "numeric(10,2)", AttNum: 2},
			{Name: "sold_at", Type: "timestamp with time zone", AttNum: 4},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func(index uint32, op schema.Op, id string, after ...schema.Value) *schema.Change {
		return &schema.Change{
			Op: op, Table: table, Key: schema.Row{schema.TextValue(id)}, After: after,
			Position: schema.Position{Epoch: 1767323045, CommitLSN: 0x16B374D848, ChangeLSN: 0x16B374D000 + schema.LSN(index), Index: 0},
			XID:      4711, CommitTime: 1_767_323_045_123_456, ReadTime: 1_767_323_045_130_000,
		}
	}
	return []*schema.Change{
		change(0, schema.Create, "1", schema.TextValue("1"), schema.TextValue("9.90"), schema.Value{}),
		change(64, schema.Update, "1", schema.TextValue("1"), schema.TextValue("9.90"), schema.TextValue("2026-01-02 03:04:05.12+00")),
		change(128, schema.Delete, "2"),
	}
}

// examples are the messages of testdata, by file name.
func examples(t *testing.T) map[string]*schema.Message {
	c := wireExample(t)
	table := c[0].Table
	full := schematest.Clone(c[1])
	full.Before = c[0].After
	inserted := schematest.Clone(c[0])
	inserted.PreviousKey = schema.Row{schema.TextValue("2")}
	deleted := schematest.Clone(c[2])
	deleted.Position = inserted.Position
	inserted.Position.Index = 1
	read := schematest.Clone(c[0])
	read.Op, read.XID = schema.Read, 0
	read.Position = schema.Position{Epoch: 1767323045, CommitLSN: 0x16B3750000 - 1, ChangeLSN: 16401<<32 | 7, Index: 3}
	read.Snapshot = &schema.Snapshot{
		Plan: "p1", Chunk: 2, Attempt: 1767323045000001, Part: 0, Parts: 4,
		Floor: schema.Position{Epoch: 1767323045, CommitLSN: 0x16B3740000}, AsOf: 1_767_323_040_000_000,
	}
	gone := schematest.Clone(read)
	gone.Op, gone.After = schema.Delete, nil
	gone.Position.ChangeLSN = 16401<<32 | 0xFFFFFFFF
	gone.Position.Index = 0
	toast := schematest.Clone(c[1])
	toast.After[1] = schema.Value{State: schema.Unchanged}
	toast.RowGone = true
	fullDelete := schematest.Clone(c[2])
	fullDelete.Before = schema.Row{schema.TextValue("2"), schema.TextValue("5.00"), {}}

	deletedFirst := schematest.Clone(c[2])
	deletedFirst.Position = c[0].Position

	list := map[string]*schema.Message{
		"create": encode(t, c[0]), "update": encode(t, c[1]), "update_full": encode(t, full),
		"delete": encode(t, c[2]), "delete_full": encode(t, fullDelete),
		"key_change_delete": encode(t, deleted), "key_change_insert": encode(t, inserted),
		"read": encode(t, read), "key_gone": encode(t, gone), "row_gone": encode(t, toast),
		"batch": encode(t, c...), "batch_delete_first": encode(t, deletedFirst, c[1], c[2]),
		"every_type": encode(t, schematest.EveryType()),
	}
	var e schema.Encoder
	for _, k := range controls(table) {
		data, err := e.AppendControl(nil, k)
		if err != nil {
			t.Fatal(err)
		}
		list["control_"+string(k.Kind)] = &schema.Message{Attributes: controlAttributes(k), Data: data}
	}
	m := outbox()
	data, err := e.AppendLogical(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	list["outbox"] = &schema.Message{Attributes: outboxAttributes(m), Data: data}
	for name, r := range requests() {
		data, err := schema.AppendRequest(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		list["request_"+name] = &schema.Message{Attributes: requestAttributes(r), Data: data}
	}
	return list
}

// text is a message as testdata holds it: the attributes, an empty line, the body.
func text(m *schema.Message) []byte {
	var b bytes.Buffer
	m.Attributes.Each(func(name string, value []byte) { b.WriteString(name + ": " + string(value) + "\n") })
	b.WriteString("\n")
	b.Write(m.Data)
	b.WriteString("\n")
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	list := examples(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if list[strings.TrimSuffix(filepath.Base(f), ".txt")] == nil {
			t.Errorf("%s: no such example", f)
		}
	}
	for name, m := range list {
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, text(m), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(text(m))); diff != "" {
			t.Errorf("%s (-want +got; after a wanted change: go test ./schema -update):\n%s", file, diff)
		}
		decodeGolden(t, file, want)
	}
}

// decodeGolden reads a golden message back and encodes it again.
func decodeGolden(t *testing.T, file string, text []byte) {
	t.Helper()
	head, body, _ := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte("\n\n"))
	var d schema.Decoder
	var a schema.Attributes
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		if err := d.Attribute(&a, name, value); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	again, err := reencode(&d, &schema.Message{Attributes: a, Data: body})
	if err != nil || !bytes.Equal(again, body) {
		t.Errorf("%s: %v\n%s\n%s", file, err, body, again)
	}
}

// reencode decodes a message of any op and encodes it again.
func reencode(d *schema.Decoder, m *schema.Message) ([]byte, error) {
	var e schema.Encoder
	switch m.Attributes.Op {
	case schema.ControlOp:
		c, err := d.Control(&m.Attributes, m.Data)
		if err != nil {
			return nil, err
		}
		return e.AppendControl(nil, c)
	case schema.LogicalOp:
		l, err := d.Logical(&m.Attributes, m.Data)
		if err != nil {
			return nil, err
		}
		return e.AppendLogical(nil, l)
	case schema.RequestOp:
		r, err := schema.ParseRequest(m.Data)
		if err != nil {
			return nil, err
		}
		return schema.AppendRequest(nil, r)
	}
	if err := d.Changes(&m.Attributes, m.Data); err != nil {
		return nil, err
	}
	var body []byte
	var c schema.Change
	for n := 0; d.Next(&c); n++ {
		var err error
		if n == 0 {
			body, err = e.AppendChange(body, &c)
		} else {
			body, err = e.AppendNext(body, &c)
		}
		if err != nil {
			return nil, err
		}
	}
	return body, d.Err()
}
