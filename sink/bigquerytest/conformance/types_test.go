package conformance

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
)

// encoding is one row of the page's table with one of its protobuf types:
// values as protobuf's JSON form has them, and what a query shows of each.
type encoding struct {
	column, proto string
	values        [][2]string
	refused       []string
	standIn       string // why the stand-in doesn't take it
}

// packed is CivilTimeEncoder's form of a DATETIME, of a TIME with a zero date.
func packed(year, month, day, hour, minute, second, micros int64) string {
	v := ((year<<26|month<<22|day<<17|hour<<12|minute<<6|second)<<20 | micros)
	return strconv.FormatInt(v, 10)
}

// packedDecimal is BigDecimalByteStringEncoder's form of n × 10^-scale: n in
// two's complement, little-endian, here of 32 or 16 bytes.
func packedDecimal(n string, bytes uint) string {
	v, ok := new(big.Int).SetString(n, 10)
	if !ok {
		panic(n)
	}
	if v.Sign() < 0 {
		v.Add(v, new(big.Int).Lsh(big.NewInt(1), 8*bytes))
	}
	out := v.FillBytes(make([]byte, bytes))
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return strconv.Quote(base64.StdEncoding.EncodeToString(out))
}

const (
	minInt64, maxInt64 = "-9223372036854775808", "9223372036854775807"
	maxUint64          = "18446744073709551615"
	google             = "google.protobuf."
	noColumn           = "Columns of this type aren't built; the product maps nothing to them."
)

var bools = [][2]string{{"1", "true"}, {"0", "false"}}

