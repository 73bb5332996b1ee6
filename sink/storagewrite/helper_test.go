package storagewrite

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"cdc/schema"
)

// typed is a column with the BigQuery type that it gets.
type typed struct {
	name, pg, bq string
	repeated     bool
}

// columnsOf makes both sides of a table whose first column is the key.
func columnsOf(tb testing.TB, columns []typed) (*schema.Table, *Layout) {
	tb.Helper()
	st := schema.Table{
		Source: schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
		Schema: "public", Name: "orders", Key: []int{0}, Version: 1,
	}
	dest := Table{Path: "projects/p/datasets/d/tables/orders", Key: []string{columns[0].name}, PositionColumn: "_cdc_position", CommitTimeColumn: "_cdc_commit_time"}
	for i, c := range columns {
		st.Columns = append(st.Columns, schema.Column{Name: c.name, Type: c.pg, AttNum: int16(i + 1)})
		dest.Columns = append(dest.Columns, Column{c.name, c.bq, c.repeated})
	}
	dest.Columns = append(dest.Columns, Column{"_cdc_position", "STRING", false}, Column{"_cdc_commit_time", "TIMESTAMP", false})
	t, err := schema.NewTable(st)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := NewLayout(dest)
	if err != nil {
		tb.Fatal(err)
	}
	return t, l
}

func planOf(tb testing.TB, l *Layout, t *schema.Table) *Plan {
	tb.Helper()
	p, err := l.Plan(t)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// message resolves a layout's descriptor.
func message(tb testing.TB, l *Layout) protoreflect.MessageDescriptor {
	tb.Helper()
	f, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("row.proto"), Syntax: new("proto2"), MessageType: []*descriptorpb.DescriptorProto{l.descriptor},
	}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return f.Messages().Get(0)
}

// decode reads a row with dynamicpb; it must know all of its fields.
func decode(tb testing.TB, md protoreflect.MessageDescriptor, row []byte) *dynamicpb.Message {
	tb.Helper()
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(row, m); err != nil {
		tb.Fatal(err)
	}
	if len(m.GetUnknown()) > 0 {
		tb.Fatal("unknown fields in a row")
	}
	return m
}
