package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// read decodes a message to its end.
func read(m *schema.Message) error {
	var d schema.Decoder
	if err := d.Changes(&m.Attributes, m.Data); err != nil {
		return err
	}
	var c schema.Change
	for d.Next(&c) {
	}
	return d.Err()
}

// Each way in which a body is wrong has its own error.
func TestDecodeRefuses(t *testing.T) {
	good := one(t, "text", "secret value")
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	wide := strings.Builder{}
	for i := range schema.MaxColumns + 1 {
		fmt.Fprintf(&wide, `"c%d":1,`, i)
	}
	for _, test := range []struct {
		name, old, new string
		want           error
	}{
		{"too many columns", `"after":{`, `"after":{` + wide.String(), schema.ErrTooManyColumns},
		{"too many types", `"types":[`, `"types":[` + strings.Repeat(`"text",`, schema.MaxColumns), schema.ErrTooManyColumns},
		{"nesting of arrays", `"secret value"`, deep, schema.ErrNesting},
		{"nesting of objects", `"secret value"`, strings.Repeat(`{"a":`, 40), schema.ErrNesting},
		{"nesting at the top", `"op":"c"`, `"op":` + deep, schema.ErrNesting},
		{"another version of source", `"version":"1"`, `"version":"2"`, schema.ErrVersion},
		{"duplicate at the top", `"op":"c"`, `"op":"c","op":"c"`, schema.ErrDuplicate},
		{"duplicate in source", `"db":`, `"db":"shop","db":`, schema.ErrDuplicate},
		{"duplicate in cdc", `"xid":`, `"xid":1,"xid":`, schema.ErrDuplicate},
		{"duplicate column", `"after":{"id":1`, `"after":{"id":1,"id":1`, schema.ErrDuplicate},
		{"duplicate column, escaped", `"after":{"id":1`, `"after":{"i\u0064":1,"id":1`, schema.ErrDuplicate},
		{"duplicate key column", `"key":{"id":1`, `"key":{"id":1,"id":1`, schema.ErrDuplicate},
		{"UTF-8", "secret", "secret\xff", schema.ErrUTF8},
		{"half a surrogate pair", "secret", `\ud800`, schema.ErrUTF8},
		{"two high surrogates", "secret", `\ud800\ud800`, schema.ErrUTF8},
		{"unknown at the top", `"op":"c"`, `"op":"c","x":1`, schema.ErrUnknown},
		{"unknown in source", `"db":`, `"x":1,"db":`, schema.ErrUnknown},
		{"unknown in cdc", `"xid":`, `"x":1,"xid":`, schema.ErrUnknown},
		{"trailing object", "}}", "}}{}", schema.ErrTrailing},
		{"trailing line", "}}", "}}\n{}", schema.ErrTrailing},
		{"trailing comma", `"after":{"id":1`, `"after":{"id":1,`, schema.ErrSyntax},
		{"cut off", "}}", "}", schema.ErrSyntax},
		{"control character", "secret", "sec\nret", schema.ErrSyntax},
		{"bad escape", "secret", `\x`, schema.ErrSyntax},
		{"leading zero", `"lsn":`, `"lsn":0`, schema.ErrSyntax},
		{"an array", "{", "[", schema.ErrSyntax},
		{"missing op", `"op":"c",`, ``, schema.ErrField},
		{"missing types", `"types":["bigint","text"],`, ``, schema.ErrField},
		{"missing schema_version", `,"schema_version":3`, ``, schema.ErrField},
		{"missing xid", `"xid":4294972007,`, ``, schema.ErrField},
		{"missing key", `"key":{"id":1},`, ``, nil},
		{"null key", `"key":{"id":1}`, `"key":{"id":null}`, schema.ErrField},
		{"another key", `"key":{"id":1}`, `"key":{"id":2}`, schema.ErrField},
		{"key of no column", `"key":{"id":1}`, `"key":{"x":1}`, schema.ErrField},
		{"fewer types", `["bigint","text"]`, `["bigint"]`, schema.ErrField},
		{"fewer attnums", `[1,2]`, `[1]`, schema.ErrField},
		{"attnums that don't differ", `[1,2]`, `[1,1]`, schema.ErrField},
		{"attnum too large", `[1,2]`, `[1,32768]`, schema.ErrField},
		{"xid 0", `"xid":4294972007`, `"xid":0`, schema.ErrField},
		{"huge xid", `"xid":4294972007`, `"xid":1` + strings.Repeat("0", 400), schema.ErrField},
		{"xid with exponent", `"xid":4294972007`, `"xid":1e999999`, schema.ErrField},
		{"huge ts_ms", `"ts_ms":1767323045130`, `"ts_ms":9223372036854775807`, schema.ErrField},
		{"huge int", `"after":{"id":1`, `"after":{"id":1` + strings.Repeat("0", 400), schema.ErrValue},
		{"int with exponent", `"after":{"id":1`, `"after":{"id":1e999999`, schema.ErrValue},
		{"int as text", `"after":{"id":1`, `"after":{"id":"x"`, schema.ErrValue},
		{"text as number", `"secret value"`, `1`, schema.ErrValue},
		{"text as object", `"secret value"`, `{"a":1}`, schema.ErrValue},
		{"text as bool", `"secret value"`, `true`, schema.ErrValue},
		{"commit_time", `"commit_time":"2026-01-02T03`, `"commit_time":"2026-01-02 03`, schema.ErrField},
		{"source.ts_ms isn't commit_time", `"ts_ms":1767323045123`, `"ts_ms":1767323045124`, schema.ErrField},
		{"source.txId isn't xid", `"txId":4711`, `"txId":4712`, schema.ErrField},
		{"source.lsn isn't position", `"lsn":9`, `"lsn":8`, schema.ErrField},
		{"source.snapshot", `"snapshot":"false"`, `"snapshot":"true"`, schema.ErrField},
		{"source.snapshot without a block", `"snapshot":"false"`, `"snapshot":"incremental"`, schema.ErrField},
		{"connector", `"postgresql"`, `"mysql"`, schema.ErrField},
		{"another table", `"table":"orders"`, `"table":"other"`, schema.ErrField},
		{"another schema", `"schema":"public"`, `"schema":"other"`, schema.ErrField},
		{"another database", `"name":"shop"`, `"name":"other"`, schema.ErrField},
		{"another op", `"op":"c"`, `"op":"u"`, schema.ErrField},
		{"another position", `/00000000"`, `/00000001"`, schema.ErrField},
		{"lower-case position", `695735A5/`, `695735a5/`, schema.ErrField},
		{"unchanged is empty", `"xid":`, `"unchanged":[],"xid":`, schema.ErrField},
		{"row_gone is false", `"xid":`, `"row_gone":false,"xid":`, schema.ErrField},
		{"after is null", `"after":{"id":1,"v":"secret value"}`, `"after":null`, schema.ErrField},
		{"before is a string", `"before":null`, `"before":"x"`, schema.ErrField},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := encode(t, good)
			data := strings.Replace(string(m.Data), test.old, test.new, 1)
			if data == string(m.Data) {
				t.Fatalf("no %s in %s", test.old, data)
			}
			m.Data = []byte(data)
			err := read(m)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("a value in an error: %v", err)
			}
		})
	}
}

