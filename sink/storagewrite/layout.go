package storagewrite

import (
	"fmt"
	"strconv"
	"strings"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The pseudo-columns of change data capture. They are in the descriptor and not
// in the table.
const (
	changeTypeColumn = "_CHANGE_TYPE"
	sequenceColumn   = "_CHANGE_SEQUENCE_NUMBER"
)

// Table is a destination table.
type Table struct {
	Path    string // projects/P/datasets/D/tables/T
	Columns []Column
	Key     []string // the primary key's columns
	// PositionColumn and CommitTimeColumn, two of Columns, get the change's
	// Position (STRING) and commit time (TIMESTAMP).
	PositionColumn, CommitTimeColumn string
}

// Column is one column of a destination table.
type Column struct {
	Name     string
	Type     string // its GoogleSQL name, such as INT64
	Repeated bool
}

// Layout is how the rows of a destination table look on the wire: field i+1 is
// column i, then come the two pseudo-columns. Fields have neutral names and the
// column's name as an annotation, which takes precedence
// (https://cloud.google.com/bigquery/docs/schemas#flexible-column-names); made
// from a column's name, some would be no names in protobuf. All are optional:
// a row of a delete has the key alone.
type Layout struct {
	table      Table
	descriptor *descriptorpb.DescriptorProto
	fields     map[string]int // lower-cased column name → index in table.Columns
	upsertTag  []byte         // _CHANGE_TYPE with its value
	deleteTag  []byte
	seqTag     []byte
	posTag     []byte
	timeTag    []byte
}

// NewLayout returns the layout of t. It returns an error if a type is unknown or
// the descriptor isn't valid.
func NewLayout(t Table) (*Layout, error) {
	l := &Layout{table: t, descriptor: &descriptorpb.DescriptorProto{Name: new("Row")}, fields: make(map[string]int, len(t.Columns))}
	for i, c := range t.Columns {
		typ, ok := wireTypes[c.Type]
		if !ok {
			return nil, fmt.Errorf("column %q: no encoding for type %s", c.Name, c.Type)
		}
		options := &descriptorpb.FieldOptions{}
		proto.SetExtension(options, storagepb.E_ColumnName, c.Name)
		label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		if c.Repeated {
			label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		}
		l.addField("f"+strconv.Itoa(i+1), typ, label, options)
		l.fields[strings.ToLower(c.Name)] = i
	}
	const text, optional = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	n := protowire.Number(len(t.Columns))
	l.addField(changeTypeColumn, text, optional, nil)
	l.addField(sequenceColumn, text, optional, nil)
	l.upsertTag = protowire.AppendString(protowire.AppendTag(nil, n+1, protowire.BytesType), "UPSERT")
	l.deleteTag = protowire.AppendString(protowire.AppendTag(nil, n+1, protowire.BytesType), "DELETE")
	l.seqTag = protowire.AppendTag(nil, n+2, protowire.BytesType)

	pos, ok1 := l.fields[strings.ToLower(t.PositionColumn)]
	at, ok2 := l.fields[strings.ToLower(t.CommitTimeColumn)]
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("table %s has no columns for position and commit time", t.Path)
	}
	l.posTag = protowire.AppendTag(nil, protowire.Number(pos+1), protowire.BytesType)
	l.timeTag = protowire.AppendTag(nil, protowire.Number(at+1), protowire.VarintType)
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("descriptor of %s: %w", t.Path, err)
	}
	return l, nil
}

// wireTypes: TIMESTAMP is microseconds and DATE is days since 1970-01-01; the
// decimal types and the civil times go as text
// (https://cloud.google.com/bigquery/docs/supported-data-types).
var wireTypes = map[string]descriptorpb.FieldDescriptorProto_Type{
	"BOOL":       descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	"INT64":      descriptorpb.FieldDescriptorProto_TYPE_INT64,
	"FLOAT64":    descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	"NUMERIC":    descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"BIGNUMERIC": descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"STRING":     descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"BYTES":      descriptorpb.FieldDescriptorProto_TYPE_BYTES,
	"DATE":       descriptorpb.FieldDescriptorProto_TYPE_INT32,
	"TIME":       descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"DATETIME":   descriptorpb.FieldDescriptorProto_TYPE_STRING,
	"TIMESTAMP":  descriptorpb.FieldDescriptorProto_TYPE_INT64,
	"JSON":       descriptorpb.FieldDescriptorProto_TYPE_STRING,
}

func (l *Layout) addField(name string, typ descriptorpb.FieldDescriptorProto_Type, label descriptorpb.FieldDescriptorProto_Label, options *descriptorpb.FieldOptions) {
	l.descriptor.Field = append(l.descriptor.Field, &descriptorpb.FieldDescriptorProto{
		Name: new(name), Number: new(int32(len(l.descriptor.Field) + 1)),
		Type: typ.Enum(), Label: label.Enum(), Options: options,
	})
}

// validate resolves the descriptor locally: BigQuery answers a bad one with
// errors that don't say so.
func (l *Layout) validate() error {
	_, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("row.proto"), Syntax: new("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{l.descriptor},
	}, nil)
	return err
}
