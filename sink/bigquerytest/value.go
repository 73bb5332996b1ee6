package bigquerytest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"
)

type protoType = descriptorpb.FieldDescriptorProto_Type

const (
	protoBool   = descriptorpb.FieldDescriptorProto_TYPE_BOOL
	protoInt32  = descriptorpb.FieldDescriptorProto_TYPE_INT32
	protoInt64  = descriptorpb.FieldDescriptorProto_TYPE_INT64
	protoUint32 = descriptorpb.FieldDescriptorProto_TYPE_UINT32
	protoUint64 = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	protoDouble = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	protoFloat  = descriptorpb.FieldDescriptorProto_TYPE_FLOAT
	protoString = descriptorpb.FieldDescriptorProto_TYPE_STRING
	protoBytes  = descriptorpb.FieldDescriptorProto_TYPE_BYTES
)

// accepted holds the scalar protobuf types that each column type takes; see
// acceptedMessages for the others.
//
// https://docs.cloud.google.com/bigquery/docs/supported-data-types
var accepted = map[kind][]protoType{
	kindBool:       {protoBool, protoInt32, protoInt64, protoUint32, protoUint64},
	kindBytes:      {protoBytes, protoString},
	kindDate:       {protoInt32, protoInt64, protoString},
	kindDatetime:   {protoString, protoInt64},
	kindTime:       {protoString, protoInt64},
	kindFloat64:    {protoDouble, protoFloat},
	kindInt64:      {protoInt32, protoInt64, protoUint32},
	kindJSON:       {protoString},
	kindNumeric:    {protoInt32, protoInt64, protoUint32, protoUint64, protoDouble, protoFloat, protoString, protoBytes},
	kindBigNumeric: {protoInt32, protoInt64, protoUint32, protoUint64, protoDouble, protoFloat, protoString, protoBytes},
	kindString:     {protoString},
	kindTimestamp:  {protoInt64, protoInt32, protoUint32},
}

// wireValue is one value as it came: bytes of a length-delimited field, or the
// bits of any other.
type wireValue struct {
	bits uint64
	b    []byte
}

// wireType is how a protobuf type is written.
func wireType(t protoType) protowire.Type {
	switch t {
	case protoDouble:
		return protowire.Fixed64Type
	case protoFloat:
		return protowire.Fixed32Type
	case protoString, protoBytes:
		return protowire.BytesType
	}
	return protowire.VarintType
}

func (f *fieldPlan) isText() bool { return f.proto == protoString || f.proto == protoBytes }

// integer is the number of an integer field.
func (f *fieldPlan) integer(v wireValue) int64 {
	switch f.proto {
	case protoInt32:
		return int64(int32(v.bits)) // a varint longer than 32 bits is cut, as protobuf does
	case protoUint32:
		return int64(uint32(v.bits))
	}
	return int64(v.bits)
}

func (f *fieldPlan) float(v wireValue) float64 {
	if f.proto == protoFloat {
		return float64(math.Float32frombits(uint32(v.bits)))
	}
	return math.Float64frombits(v.bits)
}

// micros reads any date or time column: days for DATE, microseconds otherwise.
func (f *fieldPlan) micros(v wireValue) (int64, error) {
	text := f.proto == protoString
	switch f.column.kind {
	case kindDate:
		if text {
			return parseDate(v.b)
		}
		return within(f.integer(v), minDateDays, maxDateDays)
	case kindDatetime:
		if text {
			return parseDatetime(v.b)
		}
		return packedDatetime(int64(v.bits))
	case kindTime:
		if text {
			return parseTime(v.b)
		}
		return packedTime(int64(v.bits))
	}
	return within(f.integer(v), minTimestampMicros, maxTimestampMicros)
}

func within(n, least, most int64) (int64, error) {
	if n < least || n > most {
		return 0, errRange
	}
	return n, nil
}

// numberText is the text of a NUMERIC or BIGNUMERIC that wasn't sent as bytes.
func (f *fieldPlan) numberText(v wireValue) []byte {
	switch f.proto {
	case protoString:
		return v.b
	case protoDouble:
		return strconv.AppendFloat(nil, f.float(v), 'g', -1, 64)
	case protoFloat:
		return strconv.AppendFloat(nil, f.float(v), 'g', -1, 32)
	case protoUint64:
		return strconv.AppendUint(nil, v.bits, 10)
	}
	return strconv.AppendInt(nil, f.integer(v), 10)
}