func TestDecodeRefusesLargeMessages(t *testing.T) {
	m := encode(t, one(t, "text", strings.Repeat("x", schema.MaxMessageBytes)))
	if err := read(m); !errors.Is(err, schema.ErrTooLarge) {
		t.Error(err)
	}
	m = encode(t, one(t, "text", "x"))
	m.Attributes.Op, m.Attributes.Count, m.Attributes.ContentType = schema.BatchOp, schema.MaxChanges+1, schema.ContentNDJSON
	if err := read(m); !errors.Is(err, schema.ErrTooManyChanges) {
		t.Error(err)
	}
	var d schema.Decoder
	if err := d.Attribute(&m.Attributes, []byte("count"), []byte("100001")); !errors.Is(err, schema.ErrTooManyChanges) {
		t.Error(err)
	}
}

func TestDecodeRefusesAttributes(t *testing.T) {
	for name, edit := range map[string]func(*schema.Attributes){
		"database":     func(a *schema.Attributes) { a.Database = "" },
		"table":        func(a *schema.Attributes) { a.Table = "" },
		"schema":       func(a *schema.Attributes) { a.Schema = "other" },
		"op":           func(a *schema.Attributes) { a.Op = schema.ControlOp },
		"another op":   func(a *schema.Attributes) { a.Op = schema.Update },
		"position":     func(a *schema.Attributes) { a.Position = schema.Position{} },
		"no count":     func(a *schema.Attributes) { a.Count = 0 },
		"count":        func(a *schema.Attributes) { a.Count = 2 },
		"content_type": func(a *schema.Attributes) { a.ContentType = schema.ContentNDJSON },
		"source_id":    func(a *schema.Attributes) { a.SourceID = "" },
	} {
		m := encode(t, one(t, "text", "x"))
		edit(&m.Attributes)
		if err := read(m); !errors.Is(err, schema.ErrField) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := encode(t, one(t, "text", "x"))
	m.Attributes.Version = 2
	if err := read(m); !errors.Is(err, schema.ErrVersion) {
		t.Error(err)
	}
}

func TestDecodeRefusesBatches(t *testing.T) {
	lines := strings.Split(string(encode(t, wireExample(t)...).Data), "\n")
	for _, test := range []struct {
		name  string
		lines []string
		want  error
	}{
		{"a line missing", lines[:2], schema.ErrSyntax},
		{"a line too many", append(lines[:3:3], lines[2]), schema.ErrTrailing},
		{"out of order", []string{lines[0], lines[2], lines[1]}, schema.ErrField},
		{"twice the same", []string{lines[0], lines[1], lines[1]}, schema.ErrField},
		{"first line isn't complete", []string{lines[1], lines[1], lines[2]}, schema.ErrField},
		{"later line is complete", []string{lines[0], lines[1], strings.Replace(lines[2], `"source":{`, `"source":{"version":"1",`, 1)}, schema.ErrField},
		{"later line with a new version", []string{lines[0], lines[1], strings.Replace(lines[2], `"cdc":{`, `"cdc":{"schema_version":4,`, 1)}, schema.ErrField},
		{"a column without type", []string{lines[0], strings.Replace(lines[1], `"price"`, `"cost"`, 1), lines[2]}, schema.ErrField},
		{"a later line of another key", []string{lines[0], strings.Replace(lines[1], `"key":{"id":1}`, `"key":{"price":"9.90"}`, 1), lines[2]}, schema.ErrField},
		{"a break inside a line", []string{lines[0], strings.Replace(lines[1], ",", ",\n", 1), lines[2]}, schema.ErrSyntax},
		{"an empty line", []string{lines[0], "", lines[1], lines[2]}, schema.ErrSyntax},
	} {
		m := encode(t, wireExample(t)...)
		m.Data = []byte(strings.Join(test.lines, "\n"))
		if err := read(m); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	four := wireExample(t)
	four = append(four, schematest.Clone(four[2]))
	four[3].Position.Index++
	m := encode(t, four...)
	lines = strings.Split(string(m.Data), "\n")
	lines[1], lines[2] = lines[2], lines[1] // the last line is the highest all the same
	m.Data = []byte(strings.Join(lines, "\n"))
	if err := read(m); !errors.Is(err, schema.ErrField) {
		t.Errorf("lines inside out of order: %v", err)
	}
	m = encode(t, wireExample(t)...)
	m.Attributes.Position.Index++
	if err := read(m); !errors.Is(err, schema.ErrField) {
		t.Errorf("the highest position isn't the attribute's: %v", err)
	}
	m = encode(t, wireExample(t)...)
	m.Data = append(m.Data, '\n') // JSON Lines allow a last newline
	if err := read(m); err != nil {
		t.Error(err)
	}
}

// White space and another order of the fields are JSON, too: a message may have
// gone through other hands.
func TestDecodeAcceptsOtherJSON(t *testing.T) {
	m := encode(t, one(t, "text", "x"))
	want := decode(t, m)
	data := strings.NewReplacer(`{"before":null,`, ` { "before" : null , `, `"op":"c",`, ``).Replace(string(m.Data))
	m.Data = []byte(strings.TrimSuffix(data, "}") + ` , "op":"\u0063"} `)
	m.Data = []byte(strings.Replace(string(m.Data), `\u0063`, `c`, 1))
	got := decode(t, m)
	if string(schematest.AppendRow(nil, got[0].After)) != string(schematest.AppendRow(nil, want[0].After)) {
		t.Errorf("%v", got[0])
	}
}

// A foreign sender can't make the decoder keep ever more.
func TestDecoderIsBounded(t *testing.T) {
	var d schema.Decoder
	c := one(t, "text", "x")
	for i := range 6000 {
		table := *c.Table
		table.Version = int64(i)
		c.Table, _ = schema.NewTable(table)
		m := encode(t, c)
		if err := d.Changes(&m.Attributes, m.Data); err != nil {
			t.Fatal(err)
		}
		var got schema.Change
		if !d.Next(&got) || got.Table.Version != int64(i) {
			t.Fatal(d.Err())
		}
		if err := d.Attribute(&m.Attributes, []byte("database"), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if shapes, tables, strings, _ := d.Kept(); shapes > 4096 || tables > 4096 || strings > 4096 {
		t.Errorf("%d shapes, %d tables, %d strings kept", shapes, tables, strings)
	}
}

// Nor can it by long names.
func TestDecoderIsBoundedInBytes(t *testing.T) {
	var d schema.Decoder
	c := one(t, "text", "x")
	for i := range 25 {
		table := *c.Table
		table.Version, table.Columns = int64(i), []schema.Column{table.Columns[0], {Name: strings.Repeat("x", 1<<20), Type: "text", AttNum: 2}}
		c.Table, _ = schema.NewTable(table)
		m := encode(t, c)
		var got schema.Change
		if err := d.Changes(&m.Attributes, m.Data); err != nil || !d.Next(&got) {
			t.Fatal(err, d.Err())
		}
	}
	if shapes, _, _, bytes := d.Kept(); shapes > 20 || bytes > 20<<20 {
		t.Errorf("%d shapes of %d bytes kept", shapes, bytes)
	}
}
