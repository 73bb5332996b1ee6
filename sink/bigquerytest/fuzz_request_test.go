package bigquerytest

import (
	"testing"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// oddDescriptor has an enum, a wrapper, a Timestamp and required fields.
func oddDescriptor() *descriptorpb.DescriptorProto {
	d := descriptor(field{name: "string", typ: protoEnum}, field{name: "int64", typ: protoMessage}, field{name: "timestamp", typ: protoMessage},
		field{name: "r_string", typ: protoEnum, repeated: true}, field{name: "numeric", typ: protoMessage}, field{name: "_CHANGE_TYPE", typ: protoString})
	for i, name := range []string{".Row.E", ".google.protobuf.Int64Value", ".google.protobuf.Timestamp", ".Row.E", ".google.protobuf.BytesValue"} {
		d.Field[i].TypeName = new(name)
	}
	d.Field[1].Label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum()
	d.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: new("E"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: new("A"), Number: new(int32(0))}}}}
	return d
}

// FuzzRequest takes two requests as bytes, on one connection: nothing panics,
// each gets one answer, and what is stored can be read.
func FuzzRequest(f *testing.F) {
	s := startServer(f, Config{NullKeys: true, ExactJSON: true})
	everyTable(f, s)
	first := appendRequest(everyStream, oddDescriptor(), wire(0, wire(7), wire(1, 5), []byte{0, 0}, wire([]byte{1}), "UPSERT"))
	first.MissingValueInterpretations = map[string]storagepb.AppendRowsRequest_MissingValueInterpretation{"json": storagepb.AppendRowsRequest_DEFAULT_VALUE}
	offset := appendRequest("", everyDescriptor())
	offset.Offset = wrapperspb.Int64(1)
	arrow := &storagepb.AppendRowsRequest{WriteStream: everyStream, Rows: &storagepb.AppendRowsRequest_ArrowRows{}}
	for _, second := range []*storagepb.AppendRowsRequest{first, offset, arrow, appendRequest("", nil, wire("x"))} {
		a, err := proto.Marshal(first)
		if err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(second)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c := s.openConnection()
		defer s.closeConnection(c)
		for _, data := range [][]byte{a, b} {
			var req storagepb.AppendRowsRequest
			if proto.Unmarshal(data, &req) != nil {
				return
			}
			if got := c.append(&req); (got.response == nil) == (got.end == nil) {
				t.Fatal("neither an answer nor an end, or both")
			}
		}
		s.Rows(project, "d", "e")
	})
}

// FuzzJSON shows accepted values: what is shown is accepted, shown the same
// again, and exact.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e-3,18446744073709551616],"a":"\u2028<"}`, "1e400", "-0", "0.1234567890123456789"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		exact := checkJSON([]byte(text), true)
		if err := checkJSON([]byte(text), false); err != nil {
			if exact == nil {
				t.Fatalf("%q is exact, and refused: %v", text, err)
			}
			return
		}
		shown := jsonText([]byte(text))
		if err := checkJSON([]byte(shown), true); err != nil {
			t.Fatalf("%q became %q: %v", text, shown, err)
		}
		if again := jsonText([]byte(shown)); again != shown {
			t.Fatalf("%q became %q, then %q", text, shown, again)
		}
	})
}
