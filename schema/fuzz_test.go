package schema_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// FuzzDecode gives the decoder foreign bytes as a message of each kind. It must
// not panic, and what it accepts must have a normal form: encoded again, it is
// accepted, and encoding that again gives the same bytes.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		op := bytes.Index(text, []byte("\nop: ")) + 5
		_, body, _ := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte("\n\n"))
		f.Add(text[op], uint8(1+bytes.Count(body, []byte("\n"))), body)
	}
	f.Fuzz(func(t *testing.T, op byte, count uint8, body []byte) {
		a := schema.Attributes{
			Version: 1, Database: "shop", Schema: "public", Table: "items", Op: schema.Op(op), Count: int(count),
			ContentType: schema.ContentJSON, SourceID: "7300000000000000001",
		}
		switch a.Op {
		case schema.BatchOp:
			a.ContentType = schema.ContentNDJSON
		case schema.LogicalOp:
			a.Schema, a.Table = "", ""
		case schema.ControlOp:
			if bytes.Contains(body, []byte("heartbeat")) || bytes.Contains(body, []byte("epoch_started")) {
				a.Schema, a.Table = "", ""
			}
		}
		a.Position = lastPosition(body)
		var d schema.Decoder
		once, err := reencode(&d, &schema.Message{Attributes: a, Data: body})
		if err != nil {
			return
		}
		twice, err := reencode(&d, &schema.Message{Attributes: a, Data: once})
		if err != nil {
			t.Fatalf("accepted, but not its normal form: %v\n%s\n%s", err, body, once)
		}
		if !bytes.Equal(once, twice) {
			t.Fatalf("no normal form:\n%s\n%s\n%s", body, once, twice)
		}
	})
}

// lastPosition finds the Position that the attributes of the body must have.
func lastPosition(body []byte) (p schema.Position) {
	const field = `"position":"`
	i := bytes.LastIndex(body, []byte(field))
	if i >= 0 && len(body) >= i+len(field)+schema.PositionLen {
		p, _ = schema.ParsePosition(body[i+len(field):][:schema.PositionLen])
	}
	return p
}

// FuzzValue gives the encoder any text as a value of any type. What it accepts
// must come back as it was.
func FuzzValue(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i, typ := range schematest.Types {
		f.Add(uint8(2*i), schematest.Text(r, typ))
		f.Add(uint8(2*i+1), schematest.Text(r, typ+"[]"))
	}
	f.Fuzz(func(t *testing.T, n uint8, text []byte) {
		typ := schematest.Types[int(n/2)%len(schematest.Types)]
		if n%2 == 1 {
			typ += "[]"
		}
		c := one(t, typ, string(text))
		m, err := schematest.Message(c)
		if err != nil {
			return
		}
		got, err := schematest.Decode(m)
		if err != nil {
			t.Fatalf("%s: %v\n%s", typ, err, m.Data)
		}
		if v := got[0].After[1]; v.State != schema.Text || !bytes.Equal(v.Text, text) {
			t.Fatalf("%s: %q came back as %q", typ, text, v.Text)
		}
	})
}

// FuzzJSONValue gives the decoder any JSON as a value of any type.
func FuzzJSONValue(f *testing.F) {
	for i, s := range []string{"1", "-0", "1e999999", `"x"`, "true", "null", "[1,[2]]", `["a",null]`, `{"a":1}`, `"\ud83d\ude00"`, `"\\x00"`} {
		f.Add(uint8(i), []byte(s))
	}
	f.Fuzz(func(t *testing.T, n uint8, value []byte) {
		typ := schematest.Types[int(n/2)%len(schematest.Types)]
		if n%2 == 1 {
			typ += "[]"
		}
		c := one(t, typ, "")
		c.After[1] = schema.Value{}
		m := encode(t, c)
		i, j := bytes.Index(m.Data, []byte(`"v":`)), bytes.Index(m.Data, []byte(`},"source"`))
		m.Data = append(append(bytes.Clone(m.Data[:i+4]), value...), m.Data[j:]...)
		var d schema.Decoder
		once, err := reencode(&d, m)
		if err != nil {
			return
		}
		m.Data = once
		if twice, err := reencode(&d, m); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: no normal form: %v\n%s\n%s", typ, err, once, twice)
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	f.Add("695735A5/00000016B374D848/00000016B374D000/00000001")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := schema.ParsePosition(s)
		q, err2 := schema.ParsePosition([]byte(s))
		if (err == nil) != (err2 == nil) || p != q || err == nil && p.String() != s {
			t.Fatalf("%q: %s %v %s %v", s, p, err, q, err2)
		}
	})
}

func FuzzParseLSN(f *testing.F) {
	f.Add("16/B374D848")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := schema.ParseLSN(s)
		if err != nil {
			return
		}
		if back, err := schema.ParseLSN(l.String()); err != nil || back != l {
			t.Fatalf("%q: %s, %v", s, l, err)
		}
	})
}

func FuzzParseType(f *testing.F) {
	for _, s := range []string{"numeric(10,2)[]", `"a""b(1)"`, "timestamp(3) with time zone", "interval day to second(3)", `public."x[]"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ := schema.ParseType(s)
		if len(typ.Base) > len(s) || typ.Array && len(s) < 2 {
			t.Fatalf("%q: %+v", s, typ)
		}
		if again := schema.ParseType(s + "[]"); !typ.Array && again.Array && again.Base != typ.Base {
			t.Fatalf("%q: %+v, as array %+v", s, typ, again)
		}
	})
}

func FuzzParseMicros(f *testing.F) {
	f.Add([]byte("2026-01-02T03:04:05.120000Z"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := schema.ParseMicros(b)
		if err == nil && string(m.Append(nil)) != string(b) {
			t.Fatalf("%q: %s", b, m.Append(nil))
		}
	})
}

// FuzzAttribute gives the decoder foreign attributes. What it accepts it writes
// again in the same form.
func FuzzAttribute(f *testing.F) {
	a := schematest.AttributesOf(schematest.TenColumns())
	a.Sent = 1
	a.Each(func(name string, value []byte) { f.Add([]byte(name), bytes.Clone(value)) })
	f.Fuzz(func(t *testing.T, name, value []byte) {
		var d schema.Decoder
		var a schema.Attributes
		if d.Attribute(&a, name, value) != nil {
			return
		}
		a.Each(func(n string, v []byte) {
			if n == string(name) && n != schema.AttrCount && !bytes.Equal(v, value) {
				t.Fatalf("%s: %q came back as %q", name, value, v)
			}
		})
	})
}

func FuzzRequest(f *testing.F) {
	for _, r := range requests() {
		body, err := schema.AppendRequest(nil, r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	table := one(f, "text", "x").Table
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := schema.ParseRequest(body)
		if err != nil {
			return
		}
		for _, k := range r.Keys {
			if row, err := table.KeyRow(k); err == nil {
				if _, err := table.RequestKey(row); err != nil {
					t.Fatal(err)
				}
			}
		}
		once, err := schema.AppendRequest(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		r, err = schema.ParseRequest(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := schema.AppendRequest(nil, r); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("no normal form: %v\n%s\n%s", err, once, twice)
		}
	})
}
