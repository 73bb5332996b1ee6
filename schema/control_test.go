package schema_test

import (
	"errors"
	"strings"
	"testing"

	"cdc/schema"

	"github.com/google/go-cmp/cmp"
)

// controls returns one control message of each kind.
func controls(table *schema.Table) []*schema.Control {
	p := schema.Position{Epoch: 1767323045, CommitLSN: 0x16B374D848, ChangeLSN: 0x16B374D000}
	base := func(kind schema.ControlKind) *schema.Control {
		return &schema.Control{Kind: kind, Position: p, Source: table.Source, Schema: table.Schema, Name: table.Name, ReadTime: 1_767_323_045_130_000}
	}
	resync, manifest, changed, stale := base(schema.ResyncStarted), base(schema.SnapshotComplete), base(schema.SchemaChanged), base(schema.RowStale)
	resync.Floor, resync.Plan = p, "p1"
	manifest.Plan, manifest.Revision, manifest.Chunks, manifest.Attempts, manifest.Rows = "p1", 2, 3, []int64{1, 2, 1767323045000001}, 12345
	changed.Table = table
	stale.Key = []schema.NamedValue{{Name: "id", Type: "bigint", Value: schema.TextValue("1")}, {Name: "day", Type: "date", Value: schema.TextValue("2026-01-02")}}
	stale.Reason = "oversize"
	epoch, beat := base(schema.EpochStarted), base(schema.Heartbeat)
	epoch.Schema, epoch.Name, epoch.StartLSN = "", "", 0x16B374D848
	beat.Schema, beat.Name, beat.Counter, beat.Time = "", "", 42, 1_767_323_045_123_456
	return []*schema.Control{base(schema.Truncated), resync, manifest, changed, stale, epoch, beat}
}

func controlAttributes(c *schema.Control) schema.Attributes {
	return schema.Attributes{
		Version: 1, Database: c.Source.Database, Schema: c.Schema, Table: c.Name, Op: schema.ControlOp, Position: c.Position,
		Count: 1, ContentType: schema.ContentJSON, SourceID: c.Source.SystemID,
	}
}

func outbox() *schema.LogicalMessage {
	return &schema.LogicalMessage{
		Position: schema.Position{Epoch: 1767323045, CommitLSN: 0x16B374D848, ChangeLSN: 0x16B374D000},
		Source:   schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
		Prefix:   "outbox", Content: []byte("\x00any bytes\xff"), XID: 1<<32 | 4711,
		CommitTime: 1_767_323_045_123_456, ReadTime: 1_767_323_045_130_000,
	}
}

func outboxAttributes(m *schema.LogicalMessage) schema.Attributes {
	return schema.Attributes{
		Version: 1, Database: m.Source.Database, Op: schema.LogicalOp, Position: m.Position,
		Count: 1, ContentType: schema.ContentJSON, SourceID: m.Source.SystemID,
	}
}

func TestControlRoundTrip(t *testing.T) {
	var e schema.Encoder
	var d schema.Decoder
	for _, c := range controls(wireExample(t)[0].Table) {
		t.Run(string(c.Kind), func(t *testing.T) {
			body, err := e.AppendControl(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			a := controlAttributes(c)
			got, err := d.Control(&a, body)
			if err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			if diff := cmp.Diff(c, got, sameTables); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			refuseEdits(t, string(body), func(b []byte) error { _, err := d.Control(&a, b); return err })
			a.Position.Index++
			if _, err := d.Control(&a, body); !errors.Is(err, schema.ErrField) {
				t.Errorf("another position: %v", err)
			}
		})
	}
}

// refuseEdits checks that a body is refused with a field too many, with one
// twice, cut off, and with something behind it.
func refuseEdits(t *testing.T, body string, read func([]byte) error) {
	t.Helper()
	for _, test := range []struct {
		name, body string
		want       error
	}{
		{"unknown field", `{"x":1,` + body[1:], schema.ErrUnknown},
		{"unknown field inside", strings.Replace(body, `"cdc":{`, `"cdc":{"x":1,`, 1), schema.ErrUnknown},
		{"duplicate", strings.Replace(body, `{"position"`, `{"position":"","position"`, 1), schema.ErrDuplicate},
		{"cut off", body[:len(body)-1], schema.ErrSyntax},
		{"trailing", body + "{}", schema.ErrTrailing},
		{"version", strings.Replace(body, `"version":"1"`, `"version":"2"`, 1), schema.ErrVersion},
		{"UTF-8", strings.Replace(body, `"op"`, "\"o\xff\"", 1), schema.ErrUTF8},
		{"nesting", `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "," + body[1:], schema.ErrNesting},
		{"too large", body + strings.Repeat(" ", schema.MaxMessageBytes), schema.ErrTooLarge},
	} {
		if err := read([]byte(test.body)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestControlRefuses(t *testing.T) {
	var e schema.Encoder
	table := wireExample(t)[0].Table
	for _, edit := range []func(*schema.Control){
		func(c *schema.Control) { c.Kind = "unheard_of" },
		func(c *schema.Control) { c.Position = schema.Position{} },
		func(c *schema.Control) { c.Schema, c.Name = "", "" },
		func(c *schema.Control) { c.Attempts = nil },
		func(c *schema.Control) { c.Plan = strings.Repeat("p", 65) },
		func(c *schema.Control) { c.ReadTime = 1 << 62 },
	} {
		c := controls(table)[2]
		edit(c)
		if got, err := e.AppendControl([]byte("x"), c); !errors.Is(err, schema.ErrField) || string(got) != "x" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestOutboxRoundTrip(t *testing.T) {
	var e schema.Encoder
	var d schema.Decoder
	for _, xid := range []uint64{0, 1, 1<<32 | 4711} {
		m := outbox()
		m.XID = xid
		body, err := e.AppendLogical(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		a := outboxAttributes(m)
		got, err := d.Logical(&a, body)
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		refuseEdits(t, string(body), func(b []byte) error { _, err := d.Logical(&a, b); return err })
	}
	m := outbox()
	m.Prefix = strings.Repeat("p", schema.MaxPrefixBytes)
	if _, err := e.AppendLogical(nil, m); err != nil {
		t.Errorf("longest prefix: %v", err)
	}
	m.Prefix += "p"
	if _, err := e.AppendLogical(nil, m); !errors.Is(err, schema.ErrField) {
		t.Errorf("longer prefix: %v", err)
	}
}
