package bigquerytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// form is how a value lies in its field.
type form uint8

const (
	formPlain     form = iota
	formWrapped        // field 1 of a wrapper message
	formTimestamp      // google.protobuf.Timestamp
	formEnumName       // a number that stands for the name of an enum's value
)

const (
	protoMessage = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	protoEnum    = descriptorpb.FieldDescriptorProto_TYPE_ENUM
)

// acceptedMessages are the messages of package google.protobuf that each
// column type takes.
//
// https://docs.cloud.google.com/bigquery/docs/supported-data-types
var acceptedMessages = map[kind][]string{
	kindBool:       {"BoolValue"},
	kindBytes:      {"BytesValue"},
	kindFloat64:    {"DoubleValue", "FloatValue"},
	kindInt64:      {"Int32Value", "Int64Value", "UInt32Value"},
	kindNumeric:    {"BytesValue"},
	kindBigNumeric: {"BytesValue"},
	kindString:     {"StringValue"},
	kindTimestamp:  {"Timestamp"},
}

var wrapped = map[string]protoType{
	"BoolValue": protoBool, "BytesValue": protoBytes, "StringValue": protoString,
	"DoubleValue": protoDouble, "FloatValue": protoFloat,
	"Int32Value": protoInt32, "Int64Value": protoInt64, "UInt32Value": protoUint32,
}

// wellKnownFiles may be referred to; no other message outside of the
// descriptor may.
var wellKnownFiles = []string{
	wrapperspb.File_google_protobuf_wrappers_proto.Path(),
	timestamppb.File_google_protobuf_timestamp_proto.Path(),
}

// wellKnownName is the message's name within google.protobuf, or "". The Go
// client's NormalizeDescriptor copies such a message into the descriptor as
// google_protobuf_NAME.
func wellKnownName(m protoreflect.MessageDescriptor) string {
	if name, ok := strings.CutPrefix(string(m.FullName()), "google.protobuf."); ok {
		return name
	}
	name, ok := strings.CutPrefix(string(m.Name()), "google_protobuf_")
	if !ok {
		return ""
	}
	return name
}

// bindType sets how the field's values are read and says whether the column
// takes them.
func (f *fieldPlan) bindType(t protoType, fd protoreflect.FieldDescriptor) bool {
	f.proto = t
	switch t {
	case protoEnum:
		f.wire, f.proto = protowire.VarintType, protoInt32
		if f.column.kind == kindString {
			f.form, f.proto, f.enum = formEnumName, protoString, fd.Enum().Values()
		}
		return f.column.kind == kindString || f.column.kind == kindInt64
	case protoMessage:
		f.wire = protowire.BytesType
		name := wellKnownName(fd.Message())
		if name == "Timestamp" {
			f.form, f.proto = formTimestamp, protoInt64
		} else {
			f.form, f.proto = formWrapped, wrapped[name]
		}
		return slices.Contains(acceptedMessages[f.column.kind], name)
	}
	f.wire = wireType(t)
	return slices.Contains(accepted[f.column.kind], t)
}

var (
	errEnum  = errors.New("no value of the enum")
	errNanos = errors.New("nanoseconds out of range")
)

// open takes the plain value out of a message or an enum.
func (f *fieldPlan) open(v wireValue) (wireValue, error) {
	switch f.form {
	case formWrapped:
		return wrappedValue(v.b, wireType(f.proto))
	case formTimestamp:
		return timestampValue(v.b)
	case formEnumName:
		if e := f.enum.ByNumber(protoreflect.EnumNumber(int32(v.bits))); e != nil {
			return wireValue{b: []byte(e.Name())}, nil
		}
		return v, errEnum
	}
	return v, nil
}

// wrappedValue is field 1 of a wrapper; one that is left out is zero, as in
// every proto3 message.
func wrappedValue(b []byte, want protowire.Type) (out wireValue, err error) {
	err = eachField(b, func(number protowire.Number, typ protowire.Type, v wireValue) error {
		if number != 1 || typ != want {
			return fmt.Errorf("a wrapper with field %d of wire type %d", number, typ)
		}
		out = v
		return nil
	})
	return out, err
}

// timestampValue is a Timestamp in microseconds; what is finer is cut off.
func timestampValue(b []byte) (wireValue, error) {
	var part [3]int64
	err := eachField(b, func(number protowire.Number, typ protowire.Type, v wireValue) error {
		if number > 2 || typ != protowire.VarintType {
			return fmt.Errorf("a Timestamp with field %d of wire type %d", number, typ)
		}
		part[number] = int64(v.bits)
		return nil
	})
	seconds, nanos := part[1], int64(int32(part[2]))
	switch {
	case err != nil:
		return wireValue{}, err
	case nanos < 0 || nanos > 999_999_999:
		return wireValue{}, errNanos
	case seconds < minTimestampMicros/1_000_000-1 || seconds > maxTimestampMicros/1_000_000:
		return wireValue{}, errRange
	}
	return wireValue{bits: uint64(seconds*1_000_000 + nanos/1000)}, nil
}

// eachField visits the fields of a message up to the first that can't be read or
// that visit refuses.
func eachField(b []byte, visit func(protowire.Number, protowire.Type, wireValue) error) error {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		v, m := consume(b[n:], typ)
		if m < 0 {
			return errors.New("a message that can't be read")
		}
		if err := visit(number, typ, v); err != nil {
			return err
		}
		b = b[n+m:]
	}
	return nil
}