var encodings = []encoding{
	{column: "BOOL", proto: "bool", values: [][2]string{{"true", "true"}, {"false", "false"}}},
	{column: "BOOL", proto: "int32", values: bools},
	{column: "BOOL", proto: "int64", values: bools},
	{column: "BOOL", proto: "uint32", values: bools},
	{column: "BOOL", proto: "uint64", values: bools},
	{column: "BOOL", proto: google + "BoolValue", values: [][2]string{{"true", "true"}, {"false", "false"}}},

	{column: "BYTES", proto: "bytes", values: [][2]string{{`"/wA="`, "/wA="}, {`""`, ""}}},
	{column: "BYTES", proto: "string", values: [][2]string{{`"ä"`, "w6Q="}}},
	{column: "BYTES", proto: google + "BytesValue", values: [][2]string{{`"/wA="`, "/wA="}}},

	{column: "DATE", proto: "int32", values: [][2]string{{"0", "1970-01-01"}, {"-719162", "0001-01-01"}, {"2932896", "9999-12-31"}}, refused: []string{"-719163", "2932897"}},
	{column: "DATE", proto: "int64", values: [][2]string{{"-1", "1969-12-31"}, {"2932896", "9999-12-31"}}, refused: []string{"-719163", maxInt64}},
	{column: "DATE", proto: "string", values: [][2]string{{`"2024-02-29"`, "2024-02-29"}, {`"0001-01-01"`, "0001-01-01"}}, refused: []string{`"2023-02-29"`, `"infinity"`, `"10000-01-01"`}},

	{column: "DATETIME", proto: "string", values: [][2]string{{`"2024-02-29 13:14:15.123456"`, "2024-02-29T13:14:15.123456000"}, {`"9999-12-31T23:59:59.999999"`, "9999-12-31T23:59:59.999999000"}}, refused: []string{`"2024-02-30 00:00:00"`, `"2024-01-01 24:00:00"`}},
	{column: "DATETIME", proto: "int64", values: [][2]string{{packed(2024, 2, 29, 13, 14, 15, 123456), "2024-02-29T13:14:15.123456000"}, {packed(1, 1, 1, 0, 0, 0, 0), "0001-01-01T00:00:00"}}, refused: []string{packed(2024, 13, 1, 0, 0, 0, 0)}},
	{column: "TIME", proto: "string", values: [][2]string{{`"13:14:15.123456"`, "13:14:15.123456000"}, {`"00:00:00"`, "00:00:00"}}, refused: []string{`"24:00:00"`, `"12:60:00"`}},
	{column: "TIME", proto: "int64", values: [][2]string{{packed(0, 0, 0, 13, 14, 15, 5), "13:14:15.000005000"}}, refused: []string{packed(0, 0, 0, 24, 0, 0, 0)}},

	{column: "FLOAT64", proto: "double", values: [][2]string{{"1.5", "1.5"}, {"1e300", "1e+300"}, {`"NaN"`, "NaN"}, {`"-Infinity"`, "-Inf"}}},
	{column: "FLOAT64", proto: "float", values: [][2]string{{"-2.5", "-2.5"}}},
	{column: "FLOAT64", proto: google + "DoubleValue", values: [][2]string{{"1.5", "1.5"}, {"0", "0"}}},
	{column: "FLOAT64", proto: google + "FloatValue", values: [][2]string{{"-2.5", "-2.5"}}},

	{column: "GEOGRAPHY", proto: "string", values: [][2]string{{`"POINT(1 2)"`, "POINT(1 2)"}, {`"{\"type\":\"Point\",\"coordinates\":[1,2]}"`, "POINT(1 2)"}}, standIn: noColumn},

	{column: "INT64", proto: "int32", values: [][2]string{{"-2147483648", "-2147483648"}}},
	{column: "INT64", proto: "int64", values: [][2]string{{minInt64, minInt64}, {maxInt64, maxInt64}}},
	{column: "INT64", proto: "uint32", values: [][2]string{{"4294967295", "4294967295"}}},
	{column: "INT64", proto: "status", values: [][2]string{{`"DONE"`, "7"}, {`"NEW"`, "0"}}},
	{column: "INT64", proto: google + "Int32Value", values: [][2]string{{"-7", "-7"}}},
	{column: "INT64", proto: google + "Int64Value", values: [][2]string{{minInt64, minInt64}, {"0", "0"}}},
	{column: "INT64", proto: google + "UInt32Value", values: [][2]string{{"4294967295", "4294967295"}}},

	{column: "JSON", proto: "string", values: [][2]string{{`"{\"a\":[1,true,null]}"`, `{"a":[1,true,null]}`}}, refused: []string{`"{"`, `""`}},

	{column: "NUMERIC", proto: "int32", values: [][2]string{{"-5", "-5"}}},
	{column: "NUMERIC", proto: "int64", values: [][2]string{{minInt64, minInt64}}},
	{column: "NUMERIC", proto: "uint32", values: [][2]string{{"4294967295", "4294967295"}}},
	{column: "NUMERIC", proto: "uint64", values: [][2]string{{maxUint64, maxUint64}}},
	{column: "NUMERIC", proto: "double", values: [][2]string{{"0.1", "0.1"}, {"1e28", "1" + strings.Repeat("0", 28)}}, refused: []string{`"NaN"`, "1e30"}},
	{column: "NUMERIC", proto: "float", values: [][2]string{{"2.5", "2.5"}}, refused: []string{`"Infinity"`}},
	{column: "NUMERIC", proto: "string", values: [][2]string{{`"-1.50"`, "-1.5"}, {`"` + strings.Repeat("9", 29) + `.999999999"`, strings.Repeat("9", 29) + ".999999999"}}, refused: []string{`"x"`, `"1` + strings.Repeat("0", 29) + `"`}},
	{column: "NUMERIC", proto: "bytes", values: [][2]string{{packedDecimal("1500000000", 16), "1.5"}, {packedDecimal("-1", 16), "-0.000000001"}}, refused: []string{packedDecimal("1", 17)}},
	{column: "NUMERIC", proto: google + "BytesValue", values: [][2]string{{packedDecimal("1500000000", 16), "1.5"}}},
	{column: "BIGNUMERIC", proto: "int32", values: [][2]string{{"-5", "-5"}}},
	{column: "BIGNUMERIC", proto: "int64", values: [][2]string{{minInt64, minInt64}}},
	{column: "BIGNUMERIC", proto: "uint32", values: [][2]string{{"4294967295", "4294967295"}}},
	{column: "BIGNUMERIC", proto: "uint64", values: [][2]string{{maxUint64, maxUint64}}},
	{column: "BIGNUMERIC", proto: "double", values: [][2]string{{"0.5", "0.5"}}, refused: []string{"1e39"}},
	{column: "BIGNUMERIC", proto: "float", values: [][2]string{{"2.5", "2.5"}}},
	{column: "BIGNUMERIC", proto: "string", values: [][2]string{{`"1.` + strings.Repeat("0", 37) + `1"`, "1." + strings.Repeat("0", 37) + "1"}}, refused: []string{`"1e39"`}},
	{column: "BIGNUMERIC", proto: "bytes", values: [][2]string{{packedDecimal("15"+strings.Repeat("0", 37), 32), "1.5"}, {packedDecimal("-1"+strings.Repeat("0", 38), 32), "-1"}}},
	{column: "BIGNUMERIC", proto: google + "BytesValue", values: [][2]string{{packedDecimal("1"+strings.Repeat("0", 38), 32), "1"}}},

	{column: "STRING", proto: "string", values: [][2]string{{`"ä"`, "ä"}, {`""`, ""}}},
	{column: "STRING", proto: "status", values: [][2]string{{`"DONE"`, "DONE"}, {`"NEW"`, "NEW"}}},
	{column: "STRING", proto: google + "StringValue", values: [][2]string{{`"ä"`, "ä"}}},

	{column: "TIMESTAMP", proto: "int64", values: [][2]string{{"0", "1970-01-01T00:00:00.000000Z"}, {"-62135596800000000", "0001-01-01T00:00:00.000000Z"}, {"253402300799999999", "9999-12-31T23:59:59.999999Z"}}, refused: []string{"-62135596800000001", "253402300800000000"}},
	{column: "TIMESTAMP", proto: "int32", values: [][2]string{{"-1", "1969-12-31T23:59:59.999999Z"}}},
	{column: "TIMESTAMP", proto: "uint32", values: [][2]string{{"1000000", "1970-01-01T00:00:01.000000Z"}}},
	{column: "TIMESTAMP", proto: google + "Timestamp", values: [][2]string{{`"1970-01-01T00:00:01.500Z"`, "1970-01-01T00:00:01.500000Z"}}},

	{column: "INTERVAL", proto: "string", values: [][2]string{{`"0-0 1 0:0:0"`, "0-0 1 0:0:0"}}, standIn: noColumn},
	{column: "RANGE<DATE>", proto: "string", values: [][2]string{{`"[2020-01-01, UNBOUNDED)"`, ""}}, standIn: noColumn},
	{column: "STRUCT<a INT64>", proto: "string", values: [][2]string{{`""`, ""}}, standIn: noColumn},
}

