package bigquerytest

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestRuleRowErrors(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	r := stream.ask(up(nil, wire(1, "a", "UPSERT", "1"), wire(2, "\xff", "UPSERT", "1"), wire(3, "c", "DROP", "1"), wire(4, "d", "UPSERT", "x")))
	wantAppend(t, r, codes.InvalidArgument, "Errors found while processing rows", 0)
	var got []int64
	for _, e := range r.GetRowErrors() {
		got = append(got, e.GetIndex())
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, got); diff != "" {
		t.Fatal(diff)
	}
	wantUsers(t, s)
	stream.stored(up(nil, wire(1, "a", "UPSERT", "1"))) // the connection goes on
	wantUsers(t, s, "1", "a")
	if c := s.Counters(); c.RowsRefused != 3 || c.Rows != 1 || c.AppendsRefused != 1 {
		t.Fatal(c)
	}
}

func TestRuleMalformedRow(t *testing.T) {
	_, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	good := wire(1, "a", "UPSERT", "1")
	unknown := protowire.AppendVarint(protowire.AppendTag(wire(1, "a", "UPSERT", "1"), 9, protowire.VarintType), 1)
	wrongType := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "x")
	group := protowire.AppendTag(nil, 1, protowire.StartGroupType)
	for _, bad := range [][]byte{good[:len(good)-1], unknown, wrongType, group, {0xff}} {
		wantRow(t, stream.ask(up(nil, good, bad)), 1, "isn't a message of the writer schema")
	}
	// With required fields a DELETE can't leave its columns out.
	s, _ := keyed(t, Config{})
	d := proto.CloneOf(usersDescriptor)
	d.Field[1].Label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum()
	stream = openStream(t, s)
	stream.stored(up(d, good))
	wantRow(t, stream.ask(up(nil, wire(1, nil, "DELETE", "2"))), 0, "required is missing")
}

func TestRuleRequired(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("users", []string{"id"}, "id INT64", "name STRING REQUIRED"))
	stream := openStream(t, s)
	stream.stored(up(usersDescriptor, wire(1, "", "UPSERT", "1")))
	wantRow(t, stream.ask(up(nil, wire(1, nil, "UPSERT", "1"))), 0, "Field name is required and missing")
	without := descriptor(field{name: "id", typ: protoInt64}, field{name: "_CHANGE_TYPE", typ: protoString})
	wantRow(t, openStream(t, s).ask(up(without, wire(1, "UPSERT"))), 0, "Field name is required and missing")
}

func TestRulePresence(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "b BOOL", "i INT64", "s STRING", "x BYTES"))
	d := descriptor(field{name: "b", typ: protoBool}, field{name: "i", typ: protoInt64}, field{name: "s", typ: protoString}, field{name: "x", typ: protoBytes})
	openStream(t, s).stored(appendRequest("projects/p/datasets/d/tables/t/streams/_default", d, wire(false, 0, "", []byte{}), nil))
	want := []Row{{"b": "false", "i": "0", "s": "", "x": ""}, {"b": nil, "i": nil, "s": nil, "x": nil}}
	if diff := cmp.Diff(want, s.Rows(project, "d", "t")); diff != "" {
		t.Fatal(diff)
	}
}

func TestRuleNullArray(t *testing.T) {
	s, stream := valueStream(t, col("c INT64 REPEATED"), protoInt64)
	if got, ok := stream.shown(s, nil).([]any); !ok || len(got) != 0 {
		t.Fatal(got)
	}
	packed := protowire.AppendVarint(protowire.AppendVarint(nil, 1), 300)
	if diff := cmp.Diff([]any{"1", "300"}, stream.shown(s, packed)); diff != "" {
		t.Fatal(diff)
	}
}

func TestRuleString(t *testing.T) {
	s, stream := valueStream(t, &bq.TableFieldSchema{Name: "c", Type: "STRING", MaxLength: 3}, protoString)
	stream.refused("not valid UTF-8", "a\xff")
	stream.refused("longer than the column", "äöüß")
	for _, v := range []string{"", "äöü", "\x00"} {
		if got := stream.shown(s, v); got != v {
			t.Fatalf("%q became %q", v, got)
		}
	}
}

func TestRuleBytes(t *testing.T) {
	s, stream := valueStream(t, &bq.TableFieldSchema{Name: "c", Type: "BYTES", MaxLength: 3}, protoBytes)
	stream.refused("longer than the column", []byte{1, 2, 3, 4})
	if got := stream.shown(s, []byte{0xff, 0}); got != "/wA=" {
		t.Fatal(got)
	}
}

