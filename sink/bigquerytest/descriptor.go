package bigquerytest

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

type bigInt = *big.Int

var (
	errUTF8    = errors.New("not valid UTF-8")
	errTooLong = errors.New("longer than the column")
)

// Names of the pseudo-columns, lower-case: the service doesn't look at case.
const (
	changeTypeName = "_change_type"
	sequenceName   = "_change_sequence_number"
)

// role is what a field of the writer's descriptor stands for.
type role uint8

const (
	roleColumn role = iota
	roleChangeType
	roleSequence
)

// fieldPlan is one field of the writer's descriptor, bound to what it fills.
type fieldPlan struct {
	role   role
	proto  protoType // of the plain value: what a wrapper holds, STRING for an enum's name
	form   form
	wire   protowire.Type
	enum   protoreflect.EnumValueDescriptors // of formEnumName
	column *column                           // nil for pseudo-columns
	keyAt  int                               // place in the primary key, or -1
	slot   int                               // place in rowPlan.fields
	exact  bool                              // Config.ExactJSON
}

// rowPlan reads the rows of one writer schema for one version of a table's
// schema. It never changes.
type rowPlan struct {
	schema   *schema
	fields   []*fieldPlan
	dense    []*fieldPlan // by field number, for small ones
	sparse   map[protowire.Number]*fieldPlan
	cdc      bool // the descriptor has _CHANGE_TYPE
	keys     [maxKeyColumns]*fieldPlan
	required []*fieldPlan // of REQUIRED columns
	labelled []*fieldPlan // with the label required in the writer's descriptor
	absent   []*column    // REQUIRED columns that the descriptor leaves out
	position *fieldPlan
	commit   *fieldPlan
}

const (
	maxDense = 1 << 12
	// maxFields bounds a descriptor: a table has at most 10,000 columns.
	maxFields = 10_000 + 2
)

// Columns whose values Applied and the latencies are taken from.
const (
	positionColumn   = "_cdc_position"
	commitTimeColumn = "_cdc_commit_time"
)

// newRowPlan binds a writer's descriptor to a table.
func newRowPlan(d *descriptorpb.DescriptorProto, s *schema) (*rowPlan, *appendError) {
	if len(d.GetField()) > maxFields {
		return nil, invalidArgument(ruleDescriptor, fmt.Sprintf("Invalid proto schema: %d fields", len(d.GetField())))
	}
	message, err := checkDescriptor(d)
	if err != nil {
		return nil, invalidArgument(ruleDescriptor, "Invalid proto schema: "+err.Error())
	}
	p := &rowPlan{schema: s, sparse: map[protowire.Number]*fieldPlan{}}
	seen := map[string]bool{}
	var extra []string
	for _, fd := range d.GetField() {
		name := columnName(fd)
		lower := strings.ToLower(name)
		if seen[lower] {
			return nil, invalidArgument(ruleDescriptor, fmt.Sprintf("Invalid proto schema: two fields for column %s", name))
		}
		seen[lower] = true
		f, refused := bindField(fd, message.Fields().ByNumber(protowire.Number(fd.GetNumber())), lower, s)
		if refused != nil {
			return nil, refused
		}
		if f == nil {
			extra = append(extra, name)
			continue
		}
		p.add(protowire.Number(fd.GetNumber()), f)
		if fd.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REQUIRED {
			p.labelled = append(p.labelled, f)
		}
	}
	if len(extra) > 0 {
		return nil, extraFields(extra)
	}
	return p, p.finish(seen)
}

func (p *rowPlan) add(n protowire.Number, f *fieldPlan) {
	f.slot = len(p.fields)
	p.fields = append(p.fields, f)
	if n < maxDense {
		for int(n) >= len(p.dense) {
			p.dense = append(p.dense, nil)
		}
		p.dense[n] = f
	} else {
		p.sparse[n] = f
	}
	switch {
	case f.role == roleChangeType:
		p.cdc = true
	case f.column == nil:
	case f.column.required:
		p.required = append(p.required, f)
	}
	if f.keyAt >= 0 {
		p.keys[f.keyAt] = f
	}
	if f.column != nil && f.column.kind == kindString && f.column.name == positionColumn {
		p.position = f
	}
	if f.column != nil && f.column.kind == kindTimestamp && f.column.name == commitTimeColumn {
		p.commit = f
	}
}