// typeCases are the page's table, one case a protobuf type.
func typeCases() []Case {
	var out []Case
	for _, enc := range encodings {
		name, _, _ := strings.Cut(enc.column, "<")
		out = append(out, Case{
			ID:      "types/" + name + "/" + strings.TrimPrefix(strings.Replace(enc.proto, "status", "enum", 1), google),
			Section: "supported_protocol_buffer_data_types",
			Says:    enc.column + " takes " + enc.proto + ".",
			StandIn: enc.standIn,
			Run:     enc.run,
		})
	}
	return append(out, Case{ID: "types/REPEATED/array", Section: "supported_protocol_buffer_data_types", Says: "A REPEATED column takes a repeated field, packed or not.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE v (n INT64, a ARRAY<INT64>, s ARRAY<STRING>)"); err != nil {
			return err
		}
		if _, err := e.store("v", rowsOf("int64 n", "repeated int64 a", "repeated string s"), `{"n":1,"a":[3,1,2],"s":["b","a"]}`); err != nil {
			return err
		}
		return e.wantRows("SELECT a, s FROM v", "[3,1,2] [b,a]")
	}})
}

func (enc encoding) run(e *env) error {
	if err := e.ddl("CREATE TABLE v (n INT64, c " + enc.column + ")"); err != nil {
		return err
	}
	var rows, want []string
	for i, v := range enc.values {
		rows = append(rows, fmt.Sprintf(`{"n":%d,"c":%s}`, i, v[0]))
		want = append(want, v[1])
	}
	w, err := e.store("v", rowsOf("int64 n", enc.proto+" c"), rows...)
	if err != nil {
		return err
	}
	for _, v := range enc.refused {
		if err := w.refuses(codes.InvalidArgument, nil, `{"n":100,"c":`+v+`}`); err != nil {
			return err
		}
	}
	return e.wantRows("SELECT c FROM v ORDER BY n", want...)
}

