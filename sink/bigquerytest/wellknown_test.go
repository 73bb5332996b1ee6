package bigquerytest

import (
	"math"
	"testing"

	"cloud.google.com/go/bigquery/storage/managedwriter/adapt"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const tStream = "projects/p/datasets/d/tables/t/streams/_default"

// messageField is a descriptor with the one field c, a message of that name.
func messageField(typeName string) *descriptorpb.DescriptorProto {
	d := descriptor(field{name: "c", typ: protoMessage})
	d.Field[0].TypeName = new(typeName)
	return d
}

func message(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return wire(b)
}

// shownOf stores rows in a table with the one column c and returns what it holds.
func shownOf(t *testing.T, column string, d *descriptorpb.DescriptorProto, rows ...[]byte) []any {
	t.Helper()
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, column))
	openStream(t, s).stored(appendRequest(tStream, d, rows...))
	var out []any
	for _, r := range s.Rows(project, "d", "t") {
		out = append(out, r["c"])
	}
	return out
}

func TestWrapperMessages(t *testing.T) {
	for _, c := range []struct {
		column, message string
		values          []proto.Message
		want            []any
	}{
		{"c BOOL", "BoolValue", []proto.Message{wrapperspb.Bool(true), wrapperspb.Bool(false)}, []any{"true", "false"}},
		{"c BYTES", "BytesValue", []proto.Message{wrapperspb.Bytes([]byte{0xff, 0}), wrapperspb.Bytes(nil)}, []any{"/wA=", ""}},
		{"c FLOAT64", "DoubleValue", []proto.Message{wrapperspb.Double(1.5), wrapperspb.Double(0)}, []any{"1.5", "0"}},
		{"c FLOAT64", "FloatValue", []proto.Message{wrapperspb.Float(-2.5)}, []any{"-2.5"}},
		{"c INT64", "Int32Value", []proto.Message{wrapperspb.Int32(-7)}, []any{"-7"}},
		{"c INT64", "Int64Value", []proto.Message{wrapperspb.Int64(math.MinInt64), wrapperspb.Int64(0)}, []any{"-9223372036854775808", "0"}},
		{"c INT64", "UInt32Value", []proto.Message{wrapperspb.UInt32(math.MaxUint32)}, []any{"4294967295"}},
		{"c NUMERIC", "BytesValue", []proto.Message{wrapperspb.Bytes([]byte{0x00, 0xca, 0x9a, 0x3b})}, []any{"1"}},
		{"c STRING", "StringValue", []proto.Message{wrapperspb.String("ä"), wrapperspb.String("")}, []any{"ä", ""}},
		{"c TIMESTAMP", "Timestamp", []proto.Message{
			&timestamppb.Timestamp{Seconds: 1, Nanos: 999_999_999}, &timestamppb.Timestamp{Seconds: -62135596800}, &timestamppb.Timestamp{},
		}, []any{"1970-01-01T00:00:01.999999Z", "0001-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z"}},
	} {
		var rows [][]byte
		for _, v := range c.values {
			rows = append(rows, message(t, v))
		}
		if diff := cmp.Diff(c.want, shownOf(t, c.column, messageField(".google.protobuf."+c.message), rows...)); diff != "" {
			t.Errorf("%s from %s: %s", c.column, c.message, diff)
		}
	}
	if diff := cmp.Diff([]any{nil}, shownOf(t, "c INT64", messageField(".google.protobuf.Int64Value"), nil)); diff != "" {
		t.Errorf("an absent wrapper: %s", diff)
	}
}

// What the Go client makes of a message that refers to a wrapper.
func TestNormalizedWrapper(t *testing.T) {
	d, err := adapt.NormalizeDescriptor((&wrapperspb.Int64Value{}).ProtoReflect().Descriptor())
	if err != nil {
		t.Fatal(err)
	}
	copied := messageField(".Row.google_protobuf_Int64Value")
	copied.NestedType = []*descriptorpb.DescriptorProto{d}
	d.Name = new("google_protobuf_Int64Value")
	if diff := cmp.Diff([]any{"5"}, shownOf(t, "c INT64", copied, message(t, wrapperspb.Int64(5)))); diff != "" {
		t.Fatal(diff)
	}
}

func TestRefusedMessages(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "c TIMESTAMP"))
	insertTable(t, svc, definition("u", nil, "c INT64"))
	for _, other := range []string{"StringValue", "Int64Value"} {
		wantAppend(t, openStream(t, s).ask(appendRequest(tStream, messageField(".google.protobuf."+other))), codes.InvalidArgument, "mismatched with BigQuery field at c", 0)
	}
	stream := openStream(t, s)
	stream.stored(appendRequest(tStream, messageField(".google.protobuf.Timestamp")))
	for _, bad := range []*timestamppb.Timestamp{{Seconds: -62135596801}, {Seconds: 253402300800}, {Seconds: math.MaxInt64}, {Nanos: -1}, {Nanos: 1_000_000_000}} {
		wantRow(t, stream.ask(appendRequest("", nil, message(t, bad))), 0, "Invalid TIMESTAMP value")
	}
	wantRow(t, stream.ask(appendRequest("", nil, wire(wire("text")))), 0, "a Timestamp with field 1 of wire type 2")
	wantRow(t, stream.ask(appendRequest("", nil, wire([]byte{0xff}))), 0, "Invalid TIMESTAMP value")
	stream = openStream(t, s)
	stream.stored(appendRequest("projects/p/datasets/d/tables/u/streams/_default", messageField(".google.protobuf.Int64Value")))
	wantRow(t, stream.ask(appendRequest("", nil, wire(wire(nil, 1)))), 0, "a wrapper with field 2 of wire type 0")
}

func TestEnums(t *testing.T) {
	status := func() *descriptorpb.DescriptorProto {
		d := descriptor(field{name: "c", typ: protoEnum})
		d.Field[0].TypeName = new(".Row.Status")
		d.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: new("Status"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: new("NEW"), Number: proto.Int32(0)}, {Name: new("DONE"), Number: proto.Int32(7)},
		}}}
		return d
	}
	if diff := cmp.Diff([]any{"7", "0"}, shownOf(t, "c INT64", status(), wire(7), wire(0))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"DONE", "NEW"}, shownOf(t, "c STRING", status(), wire(7), wire(0))); diff != "" {
		t.Error(diff)
	}
	list := status()
	list.Field[0].Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	packed := protowire.AppendVarint(protowire.AppendVarint(nil, 7), 0)
	if diff := cmp.Diff([]any{[]any{"DONE", "NEW"}}, shownOf(t, "c STRING REPEATED", list, wire(packed))); diff != "" {
		t.Error(diff)
	}
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "c STRING"))
	stream := openStream(t, s)
	stream.stored(appendRequest(tStream, status()))
	wantRow(t, stream.ask(appendRequest("", nil, wire(3))), 0, "no value of the enum")
	insertTable(t, svc, definition("b", nil, "c BOOL"))
	wantAppend(t, openStream(t, s).ask(appendRequest("projects/p/datasets/d/tables/b/streams/_default", status())), codes.InvalidArgument, "mismatched", 0)
}