func TestRuleJSON(t *testing.T) {
	s, stream := valueStream(t, col("c JSON"), protoString)
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, bad := range []string{"", "{", "nope", "{} {}", "'a'", "NaN", "\"\xff\"", `{"a":1,}`} {
		stream.refused("not JSON", bad)
	}
	stream.refused("nested deeper than 500", nested(501))
	stream.refused("beyond FLOAT64", "[1e400]")
	stream.refused("beyond FLOAT64", `{"a":-`+strings.Repeat("9", 400)+"}")
	if got := stream.shown(s, `{"a-1":"1e400","b":1e300}`); got != `{"a-1":"1e400","b":1e+300}` {
		t.Fatal(got)
	}
	if got := stream.shown(s, nested(500)); got != nested(500) {
		t.Fatal(got)
	}
	if got := stream.shown(s, ` {"a" : "[[{\"", "b":null} `); got != `{"a":"[[{\"","b":null}` {
		t.Fatal(got)
	}
}

func TestRuleJSONNumbers(t *testing.T) {
	s, stream := valueStream(t, col("c JSON"), protoString)
	for in, want := range map[string]string{
		"-9223372036854775808":  "-9223372036854775808",
		"18446744073709551615":  "18446744073709551615",
		"18446744073709551616":  "1.8446744073709552e+19",
		"-9223372036854775809":  "-9.223372036854776e+18",
		`{"b":1,"a":2,"b":3}`:   `{"a":2,"b":1}`,
		"1.10":                  "1.1",
		"100000000000000000000": "1e+20",
		"1.0":                   "1.0",
		"0.1234567890123456789": "0.12345678901234568",
		"[1e2,-0.5E-1]":         "[100.0,-0.05]",
	} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%s became %v, want %s", in, got, want)
		}
	}
}

func TestExactJSON(t *testing.T) {
	for in, exact := range map[string]bool{
		"18446744073709551615": true, "-9223372036854775808": true, "0.1": true, "1.10": true, "1e2": true, "0.0": true, "-0.0e5": true,
		"100000000000000000000": true, "1.7976931348623157e308": true, "0.12345678901234568": true,
		"18446744073709551617": false, "0.1234567890123456789": false, "[1,{\"a\":9007199254740993.5}]": false, "1e-400": false,
	} {
		if err := checkJSON([]byte(in), true); (err == nil) != exact {
			t.Errorf("%s: %v", in, err)
		}
		if err := checkJSON([]byte(in), false); err != nil {
			t.Errorf("%s, rounded: %v", in, err)
		}
	}
	s := startServer(t, Config{ExactJSON: true})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("v", nil, "c JSON"))
	stream := openStream(t, s)
	stream.stored(appendRequest("projects/p/datasets/d/tables/v/streams/_default", descriptor(field{name: "c", typ: protoString}), wire("1.5")))
	wantRow(t, stream.ask(appendRequest("", nil, wire("18446744073709551617"))), 0, "without loss of precision")
}

func TestRuleNumeric(t *testing.T) {
	max29 := strings.Repeat("9", 29)
	s, stream := valueStream(t, col("c NUMERIC"), protoString)
	for _, bad := range []string{"", "x", "NaN", "Infinity", "1e", "1e29", "--1", "1.2.3", " 1", "1" + strings.Repeat("0", 29), max29 + ".9999999995", "0x10", "1_000"} {
		stream.refused("Invalid NUMERIC value", bad)
	}
	for in, want := range map[string]string{
		max29 + ".999999999": max29 + ".999999999", "-" + max29: "-" + max29, "+1.50": "1.5", "1e28": "1" + strings.Repeat("0", 28),
		".5": "0.5", "5.": "5", "-0": "0", "1E-3": "0.001",
	} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%s became %v, want %s", in, got, want)
		}
	}
	s, stream = valueStream(t, col("c BIGNUMERIC"), protoString)
	most := "578960446186580977117854925043439539266.34992332820282019728792003956564819967"
	for in, want := range map[string]string{most: most, "-" + most: "-" + most, "1.1": "1.1"} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%s became %v, want %s", in, got, want)
		}
	}
	stream.refused("Invalid BIGNUMERIC value", "578960446186580977117854925043439539266.34992332820282019728792003956564819968")
	stream.refused("Invalid BIGNUMERIC value", "1e39")

	s, stream = valueStream(t, &bq.TableFieldSchema{Name: "c", Type: "NUMERIC", Precision: 5, Scale: 2}, protoString)
	stream.refused("out of range", "1000")
	stream.refused("out of range", "999.995")
	if got := stream.shown(s, "999.994"); got != "999.99" {
		t.Fatal(got)
	}
	s, stream = valueStream(t, col("c NUMERIC"), protoBytes)
	if got := stream.shown(s, []byte{0x00, 0xca, 0x9a, 0x3b}); got != "1" {
		t.Fatal(got)
	}
	if got := stream.shown(s, []byte{0x00, 0x36, 0x65, 0xc4}); got != "-1" {
		t.Fatal(got)
	}
	stream.refused("out of range", make([]byte, 17))
	s, stream = valueStream(t, col("c NUMERIC"), protoInt64)
	if got := stream.shown(s, math.MinInt64); got != "-9223372036854775808" {
		t.Fatal(got)
	}
}

