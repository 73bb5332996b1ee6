package schematest

import "cdc/schema"

// typed is one column of the fixture with a value as Postgres writes it.
type typed struct{ name, typ, text string }

// everyType is each type of DESIGN §9 with a value, in the form of
// format_type and of the types' output functions.
var everyType = []typed{
	{"id", "bigint", "9007199254740993"},
	{"flag", "boolean", "t"},
	{"small", "smallint", "-32768"},
	{"medium", "integer", "2147483647"},
	{"reference", "oid", "4294967295"},
	{"single", "real", "1.1754944e-38"},
	{"double", "double precision", "-1.7976931348623157e+308"},
	{"price", "numeric(12,2)", "1999999999.90"},
	{"bare", "numeric", "12345678901234567890.123456789012345678"},
	{"cash", "money", "$1,234,567.89"},
	{"title", "text", "a \"quoted\" \\ line\nand tab\tß漢字🙂"},
	{"code", "character varying(20)", "AB-17"},
	{"padded", "character(6)", "ab    "},
	{"ci", "public.citext", "CaSe"},
	{"relname", "name", "pg_class"},
	{"mood", "public.mood", "happy"},
	{"uid", "uuid", "7d1f1f0e-7a3c-4f3e-9b1a-2f6d1d6d2c11"},
	{"doc", "json", `{"a": 1, "a": 2, "big": 1e400}`},
	{"docb", "jsonb", `{"k": [1, 2, {"x": null}]}`},
	{"store", "public.hstore", `"a"=>"1", "b"=>NULL`},
	{"raw", "bytea", `\xdeadbeef00ff10`},
	{"born", "date", "2026-01-02"},
	{"local", "timestamp without time zone", "2026-01-02 03:04:05.12"},
	{"at", "timestamp with time zone", "2026-01-02 03:04:05.123456+00"},
	{"never", "timestamp(3) with time zone", "infinity"},
	{"clock", "time without time zone", "23:59:59.5"},
	{"zoned", "time with time zone", "24:00:00-15:59"},
	{"span", "interval", "1 year 2 mons 3 days 04:05:06.789"},
	{"host", "inet", "192.168.1.0/24"},
	{"net", "cidr", "10.0.0.0/8"},
	{"mac", "macaddr", "08:00:2b:01:02:03"},
	{"bits", "bit varying(8)", "10110"},
	{"markup", "xml", "<a>1</a>"},
	{"words", "tsvector", "'cat':2 'fat':1"},
	{"wal", "pg_lsn", "16/B374D848"},
	{"range", "int4range", "[1,10)"},
	{"point", "point", "(1.5,2)"},
	{"pair", "public.pair", `(1,"a ""q"" , (x)")`},
	{"other", "public.\"Other Type\"", "anything"},
	{"ints", "integer[]", "{1,NULL,3}"},
	{"texts", "text[]", `{x,"NULL",NULL,"a,\"b\\c",""}`},
	{"times", "timestamp with time zone[]", `{"2026-01-02 03:04:05+00",infinity}`},
	{"blobs", "bytea[]", `{"\\x00ff","\\x"}`},
	{"flags", "boolean[]", "{t,f,NULL}"},
	{"grid", "integer[]", "{{1,2},{3,4}}"},
	{"boxes", "box[]", "{(3,4),(1,2);(7,8),(5,6)}"},
	{"bounds", "text[]", "[0:1]={a,b}"},
	{"nums", "numeric(10,2)[]", "{1.50,NaN}"},
	{"nan", "double precision", "NaN"},
	{"vec", "public.vector(3)", "[1,2,3]"},
	{"bc", "timestamp without time zone", "0044-03-15 00:00:00 BC"},
}

// EveryType returns a change of a table that has each type of DESIGN §9. Every
// call returns new memory.
func EveryType() *schema.Change {
	return fixture("every_type", everyType)
}

// TenColumns returns a change of the table with ten columns that benchmarks use:
// an order of a shop.
func TenColumns() *schema.Change {
	return fixture("orders", []typed{
		{"id", "bigint", "1234567"},
		{"customer_id", "bigint", "89012"},
		{"status", "text", "paid"},
		{"total", "numeric(12,2)", "149.90"},
		{"currency", "character(3)", "EUR"},
		{"email", "text", "somebody@example.com"},
		{"note", "text", "leave it at the door, please"},
		{"gift", "boolean", "f"},
		{"created_at", "timestamp with time zone", "2026-01-02 03:04:05.123456+00"},
		{"updated_at", "timestamp with time zone", "2026-01-02 03:04:05.5+00"},
	})
}

func fixture(name string, columns []typed) *schema.Change {
	t := schema.Table{
		Source: schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
		Schema: "public", Name: name, Key: []int{0}, Version: 3,
	}
	row := make(schema.Row, 0, len(columns))
	for i, c := range columns {
		t.Columns = append(t.Columns, schema.Column{Name: c.name, Type: c.typ, AttNum: int16(i + 1)})
		row = append(row, schema.TextValue(c.text))
	}
	table, err := schema.NewTable(t)
	if err != nil {
		panic(err)
	}
	return &schema.Change{
		Op:         schema.Create,
		Position:   schema.Position{Epoch: 1767323045, CommitLSN: 0x16B374D848, ChangeLSN: 0x16B374D000, Index: 0},
		Table:      table,
		After:      row,
		Key:        table.KeyOf(nil, row),
		XID:        1<<32 | 4711,
		CommitTime: 1_767_323_045_123_456,
		ReadTime:   1_767_323_045_130_000,
	}
}

// AttributesOf returns the attributes of the message of one change.
func AttributesOf(c *schema.Change) schema.Attributes {
	return schema.Attributes{
		Version: schema.FormatVersion, Database: c.Table.Source.Database,
		Schema: c.Table.Schema, Table: c.Table.Name, Op: c.Op, Position: c.Position,
		Count: 1, ContentType: schema.ContentJSON, SourceID: c.Table.Source.SystemID,
	}
}

// BatchAttributes returns the attributes of the message of several changes of
// one table, in Position order.
func BatchAttributes(changes []*schema.Change) schema.Attributes {
	a := AttributesOf(changes[len(changes)-1])
	a.Op, a.Count, a.ContentType = schema.BatchOp, len(changes), schema.ContentNDJSON
	return a
}
