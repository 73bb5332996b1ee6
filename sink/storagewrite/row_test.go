package storagewrite

import (
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"cdc/schema"
	"cdc/schema/schematest"
)

// tenTypes are schematest.TenColumns' columns with their BigQuery types.
var tenTypes = []typed{
	{"id", "bigint", "INT64", false},
	{"customer_id", "bigint", "INT64", false},
	{"status", "text", "STRING", false},
	{"total", "numeric(12,2)", "NUMERIC", false},
	{"currency", "character(3)", "STRING", false},
	{"email", "text", "STRING", false},
	{"note", "text", "STRING", false},
	{"gift", "boolean", "BOOL", false},
	{"created_at", "timestamp with time zone", "TIMESTAMP", false},
	{"updated_at", "timestamp with time zone", "TIMESTAMP", false},
}

// moreTypes are the types that the ten lack.
var moreTypes = append(append([]typed(nil), tenTypes...),
	typed{"d", "date", "DATE", false}, typed{"f", "double precision", "FLOAT64", false},
	typed{"b", "bytea", "BYTES", false}, typed{"ints", "integer[]", "INT64", true})

// viaDynamic encodes c with dynamicpb and the standard library's parsers.
func viaDynamic(tb testing.TB, md protoreflect.MessageDescriptor, columns []typed, c *schema.Change) *dynamicpb.Message {
	m := dynamicpb.NewMessage(md)
	set := func(i int, v any) { m.Set(md.Fields().Get(i), protoreflect.ValueOf(v)) }
	row, kind := c.After, "UPSERT"
	if c.Op == schema.Delete {
		row, kind = c.Key, "DELETE" // the key is the first column
	}
	for i, v := range row {
		if v.State != schema.Text {
			continue
		}
		s := string(v.Text)
		switch columns[i].bq {
		case "INT64":
			if !columns[i].repeated {
				n, err := strconv.ParseInt(s, 10, 64)
				check(tb, err)
				set(i, n)
				break
			}
			list := m.Mutable(md.Fields().Get(i)).List()
			for e := range strings.SplitSeq(strings.Trim(s, "{}"), ",") {
				if e != "" {
					n, err := strconv.ParseInt(e, 10, 64)
					check(tb, err)
					list.Append(protoreflect.ValueOfInt64(n))
				}
			}
		case "BOOL":
			set(i, s == "t")
		case "TIMESTAMP":
			at, err := time.Parse("2006-01-02 15:04:05.999999Z07", s)
			check(tb, err)
			set(i, at.UnixMicro())
		case "DATE":
			at, err := time.Parse(time.DateOnly, s)
			check(tb, err)
			set(i, int32(at.Unix()/86400))
		case "FLOAT64":
			f, err := strconv.ParseFloat(s, 64)
			check(tb, err)
			set(i, f)
		case "BYTES":
			b, err := hex.DecodeString(s[2:])
			check(tb, err)
			set(i, b)
		default:
			set(i, s)
		}
	}
	n := len(columns)
	set(n, c.Position.String())
	set(n+1, int64(c.CommitTime))
	set(n+2, kind)
	set(n+3, c.Position.String())
	return m
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// randomChange makes values that BigQuery takes.
func randomChange(r *rand.Rand, t *schema.Table, columns []typed) *schema.Change {
	c := &schema.Change{Table: t, Op: schema.Update, Position: schematest.Position(r), CommitTime: schema.Micros(r.Int64N(4e15))}
	at := func() time.Time { return time.Unix(r.Int64N(200e9)-60e9, r.Int64N(1e6)*1000).UTC() }
	for i, col := range columns {
		var s string
		switch {
		case i > 0 && !col.repeated && r.IntN(6) == 0:
			c.After = append(c.After, schema.Value{})
			continue
		case col.repeated:
			var list []string
			for range r.IntN(4) {
				list = append(list, strconv.Itoa(int(r.Int32())-1<<30))
			}
			s = "{" + strings.Join(list, ",") + "}"
		default:
			switch col.bq {
			case "INT64":
				s = strconv.FormatInt(int64(r.Uint64())>>r.IntN(60), 10)
			case "BOOL":
				s = []string{"t", "f"}[r.IntN(2)]
			case "TIMESTAMP":
				s = at().Format("2006-01-02 15:04:05.999999+00")
			case "DATE":
				s = at().Format(time.DateOnly)
			case "FLOAT64":
				s = strconv.FormatFloat(r.NormFloat64()*1e9, 'g', -1, 64)
			case "BYTES":
				s = `\x` + hex.EncodeToString([]byte(strconv.Itoa(r.IntN(1e6))))
			case "NUMERIC":
				s = strconv.Itoa(r.IntN(1e9)) + "." + strconv.Itoa(10+r.IntN(90))
			default:
				s = strings.Repeat("é", r.IntN(100))
			}
		}
		c.After = append(c.After, schema.TextValue(s))
	}
	c.Key = t.KeyOf(nil, c.After)
	if r.IntN(4) == 0 {
		c.Op, c.After = schema.Delete, nil
	}
	return c
}

func TestRowEqualsDynamic(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	tbl, l := columnsOf(t, moreTypes)
	md, plan := message(t, l), planOf(t, l, tbl)
	var arena []byte
	for range 3000 {
		c := randomChange(r, tbl, moreTypes)
		from := len(arena)
		var refused *RowError
		if arena, refused = plan.AppendRow(arena, c); refused != nil {
			t.Fatalf("refused: %v", refused)
		}
		if got, want := decode(t, md, arena[from:]), viaDynamic(t, md, moreTypes, c); !proto.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestRowErrors(t *testing.T) {
	tbl, l := columnsOf(t, []typed{{"id", "bigint", "INT64", false}, {"tags", "text[]", "STRING", true}, {"note", "text", "STRING", false}})
	plan := planOf(t, l, tbl)
	text := schema.TextValue
	for _, tt := range []struct {
		row    schema.Row
		reason Code
		column string
	}{
		{schema.Row{{}, text("{}"), text("x")}, KeyNull, "id"},
		{schema.Row{text("1"), {}, text("x")}, ArrayNull, "tags"},
		{schema.Row{text("1"), text("{}"), {State: schema.Unchanged}}, UnchangedTOAST, "note"},
		{schema.Row{text("1"), text("{}")}, InvalidValue, ""},
	} {
		out, refused := plan.AppendRow(nil, &schema.Change{Op: schema.Update, Table: tbl, After: tt.row, Key: tt.row[:1]})
		if refused == nil || refused.Reason != tt.reason || refused.Column != tt.column || len(out) != 0 {
			t.Errorf("%v, want %s of %q", refused, tt.reason, tt.column)
		}
	}
	// A delete needs the key alone, whatever the rest would be.
	key := schema.Row{text("1")}
	if _, refused := plan.AppendRow(nil, &schema.Change{Op: schema.Delete, Table: tbl, Key: key}); refused != nil {
		t.Error(refused)
	}
}

// The table of a delete has the key's columns alone.
func TestPlanOfDelete(t *testing.T) {
	_, l := columnsOf(t, tenTypes)
	partial, err := schema.NewTable(schema.Table{Schema: "public", Name: "orders", Key: []int{0}, Columns: []schema.Column{{Name: "ID", Type: "bigint", AttNum: 1}}})
	check(t, err)
	out, refused := planOf(t, l, partial).AppendRow(nil, &schema.Change{Op: schema.Delete, Table: partial, Key: schema.Row{schema.TextValue("7")}})
	if refused != nil {
		t.Fatal(refused)
	}
	m := decode(t, message(t, l), out)
	if got := m.Get(m.Descriptor().Fields().ByNumber(1)).Int(); got != 7 {
		t.Errorf("key %d, want 7", got)
	}
	other, err := schema.NewTable(schema.Table{Schema: "public", Name: "orders", Key: []int{0}, Columns: []schema.Column{{Name: "email", Type: "text", AttNum: 1}}})
	check(t, err)
	if _, err := l.Plan(other); err == nil {
		t.Error("another key was accepted")
	}
	missing, err := schema.NewTable(schema.Table{Schema: "public", Name: "orders", Key: []int{0}, Columns: []schema.Column{{Name: "id", Type: "bigint", AttNum: 1}, {Name: "new", Type: "text", AttNum: 2}}})
	check(t, err)
	if _, err := l.Plan(missing); err == nil {
		t.Error("a column that the destination lacks was accepted")
	}
}

func TestRowAllocates(t *testing.T) {
	tbl, l := columnsOf(t, moreTypes)
	plan := planOf(t, l, tbl)
	r := rand.New(rand.NewPCG(1, 1))
	var changes []*schema.Change
	for range 100 {
		changes = append(changes, randomChange(r, tbl, moreTypes))
	}
	arena := make([]byte, 0, 1<<20)
	if n := testing.AllocsPerRun(20, func() {
		arena = arena[:0]
		for _, c := range changes {
			arena, _ = plan.AppendRow(arena, c)
		}
	}); n != 0 {
		t.Errorf("%.2f allocations for 100 rows, want 0", n)
	}
}

func BenchmarkRow(b *testing.B) {
	c := schematest.TenColumns()
	_, l := columnsOf(b, tenTypes)
	plan, md := planOf(b, l, c.Table), message(b, l)
	row, refused := plan.AppendRow(nil, c)
	if refused != nil {
		b.Fatal(refused)
	}
	b.Logf("fixture: 10 columns, %d bytes of row", len(row))
	b.Run("plan", func(b *testing.B) {
		b.SetBytes(int64(len(row)))
		b.ReportAllocs()
		arena := make([]byte, 0, 4096)
		for b.Loop() {
			arena, _ = plan.AppendRow(arena[:0], c)
		}
	})
	b.Run("dynamicpb", func(b *testing.B) {
		b.SetBytes(int64(len(row)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := proto.Marshal(viaDynamic(b, md, tenTypes, c)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