// check says why the column doesn't take the value.
func (f *fieldPlan) check(v wireValue) error {
	c := f.column
	switch c.kind {
	case kindString:
		if !utf8.Valid(v.b) {
			return errUTF8
		}
		if c.maxLength > 0 && int64(utf8.RuneCount(v.b)) > c.maxLength {
			return errTooLong
		}
	case kindBytes:
		if c.maxLength > 0 && int64(len(v.b)) > c.maxLength {
			return errTooLong
		}
	case kindJSON:
		return checkJSON(v.b, f.exact)
	case kindNumeric, kindBigNumeric:
		if f.proto == protoString && simpleDecimal(v.b, c.intDigits()) {
			return nil
		}
		_, err := f.decimal(v)
		return err
	case kindDate, kindDatetime, kindTime, kindTimestamp:
		_, err := f.micros(v)
		return err
	}
	return nil
}

func (f *fieldPlan) decimal(v wireValue) (n bigInt, err error) {
	if f.proto == protoBytes {
		return f.column.packedDecimal(v.b)
	}
	return f.column.unscaled(f.numberText(v))
}

// text is the canonical text of a value that check has let through: what a
// query shows, except for BOOL, FLOAT64 and TIMESTAMP, which are written as
// true or false, in the shortest form, and as RFC 3339 in UTC.
func (f *fieldPlan) text(v wireValue) string {
	plain, err := f.open(v)
	if err != nil {
		return string(v.b)
	}
	return f.plainText(plain)
}

func (f *fieldPlan) plainText(v wireValue) string {
	switch f.column.kind {
	case kindBool:
		return strconv.FormatBool(v.bits != 0)
	case kindInt64:
		return strconv.FormatInt(f.integer(v), 10)
	case kindFloat64:
		return floatText(f.float(v))
	case kindBytes:
		return base64.StdEncoding.EncodeToString(v.b)
	case kindJSON:
		return jsonText(v.b)
	case kindNumeric, kindBigNumeric:
		n, err := f.decimal(v)
		if err != nil {
			return string(v.b)
		}
		return decimalText(n, f.column.decimalScale())
	case kindDate, kindDatetime, kindTime, kindTimestamp:
		n, err := f.micros(v)
		if err != nil {
			return string(v.b)
		}
		return f.column.timeText(n)
	}
	return string(v.b)
}

func (c *column) timeText(n int64) string {
	switch c.kind {
	case kindDate:
		return dateText(n)
	case kindDatetime:
		return datetimeText(n)
	case kindTime:
		return timeText(n)
	}
	return timestampText(n)
}

func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// appendKey appends a form of the value that is equal for equal values,
// whatever protobuf type they came in.
func (f *fieldPlan) appendKey(dst []byte, v wireValue) []byte {
	switch f.column.kind {
	case kindBool:
		if v.bits != 0 {
			return append(dst, 1, 1)
		}
		return append(dst, 1, 0)
	case kindInt64:
		return binary.BigEndian.AppendUint64(append(dst, 8), uint64(f.integer(v))^1<<63)
	case kindDate, kindDatetime, kindTimestamp:
		n, _ := f.micros(v)
		return binary.BigEndian.AppendUint64(append(dst, 8), uint64(n)^1<<63)
	case kindNumeric, kindBigNumeric:
		text := f.plainText(v)
		return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return append(binary.AppendUvarint(dst, uint64(len(v.b))), v.b...)
}

// rowProblem is why a row is refused. Its text may hold the value, as the
// service's does: a client must not log it.
type rowProblem struct {
	rule string
	text string
}

func (p *rowProblem) Error() string { return p.text }

func (f *fieldPlan) problem(v wireValue, err error) *rowProblem {
	shown := strconv.FormatUint(v.bits, 10)
	if f.isText() {
		shown = strconv.QuoteToASCII(string(v.b[:min(len(v.b), 64)]))
	}
	return &rowProblem{
		rule: valueRules[f.column.kind],
		text: fmt.Sprintf("Invalid %s value %s for field %s: %v", f.column.kind, shown, f.column.name, err),
	}
}
