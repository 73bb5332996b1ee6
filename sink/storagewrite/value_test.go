package storagewrite

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"cdc/schema"
)

func TestValues(t *testing.T) {
	nines := strings.Repeat("9", 29)
	maxBig := maxBigNumeric[:39] + "." + maxBigNumeric[39:]
	tests := []struct {
		pg, bq string
		text   string
		want   any  // what the row has
		code   Code // or why it is refused
	}{
		{"boolean", "BOOL", "t", true, ""},
		{"boolean", "BOOL", "f", false, ""},
		{"boolean", "BOOL", "yes", nil, InvalidValue},
		{"bigint", "INT64", "-9223372036854775808", int64(-1 << 63), ""},
		{"bigint", "INT64", "9223372036854775807", int64(1<<63 - 1), ""},
		{"bigint", "INT64", "9223372036854775808", nil, InvalidValue},
		{"bigint", "INT64", "0", int64(0), ""},
		{"bigint", "INT64", "+1", nil, InvalidValue},
		{"bigint", "INT64", "", nil, InvalidValue},
		{"double precision", "FLOAT64", "-1.7976931348623157e+308", -1.7976931348623157e+308, ""},
		{"double precision", "FLOAT64", "0", 0.0, ""},
		{"double precision", "FLOAT64", "1e999", nil, InvalidValue},
		{"numeric(12,2)", "NUMERIC", "149.90", "149.90", ""},
		{"numeric", "NUMERIC", "1.0000000001", nil, NumericScale},
		{"numeric", "NUMERIC", "1.0000000000", "1", ""},
		{"numeric", "NUMERIC", "-" + nines + ".999999999", "-" + nines + ".999999999", ""},
		{"numeric", "NUMERIC", "1" + nines, nil, NumericRange},
		{"numeric", "NUMERIC", "NaN", nil, NumericNotFinite},
		{"numeric", "BIGNUMERIC", "Infinity", nil, NumericNotFinite},
		{"numeric", "BIGNUMERIC", maxBig, maxBig, ""},
		{"numeric", "BIGNUMERIC", "-" + maxBig, "-" + maxBig, ""},
		{"numeric", "BIGNUMERIC", "-" + maxBig[:len(maxBig)-1] + "8", "-" + maxBig[:len(maxBig)-1] + "8", ""},
		{"numeric", "BIGNUMERIC", maxBig[:len(maxBig)-1] + "8", nil, NumericRange},
		{"numeric", "BIGNUMERIC", "579" + strings.Repeat("0", 36), nil, NumericRange},
		{"numeric", "BIGNUMERIC", strings.Repeat("1", 40), nil, NumericRange},
		{"numeric", "BIGNUMERIC", "0." + strings.Repeat("0", 38) + "1", nil, NumericScale},
		{"numeric", "BIGNUMERIC", "1." + strings.Repeat("0", 60), "1", ""},
		{"numeric", "BIGNUMERIC", "1e5", nil, InvalidValue},
		{"text", "STRING", "", "", ""},
		{"text", "STRING", "ß漢字🙂", "ß漢字🙂", ""},
		{"bytea", "BYTES", `\xdeadBEEF`, []byte{0xde, 0xad, 0xbe, 0xef}, ""},
		{"bytea", "BYTES", `\x`, []byte{}, ""},
		{"bytea", "BYTES", `\xabc`, nil, InvalidValue},
		{"bytea", "BYTES", `\xzz`, nil, InvalidValue},
		{"date", "DATE", "1970-01-01", int32(0), ""},
		{"date", "DATE", "0001-01-01", int32(-719162), ""},
		{"date", "DATE", "9999-12-31", int32(2932896), ""},
		{"date", "DATE", "2024-02-29", int32(19782), ""},
		{"date", "DATE", "10000-01-01", nil, DateRange},
		{"date", "DATE", "0044-03-15 BC", nil, DateRange},
		{"date", "DATE", "infinity", nil, DateInfinity},
		{"date", "DATE", "-infinity", nil, DateInfinity},
		{"date", "DATE", "2023-02-29", nil, InvalidValue},
		{"timestamp without time zone", "DATETIME", "2026-01-02 03:04:05.12", "2026-01-02 03:04:05.12", ""},
		{"timestamp without time zone", "DATETIME", "0044-03-15 00:00:00 BC", nil, DateRange},
		{"timestamp without time zone", "DATETIME", "infinity", nil, DateInfinity},
		{"timestamp with time zone", "TIMESTAMP", "2026-01-02 03:04:05.123456+00", int64(1767323045123456), ""},
		{"timestamp with time zone", "TIMESTAMP", "1969-12-31 23:59:59.999999+00", int64(-1), ""},
		{"timestamp with time zone", "TIMESTAMP", "1970-01-01 05:30:00+05:30", int64(0), ""},
		{"timestamp with time zone", "TIMESTAMP", "9999-12-31 23:59:59.999999+00", int64(253402300799999999), ""},
		{"timestamp with time zone", "TIMESTAMP", "9999-12-31 23:59:59.999999-01", nil, DateRange},
		{"timestamp with time zone", "TIMESTAMP", "-infinity", nil, DateInfinity},
		{"timestamp with time zone", "TIMESTAMP", "2026-01-02 03:04:05", nil, InvalidValue},
		{"time without time zone", "TIME", "23:59:59.999999", "23:59:59.999999", ""},
		{"time without time zone", "TIME", "24:00:00", nil, Time24},
		{"time without time zone", "TIME", "25:00:00", nil, InvalidValue},
		{"jsonb", "JSON", `{"a": [1, "99999999999999999999", -9223372036854775808, 18446744073709551615]}`, `{"a": [1, "99999999999999999999", -9223372036854775808, 18446744073709551615]}`, ""},
		{"jsonb", "JSON", `{"a": 18446744073709551616}`, nil, JSONInteger},
		{"jsonb", "JSON", `[-9223372036854775809]`, nil, JSONInteger},
		{"jsonb", "JSON", `[1e400, 0.1]`, `[1e400, 0.1]`, ""},
		{"json", "JSON", strings.Repeat("[", 501) + strings.Repeat("]", 501), nil, JSONNesting},
		{"json", "JSON", `{"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}, "a"]}`, `{"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}, "a"]}`, ""},
		{"json", "JSON", `{"a": 1, "a": 2}`, nil, JSONDuplicate},
		{"json", "JSON", `[{"x": {"a" : 1, "b": [], "\u0061"  : 1}}]`, nil, JSONDuplicate},
		{"json", "JSON", `"\"[[" `, `"\"[[" `, ""},
		{"public.hstore", "JSON", `"a"=>"1", "b \"q\""=>NULL, "c"=>""`, `{"a":"1","b \"q\"":null,"c":""}`, ""},
		{"public.hstore", "JSON", ``, `{}`, ""},
		{"public.hstore", "JSON", `"a"=>`, nil, InvalidValue},
		{"public.vector[]", "JSON", `{"[1,2]",NULL}`, `[[1,2],null]`, ""},
	}
	for _, tt := range tests {
		tbl, l := columnsOf(t, []typed{{"id", "bigint", "INT64", false}, {"v", tt.pg, tt.bq, false}})
		row, code := encodeOne(t, l, tbl, tt.text)
		if code != tt.code {
			t.Errorf("%s %q as %s: code %q, want %q", tt.pg, tt.text, tt.bq, code, tt.code)
			continue
		}
		if code != "" {
			continue
		}
		m := decode(t, message(t, l), row)
		if got := m.Get(m.Descriptor().Fields().ByNumber(2)).Interface(); !reflect.DeepEqual(got, tt.want) || !m.Has(m.Descriptor().Fields().ByNumber(2)) {
			t.Errorf("%s %q as %s: %v, want %v", tt.pg, tt.text, tt.bq, got, tt.want)
		}
	}
}

