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
	long := strings.Repeat("p", schema.MaxPlanBytes+1)
	const truncated, resync, manifest, changed, stale, epoch, beat = 0, 1, 2, 3, 4, 5, 6
	for name, test := range map[string]struct {
		kind int
		edit func(*schema.Control)
	}{
		"unknown kind":          {manifest, func(c *schema.Control) { c.Kind = "unheard_of" }},
		"no position":           {manifest, func(c *schema.Control) { c.Position = schema.Position{} }},
		"no table":              {manifest, func(c *schema.Control) { c.Schema, c.Name = "", "" }},
		"no schema":             {truncated, func(c *schema.Control) { c.Schema = "" }},
		"fewer attempts":        {manifest, func(c *schema.Control) { c.Attempts = c.Attempts[1:] }},
		"long plan":             {manifest, func(c *schema.Control) { c.Plan = long }},
		"long plan of a resync": {resync, func(c *schema.Control) { c.Plan = long }},
		"no floor":              {resync, func(c *schema.Control) { c.Floor = schema.Position{} }},
		"ts_ms":                 {truncated, func(c *schema.Control) { c.ReadTime = 1 << 62 }},
		"no columns":            {changed, func(c *schema.Control) { c.Table = nil }},
		"another table":         {changed, func(c *schema.Control) { c.Name = "other" }},
		"another cluster":       {changed, func(c *schema.Control) { c.Source.SystemID = "1" }},
		"no key":                {stale, func(c *schema.Control) { c.Key = nil }},
		"null key":              {stale, func(c *schema.Control) { c.Key[0].Value = schema.Value{} }},
		"epoch of a table":      {epoch, func(c *schema.Control) { c.Schema, c.Name = "public", "items" }},
		"time":                  {beat, func(c *schema.Control) { c.Time = 1 << 62 }},
	} {
		c := controls(table)[test.kind]
		test.edit(c)
		if got, err := e.AppendControl([]byte("x"), c); !errors.Is(err, schema.ErrField) || string(got) != "x" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A control message whose parts contradict each other is refused.
func TestControlRefusesContradictions(t *testing.T) {
	var e schema.Encoder
	var d schema.Decoder
	for _, test := range []struct {
		kind     schema.ControlKind
		old, new string
		want     error
	}{
		{schema.Truncated, `"truncated"`, `"unheard_of"`, schema.ErrField},
		{schema.Truncated, `"table":"items"`, `"table":"other"`, schema.ErrField},
		{schema.Truncated, `"schema":"public"`, `"schema":"other"`, schema.ErrField},
		{schema.Truncated, `,"schema":"public","table":"items"`, ``, schema.ErrField},
		{schema.Truncated, `"name":"shop"`, `"name":"other"`, schema.ErrField},
		{schema.Truncated, `"op":"k"`, `"op":"m"`, schema.ErrField},
		{schema.Truncated, `"truncated"`, `"heartbeat","counter":1,"time":"2026-01-02T03:04:05.123456Z"`, schema.ErrField},
		{schema.ResyncStarted, `"plan":"p1"`, `"plan":1`, schema.ErrField},
		{schema.SnapshotComplete, `"attempts":[1,2,`, `"attempts":[1,`, schema.ErrField},
		{schema.SnapshotComplete, `"chunks":3`, `"chunks":-1`, schema.ErrField},
		{schema.SchemaChanged, `"attnums":[1,2,4]`, `"attnums":[1,2]`, schema.ErrField},
		{schema.SchemaChanged, `"attnums":[1,2,4]`, `"attnums":[1,2,65540]`, schema.ErrField},
		{schema.SchemaChanged, `"attnums":[1,2,4]`, `"attnums":[1,4,2]`, schema.ErrField},
		{schema.SchemaChanged, `"types":["bigint",`, `"types":[`, schema.ErrField},
		{schema.SchemaChanged, `"key_columns":["id"]`, `"key_columns":["no"]`, schema.ErrField},
		{schema.SchemaChanged, `"columns":["id","price"`, `"columns":["id","id"`, schema.ErrField},
		{schema.RowStale, `"types":["bigint","date"]`, `"types":["bigint"]`, schema.ErrField},
		{schema.RowStale, `"types":["bigint","date"]`, `"types":["bigint","date","date"]`, schema.ErrField},
		{schema.RowStale, `"day":`, `"id":`, schema.ErrDuplicate},
		{schema.RowStale, `"id":1`, `"id":"x"`, schema.ErrValue},
		{schema.RowStale, `"id":1`, `"id":null`, schema.ErrField},
		{schema.EpochStarted, `"16/B374D848"`, `"16"`, schema.ErrField},
		{schema.Heartbeat, `"counter":42`, `"counter":4.2`, schema.ErrField},
	} {
		for _, c := range controls(wireExample(t)[0].Table) {
			if c.Kind != test.kind {
				continue
			}
			body, err := e.AppendControl(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			edited := strings.Replace(string(body), test.old, test.new, 1)
			a := controlAttributes(c)
			if _, err := d.Control(&a, []byte(edited)); !errors.Is(err, test.want) || edited == string(body) {
				t.Errorf("%s: %s → %s: %v, want %v", c.Kind, test.old, test.new, err, test.want)
			}
		}
	}
}

func TestOutboxRefusesContradictions(t *testing.T) {
	var e schema.Encoder
	var d schema.Decoder
	body, err := e.AppendLogical(nil, outbox())
	if err != nil {
		t.Fatal(err)
	}
	a := outboxAttributes(outbox())
	for _, edit := range []func(*schema.LogicalMessage){
		func(m *schema.LogicalMessage) { m.Position = schema.Position{} },
		func(m *schema.LogicalMessage) { m.CommitTime = 1 << 62 },
		func(m *schema.LogicalMessage) { m.ReadTime = 1 << 62 },
	} {
		m := outbox()
		edit(m)
		if _, err := e.AppendLogical(nil, m); !errors.Is(err, schema.ErrField) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	for _, test := range []struct{ old, new string }{
		{`"txId":4711`, `"txId":4712`},
		{`"xid":4294972007,`, ``},
		{`"xid":4294972007`, `"xid":0`},
		{
			`"txId":4711,"lsn":97500057600},"op":"m","ts_ms":1767323045130,"message":{"prefix":"outbox","content":"AGFueSBieXRlc/8="},"cdc":{"position":"695735A5/00000016B374D848/00000016B374D000/00000000","xid":4294972007`,
			`"txId":0,"lsn":97500057600},"op":"m","ts_ms":1767323045130,"message":{"prefix":"outbox","content":"AGFueSBieXRlc/8="},"cdc":{"position":"695735A5/00000016B374D848/00000016B374D000/00000000","xid":0`,
		},
		{`"lsn":9`, `"lsn":8`},
		{`"ts_ms":1767323045123`, `"ts_ms":1767323045124`},
		{`"snapshot":"false"`, `"snapshot":"incremental"`},
		{`"table":""`, `"table":"items"`},
		{`"schema":""`, `"schema":"public"`},
		{`"op":"m"`, `"op":"k"`},
		{`"content":"AGFueSBieXRlc/8="`, `"content":"AGFueSBieXRlc/9="`}, // bits behind the end
		{`"ts_ms":1767323045130`, `"ts_ms":9223372036854775807`},
	} {
		edited := strings.Replace(string(body), test.old, test.new, 1)
		if _, err := d.Logical(&a, []byte(edited)); !errors.Is(err, schema.ErrField) || edited == string(body) {
			t.Errorf("%s → %s: %v", test.old, test.new, err)
		}
	}
}

// The attributes of messages that aren't row changes are checked, too.
func TestSingleMessagesRefuseAttributes(t *testing.T) {
	var e schema.Encoder
	var d schema.Decoder
	control := controls(wireExample(t)[0].Table)[0]
	body, err := e.AppendControl(nil, control)
	if err != nil {
		t.Fatal(err)
	}
	logical, err := e.AppendLogical(nil, outbox())
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*schema.Attributes){
		"op":           func(a *schema.Attributes) { a.Op = schema.Create },
		"count":        func(a *schema.Attributes) { a.Count = 2 },
		"content_type": func(a *schema.Attributes) { a.ContentType = schema.ContentNDJSON },
		"position":     func(a *schema.Attributes) { a.Position.Index++ },
		"source_id":    func(a *schema.Attributes) { a.SourceID = "" },
		"database":     func(a *schema.Attributes) { a.Database = "other" },
		"table alone":  func(a *schema.Attributes) { a.Schema, a.Table = "", "items" },
		"another one":  func(a *schema.Attributes) { a.Schema, a.Table = "public", "other" },
	} {
		a, b := controlAttributes(control), outboxAttributes(outbox())
		edit(&a)
		edit(&b)
		if _, err := d.Control(&a, body); !errors.Is(err, schema.ErrField) {
			t.Errorf("control message, %s: %v", name, err)
		}
		if _, err := d.Logical(&b, logical); !errors.Is(err, schema.ErrField) {
			t.Errorf("outbox message, %s: %v", name, err)
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
