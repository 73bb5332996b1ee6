package schema_test

import (
	"errors"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// wire returns the JSON of a value of the type, or the error.
func wire(t *testing.T, typ, text string) (string, error) {
	t.Helper()
	var e schema.Encoder
	body, err := e.AppendChange(nil, one(t, typ, text))
	if err != nil {
		return "", err
	}
	_, after, _ := strings.Cut(string(body), `"v":`)
	after, _, _ = strings.Cut(after, `},"source"`)
	return after, nil
}

func TestValues(t *testing.T) {
	for _, test := range []struct{ typ, text, want string }{
		{"boolean", "t", "true"},
		{"boolean", "f", "false"},
		{"smallint", "-32768", "-32768"},
		{"integer", "0", "0"},
		{"integer", "007", `"007"`},
		{"integer", "-0", `"-0"`},
		{"integer", "+5", `"+5"`},
		{"bigint", "-9223372036854775808", "-9223372036854775808"},
		{"oid", "4294967295", "4294967295"},
		{"real", "1e-07", "1e-07"},
		{"double precision", "1.7976931348623157e+308", "1.7976931348623157e+308"},
		{"double precision", "-0", "-0"},
		{"double precision", "NaN", `"NaN"`},
		{"double precision", "-Infinity", `"-Infinity"`},
		{"double precision", ".5", `".5"`},
		{"numeric(10,2)", "1.50", `"1.50"`},
		{"numeric", "NaN", `"NaN"`},
		{"numeric", "-Infinity", `"-Infinity"`},
		{"text", "a\"\\\n\x01ß\u2028<>", `"a\"\\\n\u0001ß` + "\u2028" + `<>"`},
		{"text", "", `""`},
		{"json", `{"a": 1}`, `"{\"a\": 1}"`},
		{"bytea", `\x`, `""`},
		{"bytea", `\x00ff10`, `"AP8Q"`},
		{"bytea", `\xAB`, `"\\xAB"`},
		{"timestamp with time zone", "2026-01-02 03:04:05.12+00", `"2026-01-02T03:04:05.120000Z"`},
		{"timestamp(0) with time zone", "2026-01-02 03:04:05+00", `"2026-01-02T03:04:05.000000Z"`},
		{"timestamp with time zone", "2026-01-02 03:04:05.120+00", `"2026-01-02 03:04:05.120+00"`},
		{"timestamp with time zone", "2026-01-02 03:04:05+02", `"2026-01-02 03:04:05+02"`},
		{"timestamp with time zone", "0044-03-15 00:00:00+00 BC", `"0044-03-15 00:00:00+00 BC"`},
		{"timestamp with time zone", "10000-01-01 00:00:00+00", `"10000-01-01 00:00:00+00"`},
		{"timestamp with time zone", "infinity", `"infinity"`},
		{"timestamp without time zone", "2026-01-02 03:04:05.12", `"2026-01-02T03:04:05.120000"`},
		{"timestamp without time zone", "9999-12-31 23:59:59.999999", `"9999-12-31T23:59:59.999999"`},
		{"timestamp without time zone", "2024-02-29 00:00:00", `"2024-02-29T00:00:00.000000"`},
		{"timestamp without time zone", "2023-02-29 00:00:00", `"2023-02-29 00:00:00"`},
		{"date", "2026-01-02", `"2026-01-02"`},
		{"integer[]", "{}", "[]"},
		{"integer[]", "{1,NULL,-3}", "[1,null,-3]"},
		{"integer[]", "{{1,2},{3,4}}", "[[1,2],[3,4]]"},
		{"integer[]", "[0:1]={1,2}", `"[0:1]={1,2}"`},
		{"integer[]", "{1, 2}", `"{1, 2}"`},
		{"integer[]", "{{1},{2,3}}", `"{{1},{2,3}}"`},
		{"integer[]", "{{}}", `"{{}}"`},
		{"integer[]", "{1,{2}}", `"{1,{2}}"`},
		{"integer[]", "{{{{{{{1}}}}}}}", `"{{{{{{{1}}}}}}}"`},
		{"integer[]", "{1,2", `"{1,2"`},
		{"text[]", `{x,"NULL",NULL,"a,\"b\\c","",null}`, `"{x,\"NULL\",NULL,\"a,\\\"b\\\\c\",\"\",null}"`},
		{"text[]", `{x,"NULL",NULL,"a,\"b\\c","","null"}`, `["x","NULL",null,"a,\"b\\c","","null"]`},
		{"text[]", `{"x"}`, `"{\"x\"}"`},
		{"text[]", `{a\b}`, `"{a\\b}"`},
		{"boolean[]", "{t,f,NULL}", "[true,false,null]"},
		{"bytea[]", `{"\\x00ff","\\x"}`, `["AP8=",""]`},
		{"box[]", "{(1,1),(0,0);(3,3),(2,2)}", `["(1,1),(0,0)","(3,3),(2,2)"]`},
		{"double precision[]", "{1.5,NaN}", `[1.5,"NaN"]`},
		{"jsonb[]", `{"{\"a\": 1}",1}`, `["{\"a\": 1}","1"]`},
		{"timestamp with time zone[]", `{"2026-01-02 03:04:05+00",infinity}`, `["2026-01-02T03:04:05.000000Z","infinity"]`},
		{"public.vector(3)", "[1,2,3]", `"[1,2,3]"`},
		{"int4range", "[1,10)", `"[1,10)"`},
	} {
		got, err := wire(t, test.typ, test.text)
		if got != test.want || err != nil {
			t.Errorf("%s %q: %s, %v; want %s", test.typ, test.text, got, err, test.want)
			continue
		}
		roundTrip(t, one(t, test.typ, test.text))
	}
}

func TestValuesOfAnotherType(t *testing.T) {
	for _, test := range []struct{ typ, text string }{
		{"boolean", "true"},
		{"boolean", ""},
		{"smallint", "32768"},
		{"integer", "abc"},
		{"integer", ""},
		{"integer", "1.0"},
		{"integer", "1e3"},
		{"bigint", "9223372036854775808"},
		{"bigint", strings.Repeat("9", 1000)},
		{"oid", "-1"},
		{"oid", "4294967296"},
		{"real", "1e39"},
		{"double precision", "1e999999"},
		{"double precision", "0x10"},
		{"double precision", "abc"},
		{"double precision", strings.Repeat("9", 500)},
		{"numeric", "abc"},
		{"numeric", "1-2"},
		{"bytea", "abc"},
		{"bytea", `\x0`},
		{"bytea", `\xzz`},
		{"timestamp with time zone", "yesterday"},
		{"timestamp with time zone", "2026-01-02T03:04:05.120000Z"},
		{"timestamp without time zone", "2026-01-02T03:04:05.120000"},
		{"integer[]", "1,2"},
		{"integer[]", ""},
		{"integer[]", "{1,abc}"},
	} {
		if got, err := wire(t, test.typ, test.text); !errors.Is(err, schema.ErrValue) {
			t.Errorf("%s %q: %s, %v", test.typ, test.text, got, err)
		} else if len(test.text) > 2 && strings.Contains(err.Error(), test.text) {
			t.Errorf("a value in an error: %v", err)
		}
	}
}

// roundTripValue is roundTrip for the one value v, ten times faster.
func roundTripValue(t *testing.T, c *schema.Change) {
	t.Helper()
	m := encode(t, c)
	got := decode(t, m)[0]
	if v := got.After[1]; v.State != schema.Text || string(v.Text) != string(c.After[1].Text) {
		t.Fatalf("%s: %q came back as %q", c.Table.Columns[1].Type, c.After[1].Text, v.Text)
	}
	if again := encode(t, got); string(again.Data) != string(m.Data) {
		t.Fatalf("encode(decode(bytes)):\n%s\n%s", m.Data, again.Data)
	}
}

// Every type and its arrays, many random values: decode(encode(v)) is v.
func TestEveryTypeRoundTrip(t *testing.T) {
	r := seeded(t)
	for _, base := range schematest.Types {
		for _, typ := range []string{base, base + "[]"} {
			for range 100 {
				roundTripValue(t, one(t, typ, string(schematest.Text(r, typ))))
			}
		}
	}
}

// What isn't canonical but can be of the type comes back as it was, too.
func TestOddTextRoundTrip(t *testing.T) {
	r := seeded(t)
	n := 0
	for range 10_000 {
		typ := schematest.Types[r.IntN(len(schematest.Types))]
		if r.IntN(2) == 0 {
			typ += "[]"
		}
		text := schematest.Text(r, typ)
		for range 1 + r.IntN(2) { // a byte out, in, or changed
			const letters = `{}",\ NULLnull0129.+-:eE=[]tfxTZ;a`
			at, c := r.IntN(len(text)+1), letters[r.IntN(len(letters))]
			switch {
			case r.IntN(2) == 0 || at == len(text):
				text = append(text[:at:at], append([]byte{c}, text[at:]...)...)
			case r.IntN(2) == 0:
				text = append(text[:at:at], text[at+1:]...)
			default:
				text[at] = c
			}
		}
		c := one(t, typ, string(text))
		if _, err := schematest.Message(c); err != nil {
			continue
		}
		n++
		roundTripValue(t, c)
	}
	t.Logf("%d of 10,000 were accepted", n)
}