func TestArrays(t *testing.T) {
	tests := []struct {
		pg, bq, text string
		want         string // fmt of the elements
		code         Code
	}{
		{"integer[]", "INT64", "{1,-2,3}", "[1 -2 3]", ""},
		{"integer[]", "INT64", "{}", "[]", ""},
		{"integer[]", "INT64", "[2:4]={1,2,3}", "[1 2 3]", ""},
		{"integer[]", "INT64", "{1,NULL}", "", ArrayNullElement},
		{"integer[]", "INT64", "{{1,2},{3,4}}", "", ArrayDimensions},
		{"integer[]", "INT64", "[1:1][1:1]={{1}}", "", ArrayDimensions},
		{"integer[]", "INT64", "{1,}", "", InvalidValue},
		{"integer[]", "INT64", "{1", "", InvalidValue},
		{"integer[]", "INT64", "{1}}", "", InvalidValue},
		{"text[]", "STRING", `{x,"NULL","a,\"b\\c",""}`, `[x NULL a,"b\c ]`, ""},
		{"text[]", "STRING", `{"a`, "", InvalidValue},
		{"bytea[]", "BYTES", `{"\\x00ff","\\x"}`, "[AP8= ]", ""},
		{"numeric(10,2)[]", "NUMERIC", "{1.50,NaN}", "", NumericNotFinite},
		{"public.hstore[]", "JSON", `{"\"a\"=>\"1\"","\"b\"=>NULL"}`, `[{"a":"1"} {"b":null}]`, ""},
		{"box[]", "STRING", "{(3,4),(1,2);(7,8),(5,6)}", "[(3,4),(1,2) (7,8),(5,6)]", ""},
		{"public.vector(3)", "FLOAT64", "[1,2.5,-3]", "[1 2.5 -3]", ""},
		{"public.vector(3)", "FLOAT64", "[1,,3]", "", InvalidValue},
		{"public.vector(3)", "FLOAT64", "[1,]", "", InvalidValue},
		{"timestamp with time zone[]", "TIMESTAMP", `{"2026-01-02 03:04:05+00",infinity}`, "", DateInfinity},
	}
	for _, tt := range tests {
		tbl, l := columnsOf(t, []typed{{"id", "bigint", "INT64", false}, {"v", tt.pg, tt.bq, true}})
		row, code := encodeOne(t, l, tbl, tt.text)
		if code != tt.code {
			t.Errorf("%s %q: code %q, want %q", tt.pg, tt.text, code, tt.code)
			continue
		}
		if code != "" {
			continue
		}
		m := decode(t, message(t, l), row)
		list := m.Get(m.Descriptor().Fields().ByNumber(2)).List()
		var got []any
		for i := range list.Len() {
			v := list.Get(i).Interface()
			if b, ok := v.([]byte); ok {
				v = base64.StdEncoding.EncodeToString(b)
			}
			got = append(got, v)
		}
		if s := fmt.Sprint(got); s != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.pg, tt.text, s, tt.want)
		}
	}
}

