package bigquerytest

import (
	"fmt"
	"math"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// Every type of the design's mapping, as each call of the REST API shows it.
func TestRuleRESTTypes(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	types := []struct {
		column, rest, sql, literal string
		proto                      protoType
		value                      any
		shown                      string // by the REST API
	}{
		{"b BOOL", "BOOLEAN", "BOOL", "true", protoBool, true, "true"},
		{"i INT64", "INTEGER", "INT64", "-9223372036854775808", protoInt64, int64(-9223372036854775808), "-9223372036854775808"},
		{"f FLOAT64", "FLOAT", "FLOAT64", "0.25", protoDouble, nil, "0.25"},
		{"n NUMERIC", "NUMERIC", "NUMERIC", "NUMERIC '-0.10'", protoString, "-0.100", "-0.1"},
		{"g BIGNUMERIC", "BIGNUMERIC", "BIGNUMERIC", "BIGNUMERIC '1e-38'", protoString, "1e-38", "0.00000000000000000000000000000000000001"},
		{"s STRING", "STRING", "STRING", "'ä\\n'", protoString, "ä\n", "ä\n"},
		{"x BYTES", "BYTES", "BYTES", "b'\\xff\\x00'", protoBytes, []byte{0xff, 0}, "/wA="},
		{"j JSON", "JSON", "JSON", "", protoString, `{"b": 1, "a": [null]}`, `{"a":[null],"b":1}`},
		{"d DATE", "DATE", "DATE", "DATE '0001-01-01'", protoString, "0001-01-01", "0001-01-01"},
		{"dt DATETIME", "DATETIME", "DATETIME", "DATETIME '9999-12-31 23:59:59.999999'", protoString, "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"},
		{"ti TIME", "TIME", "TIME", "TIME '23:59:59.5'", protoString, "23:59:59.500", "23:59:59.5"},
		{"ts TIMESTAMP", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP '9999-12-31 23:59:59.999999+00:00'", protoInt64, int64(253402300799999999), "253402300799.999999"},
		{"old TIMESTAMP", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP '1969-12-31 23:59:59.5'", protoInt64, int64(-500_000), "-0.500000"},
		{"a STRING REPEATED", "STRING", "ARRAY<STRING>", "", protoString, "one", "[map[v:one]]"},
	}
	columns := []string{"id INT64"}
	fields := []field{{name: "id", typ: protoInt64}}
	values := []any{7}
	for _, c := range types {
		columns = append(columns, c.column)
		f := col(c.column)
		fields = append(fields, field{name: f.Name, typ: c.proto, repeated: f.Mode == "REPEATED"})
		values = append(values, c.value)
	}
	insertTable(t, svc, definition("t", []string{"id"}, columns...))
	const stream = "projects/p/datasets/d/tables/t/streams/_default"
	row := wire(append(values, "UPSERT")...)
	row = protowire.AppendFixed64(protowire.AppendTag(row, 4, protowire.Fixed64Type), math.Float64bits(0.25))
	openStream(t, s).stored(appendRequest(stream, descriptor(append(fields, field{name: "_CHANGE_TYPE", typ: protoString})...), row))
	s.Apply(project, "d", "t")

	got, err := svc.Tables.Get(project, "d", "t").Do()
	if err != nil {
		t.Fatal(err)
	}
	data, err := svc.Tabledata.List(project, "d", "t").Do()
	if err != nil || data.TotalRows != 1 {
		t.Fatal(data, err)
	}
	query, err := svc.Jobs.Query(project, standard("SELECT * FROM d.t")).Do()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range types {
		name := col(c.column).Name
		if f := got.Schema.Fields[i+1]; f.Type != c.rest || f.Name != name || query.Schema.Fields[i+1].Type != c.rest {
			t.Errorf("%s: tables.get shows %+v", c.column, f)
		}
		for _, row := range []*bq.TableRow{data.Rows[0], query.Rows[0]} {
			if v := fmt.Sprint(row.F[i+1].V); v != c.shown {
				t.Errorf("%s: %s, want %s", c.column, v, c.shown)
			}
		}
		if typ := answers(t, svc, "SELECT data_type FROM d.INFORMATION_SCHEMA.COLUMNS WHERE table_name = 't' AND column_name = '"+name+"'"); typ != "["+c.sql+"]" {
			t.Errorf("%s: COLUMNS shows %s", c.column, typ)
		}
		if c.literal == "" {
			continue
		}
		if n := answers(t, svc, "SELECT COUNT(*) FROM d.t WHERE "+name+" = "+c.literal); n != "[1]" {
			t.Errorf("%s = %s: %s", name, c.literal, n)
		}
	}
	micros, err := svc.Tabledata.List(project, "d", "t").FormatOptionsUseInt64Timestamp(true).Do()
	if err != nil || micros.Rows[0].F[13].V != "-500000" {
		t.Fatal(micros, err)
	}
}