func (p *rowPlan) field(n protowire.Number) *fieldPlan {
	if n < maxDense {
		if int(n) < len(p.dense) {
			return p.dense[n]
		}
		return nil
	}
	return p.sparse[n]
}

// finish checks what only the whole descriptor shows.
func (p *rowPlan) finish(seen map[string]bool) *appendError {
	if p.cdc && len(p.schema.keys) == 0 {
		return invalidArgument(ruleUpsertNeedsKey, "Create UPSERT stream is not supported for primary key disabled table")
	}
	if !p.cdc && seen[sequenceName] {
		return extraFields([]string{sequenceName})
	}
	for _, k := range p.schema.keys {
		if p.cdc && !seen[strings.ToLower(k.name)] {
			return invalidArgument(ruleKeyInRow, fmt.Sprintf("The writer schema has no field for primary key column %s", k.name))
		}
	}
	for _, c := range p.schema.columns {
		if c.required && !seen[strings.ToLower(c.name)] {
			p.absent = append(p.absent, c)
		}
	}
	return nil
}

// bindField returns nil without an error for a field that the table lacks.
func bindField(fd *descriptorpb.FieldDescriptorProto, resolved protoreflect.FieldDescriptor, lower string, s *schema) (*fieldPlan, *appendError) {
	repeated := fd.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	f := &fieldPlan{proto: fd.GetType(), wire: protowire.BytesType, keyAt: -1}
	if lower == changeTypeName || lower == sequenceName {
		f.role = roleChangeType
		if lower == sequenceName {
			f.role = roleSequence
		}
		if f.proto != protoString || repeated {
			return nil, mismatch(fd, "STRING")
		}
		return f, nil
	}
	f.column = s.column(lower)
	if f.column == nil {
		return nil, nil
	}
	f.keyAt = slices.Index(s.keys, f.column)
	if !f.bindType(fd.GetType(), resolved) || repeated != f.column.repeated {
		return nil, mismatch(fd, f.column.kind.restName())
	}
	return f, nil
}

func mismatch(fd *descriptorpb.FieldDescriptorProto, want string) *appendError {
	got := strings.ToLower(strings.TrimPrefix(fd.GetType().String(), "TYPE_"))
	return invalidArgument(ruleFieldType, fmt.Sprintf(
		"The proto field mismatched with BigQuery field at %s, the proto field type %s, BigQuery field type %s", fd.GetName(), got, want))
}

func extraFields(names []string) *appendError {
	e := invalidArgument(ruleExtraFields,
		"Input schema has more fields than BigQuery schema, extra fields: '"+strings.Join(names, ",")+"'")
	e.storage = storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS
	return e
}

// columnName is the column_name annotation, which always wins, or the field's name.
//
// https://docs.cloud.google.com/bigquery/docs/schemas#flexible-column-names
func columnName(fd *descriptorpb.FieldDescriptorProto) string {
	if fd.GetOptions() != nil && proto.HasExtension(fd.GetOptions(), storagepb.E_ColumnName) {
		if name, ok := proto.GetExtension(fd.GetOptions(), storagepb.E_ColumnName).(string); ok && name != "" {
			return name
		}
	}
	return fd.GetName()
}

// checkDescriptor resolves the descriptor, if protobuf itself takes it as a
// self-contained proto2 message.
//
// https://docs.cloud.google.com/bigquery/docs/write-api#proto_buffer_handling
func checkDescriptor(d *descriptorpb.DescriptorProto) (protoreflect.MessageDescriptor, error) {
	if len(d.GetField()) == 0 {
		return nil, errors.New("a message without fields")
	}
	for _, fd := range d.GetField() {
		if fd.GetNumber() <= 0 {
			return nil, fmt.Errorf("field number %d", fd.GetNumber())
		}
	}
	file := &descriptorpb.FileDescriptorProto{
		Name:        new("BqMessage.proto"),
		Syntax:      new("proto2"),
		Dependency:  wellKnownFiles,
		MessageType: []*descriptorpb.DescriptorProto{d},
	}
	resolved, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	return resolved.Messages().Get(0), nil
}