func encodeOne(tb testing.TB, l *Layout, t *schema.Table, text string) ([]byte, Code) {
	tb.Helper()
	row := schema.Row{schema.TextValue("1"), schema.TextValue(text)}
	before := []byte("before")
	out, refused := planOf(tb, l, t).AppendRow(before, &schema.Change{Op: schema.Create, Table: t, After: row, Key: row[:1]})
	if refused != nil {
		if string(out) != "before" {
			tb.Errorf("a refused row left %q behind", out)
		}
		if strings.Contains(refused.Error(), text) && len(text) > 3 && !strings.Contains(text, "infinity") {
			tb.Errorf("error %q holds the value", refused)
		}
		return nil, refused.Reason
	}
	return out[len(before):], ""
}

// Every value encoder on foreign bytes: no panic, nothing but the row changes,
// and what it accepts is a row that dynamicpb can read.
func FuzzValues(f *testing.F) {
	kinds := []typed{
		{"v", "boolean", "BOOL", false},
		{"v", "bigint", "INT64", false},
		{"v", "double precision", "FLOAT64", false},
		{"v", "numeric", "NUMERIC", false},
		{"v", "numeric", "BIGNUMERIC", false},
		{"v", "bytea", "BYTES", false},
		{"v", "date", "DATE", false},
		{"v", "timestamp without time zone", "DATETIME", false},
		{"v", "timestamp with time zone", "TIMESTAMP", false},
		{"v", "time without time zone", "TIME", false},
		{"v", "jsonb", "JSON", false},
		{"v", "public.hstore", "JSON", false},
		{"v", "public.vector[]", "JSON", false},
		{"v", "integer[]", "INT64", true},
		{"v", "bytea[]", "BYTES", true},
		{"v", "public.hstore[]", "JSON", true},
		{"v", "public.vector(3)", "FLOAT64", true},
		{"v", "box[]", "STRING", true},
	}
	type codec struct {
		plan *Plan
		md   protoreflect.MessageDescriptor
		t    *schema.Table
	}
	var codecs []codec
	for _, k := range kinds {
		t, l := columnsOf(f, []typed{{"id", "bigint", "INT64", false}, k})
		codecs = append(codecs, codec{planOf(f, l, t), message(f, l), t})
	}
	for _, s := range []string{"t", "1", "{1,2}", `{"a\"b",NULL}`, "2026-01-02 03:04:05.1+00", `"a"=>"b"`, "[1,2]", `\xff`, "-1.50", "infinity", "0044-03-15 BC", "[0:1]={{1}}"} {
		f.Add(uint8(len(s)), []byte(s))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		c := codecs[int(kind)%len(codecs)]
		row := schema.Row{schema.TextValue("1"), {State: schema.Text, Text: text}}
		out, refused := c.plan.AppendRow(nil, &schema.Change{Op: schema.Update, Table: c.t, After: row, Key: row[:1]})
		if refused == nil && strings.ToValidUTF8(string(text), "") == string(text) {
			decode(t, c.md, out)
		}
	})
}
