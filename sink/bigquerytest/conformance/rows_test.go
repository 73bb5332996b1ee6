package conformance

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/timestamppb" // rows may have them
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// rowSchema is a writer schema.
type rowSchema struct {
	proto    *descriptorpb.DescriptorProto
	resolved protoreflect.MessageDescriptor
}

// rowsOf makes a writer schema of fields "[repeated] TYPE NAME[=COLUMN]", where
// TYPE is a scalar type, "status" (an enum) or a message of google.protobuf.
func rowsOf(fields ...string) *rowSchema {
	d := &descriptorpb.DescriptorProto{Name: new("Row")}
	for i, f := range fields {
		f, repeated := strings.CutPrefix(f, "repeated ")
		typ, name, _ := strings.Cut(f, " ")
		name, column, _ := strings.Cut(name, "=")
		fd := &descriptorpb.FieldDescriptorProto{Name: new(name), Number: new(int32(i + 1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if repeated {
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		switch scalar, ok := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(typ)]; {
		case typ == "status":
			fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), new(".Row.Status")
			d.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: new("Status"), Value: []*descriptorpb.EnumValueDescriptorProto{
				{Name: new("NEW"), Number: proto.Int32(0)}, {Name: new("DONE"), Number: proto.Int32(7)},
			}}}
		case ok:
			fd.Type = descriptorpb.FieldDescriptorProto_Type(scalar).Enum()
		default:
			fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new("."+typ)
		}
		if column != "" {
			fd.Options = &descriptorpb.FieldOptions{}
			proto.SetExtension(fd.Options, storagepb.E_ColumnName, column)
		}
		d.Field = append(d.Field, fd)
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("row.proto"), Syntax: new("proto2"), MessageType: []*descriptorpb.DescriptorProto{d},
		Dependency: []string{"google/protobuf/wrappers.proto", "google/protobuf/timestamp.proto"},
	}, protoregistry.GlobalFiles)
	if err != nil {
		panic(err) // the cases are constants
	}
	return &rowSchema{d, file.Messages().Get(0)}
}

// row turns protobuf's JSON form into wire bytes.
func (s *rowSchema) row(text string) ([]byte, error) {
	m := dynamicpb.NewMessage(s.resolved)
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("row %s: %w", text, err)
	}
	return proto.Marshal(m)
}

// valueText is a value of a query's result as the cases write it.
func valueText(v bigquery.Value) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case *big.Rat:
		return strings.TrimSuffix(strings.TrimRight(x.FloatString(38), "0"), ".")
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case time.Time:
		return x.UTC().Format("2006-01-02T15:04:05.000000Z")
	case []bigquery.Value:
		parts := make([]string, len(x))
		for i, item := range x {
			parts[i] = valueText(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprint(v)
}