func TestRuleNumericRounding(t *testing.T) {
	s, stream := valueStream(t, col("c NUMERIC"), protoString)
	for in, want := range map[string]string{"0.0000000005": "0.000000001", "-0.0000000005": "-0.000000001", "1.00000000049": "1", "1e-400": "0"} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%s became %v, want %s", in, got, want)
		}
	}
	s, stream = valueStream(t, col("c BIGNUMERIC"), protoString)
	if got := stream.shown(s, "0."+strings.Repeat("0", 37)+"15"); got != "0."+strings.Repeat("0", 37)+"2" {
		t.Fatal(got)
	}
	// The table of the page.
	for mode, want := range map[string][]string{"ROUND_HALF_EVEN": {"1.02", "1.03", "1.04", "-1.02"}, "ROUND_HALF_AWAY_FROM_ZERO": {"1.03", "1.03", "1.04", "-1.03"}} {
		s, stream = valueStream(t, &bq.TableFieldSchema{Name: "c", Type: "NUMERIC", Precision: 5, Scale: 2, RoundingMode: mode}, protoString)
		for i, in := range []string{"1.025", "1.0251", "1.035", "-1.025"} {
			if got := stream.shown(s, in); got != want[i] {
				t.Errorf("%s %s became %v, want %s", mode, in, got, want[i])
			}
		}
	}
	s, stream = valueStream(t, &bq.TableFieldSchema{Name: "c", Type: "NUMERIC", Precision: 10, Scale: 2}, protoString)
	if got := stream.shown(s, "2.345"); got != "2.35" {
		t.Fatal(got)
	}
}

func TestRuleDate(t *testing.T) {
	s, stream := valueStream(t, col("c DATE"), protoInt32)
	for in, want := range map[int]string{minDateDays: "0001-01-01", maxDateDays: "9999-12-31", 0: "1970-01-01", -1: "1969-12-31"} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%d became %v, want %s", in, got, want)
		}
	}
	stream.refused("out of range", minDateDays-1)
	stream.refused("out of range", maxDateDays+1)
	s, stream = valueStream(t, col("c DATE"), protoString)
	for _, bad := range []string{"", "infinity", "0000-01-01", "10000-01-01", "2023-02-29", "2024-13-01", "2024-1-1x", "0044-03-15 BC"} {
		stream.refused("not a DATE literal", bad)
	}
	if got := stream.shown(s, "2024-2-29"); got != "2024-02-29" {
		t.Fatal(got)
	}
}

func TestRuleDatetime(t *testing.T) {
	s, stream := valueStream(t, col("c DATETIME"), protoString)
	for _, bad := range []string{"", "infinity", "0000-01-01 00:00:00", "2024-01-01 24:00:00", "2024-01-01 00:00:60", "2024-01-01 00:00:00.1234567", "2024-01-01 00:00:00Z", "2024-01-01 00:00"} {
		stream.refused("not a DATETIME literal", bad)
	}
	for in, want := range map[string]string{
		"9999-12-31 23:59:59.999999": "9999-12-31T23:59:59.999999", "0001-01-01T00:00:00": "0001-01-01T00:00:00",
		"2024-1-2 3:4:5.10": "2024-01-02T03:04:05.1", "2024-01-02": "2024-01-02T00:00:00",
	} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%s became %v, want %s", in, got, want)
		}
	}
	s, stream = valueStream(t, col("c DATETIME"), protoInt64)
	packed := ((2024<<26|2<<22|29<<17|13<<12|14<<6|15)<<20 | 123456)
	if got := stream.shown(s, packed); got != "2024-02-29T13:14:15.123456" {
		t.Fatal(got)
	}
	stream.refused("out of range", 1<<62)
}

func TestRuleTime(t *testing.T) {
	s, stream := valueStream(t, col("c TIME"), protoString)
	for _, bad := range []string{"", "24:00:00", "23:59:60", "12:00", "12:00:00+00", "12:00:00.1234567"} {
		stream.refused("not a TIME literal", bad)
	}
	for in, want := range map[string]string{"23:59:59.999999": "23:59:59.999999", "1:2:3": "01:02:03", "00:00:00.000": "00:00:00"} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%s became %v, want %s", in, got, want)
		}
	}
	s, stream = valueStream(t, col("c TIME"), protoInt64)
	if got := stream.shown(s, (13<<12|14<<6|15)<<20|5); got != "13:14:15.000005" {
		t.Fatal(got)
	}
	stream.refused("out of range", 24<<12<<20)
}

func TestRuleTimestamp(t *testing.T) {
	s, stream := valueStream(t, col("c TIMESTAMP"), protoInt64)
	for in, want := range map[int]string{
		minTimestampMicros: "0001-01-01T00:00:00.000000Z", maxTimestampMicros: "9999-12-31T23:59:59.999999Z", -1: "1969-12-31T23:59:59.999999Z",
	} {
		if got := stream.shown(s, in); got != want {
			t.Errorf("%d became %v, want %s", in, got, want)
		}
	}
	stream.refused("out of range", minTimestampMicros-1)
	stream.refused("out of range", maxTimestampMicros+1)
	stream.refused("out of range", math.MaxInt64)
}