// becomes checks what a column makes of values.
func becomes(column string, values ...[2]string) func(*env) error {
	return encoding{column: column, proto: "string", values: values}.run
}

func jsonBecomes(in, out string) [2]string { return [2]string{strconv.Quote(in), out} }

const jsonSection = "json_type"

// valueCases are the silent changes and the limits of values.
var valueCases = []Case{
	{ID: "data-types/scale", Section: "parameterized_decimal_type", Says: "1.125 in NUMERIC(5, 2) becomes 1.13.", Run: becomes("NUMERIC(5, 2)", [2]string{`"1.125"`, "1.13"}, [2]string{`"-1.125"`, "-1.13"})},
	{ID: "data-types/precision", Section: "parameterized_decimal_type", Says: "1111 in NUMERIC(5, 2) is refused; 999.99 is the most.", Run: encoding{column: "NUMERIC(5, 2)", proto: "string", values: [][2]string{{`"999.99"`, "999.99"}}, refused: []string{`"1111"`}}.run},
	{ID: "data-types/numeric-scale", Section: "decimal_types", Says: "NUMERIC has nine digits after the point, BIGNUMERIC 38; more are rounded.", Run: becomes("NUMERIC", [2]string{`"0.0000000005"`, "0.000000001"}, [2]string{`"0.00000000049"`, "0"})},
	{ID: "data-types/json-preserved", Section: jsonSection, Says: "Booleans, strings and nulls are preserved.", Run: becomes("JSON", jsonBecomes(`[true,false,null,"a\"b"]`, `[true,false,null,"a\"b"]`))},
	{ID: "data-types/json-whitespace", Section: jsonSection, Says: "White space isn't.", Run: becomes("JSON", jsonBecomes(` [ 1 , 2 ] `, `[1,2]`))},
	{ID: "data-types/json-integers", Section: jsonSection, Says: "Integers from −2^63 to 2^64−1 are kept.", Run: becomes("JSON", jsonBecomes(minInt64, minInt64), jsonBecomes(maxUint64, maxUint64))},
	{ID: "data-types/json-wide-integer", Section: jsonSection, Says: "Beyond that a number is a FLOAT64.", Run: becomes("JSON", jsonBecomes("18446744073709551616", "1.8446744073709552e+19"))},
	{ID: "data-types/json-array-order", Section: jsonSection, Says: "An array's order is preserved.", Run: becomes("JSON", jsonBecomes("[3,1,2]", "[3,1,2]"))},
	{ID: "data-types/json-duplicate", Section: jsonSection, Says: "Of duplicate keys the first is preserved.", Run: becomes("JSON", jsonBecomes(`{"a":1,"a":2}`, `{"a":1}`))},
	{ID: "data-types/json-depth", Section: jsonSection, Says: "Up to 500 levels can be nested.", Run: encoding{column: "JSON", proto: "string", values: [][2]string{{strconv.Quote(nested(500)), nested(500)}}, refused: []string{strconv.Quote(nested(501))}}.run},
	{ID: "data-types/json-number-format", Section: jsonSection, Says: "A number's format may change.", Run: becomes("JSON", jsonBecomes("1.10", "1.1"))},
	{ID: "data-types/null-array", Section: "array_nulls", Says: "A NULL array is read as an empty one.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE v (n INT64, c ARRAY<STRING>)"); err != nil {
			return err
		}
		if _, err := e.store("v", rowsOf("int64 n", "repeated string c"), `{"n":1}`); err != nil {
			return err
		}
		return e.wantRows("SELECT c FROM v", "[]")
	}},
	{ID: "data-types/string-length", Section: "string_type", Says: "STRING(3) holds three characters.", Run: encoding{column: "STRING(3)", proto: "string", values: [][2]string{{`"äöü"`, "äöü"}}, refused: []string{`"äöüß"`}}.run},
	{ID: "data-types/bytes-length", Section: "bytes_type", Says: "BYTES(3) holds three bytes.", Run: encoding{column: "BYTES(3)", proto: "bytes", values: [][2]string{{`"AQID"`, "AQID"}}, refused: []string{`"AQIDBA=="`}}.run},
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
