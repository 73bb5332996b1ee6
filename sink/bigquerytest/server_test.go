package bigquerytest

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

const project = "p"

// startServer starts a server without delays and without the limit of
// tables.insert unless c asks for them.
func startServer(tb testing.TB, c Config) *Server {
	tb.Helper()
	if c.CreateDelay == 0 {
		c.CreateDelay = -1
	}
	if c.SchemaDelay == 0 {
		c.SchemaDelay = -1
	}
	if c.InsertsPerSecond == 0 {
		c.InsertsPerSecond = -1
	}
	s, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// restClient is Google's REST client.
func restClient(tb testing.TB, s *Server) *bigquery.Client {
	tb.Helper()
	c, err := bigquery.NewClient(context.Background(), project, option.WithEndpoint(s.Addr()), option.WithoutAuthentication())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// dial opens a gRPC connection for the generated client.
func dial(tb testing.TB, s *Server) *grpc.ClientConn {
	tb.Helper()
	conn, err := grpc.NewClient(s.StorageAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

// writeClient is Google's managedwriter client.
func writeClient(tb testing.TB, s *Server) *managedwriter.Client {
	tb.Helper()
	c, err := managedwriter.NewClient(context.Background(), project,
		option.WithEndpoint(s.StorageAddr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func makeDataset(tb testing.TB, c *bigquery.Client, id string) {
	tb.Helper()
	if err := c.Dataset(id).Create(context.Background(), &bigquery.DatasetMetadata{Location: "EU"}); err != nil {
		tb.Fatal(err)
	}
}

// field is one field of a writer's descriptor.
type field struct {
	name     string
	typ      protoType
	repeated bool
	column   string // the annotation, "" for none
}

// descriptor numbers fields from 1.
func descriptor(fields ...field) *descriptorpb.DescriptorProto {
	d := &descriptorpb.DescriptorProto{Name: new("Row")}
	for i, f := range fields {
		fd := &descriptorpb.FieldDescriptorProto{
			Name: new(f.name), Number: new(int32(i + 1)), Type: f.typ.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if f.repeated {
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if f.column != "" {
			fd.Options = &descriptorpb.FieldOptions{}
			proto.SetExtension(fd.Options, storagepb.E_ColumnName, f.column)
		}
		d.Field = append(d.Field, fd)
	}
	return d
}

// wire writes values as fields 1, 2, …; nil leaves one out.
func wire(values ...any) []byte {
	var b []byte
	for i, v := range values {
		n := protowire.Number(i + 1)
		switch x := v.(type) {
		case nil:
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), x)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), x)
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(int64(x)))
		case int64:
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(x))
		case bool:
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), protowire.EncodeBool(x))
		default:
			panic("wire: unknown type")
		}
	}
	return b
}

// users is the table that most tests use: id INT64 is the key, name STRING.
func users(tb testing.TB, s *Server, rest *bigquery.Client) {
	tb.Helper()
	makeDataset(tb, rest, "d")
	err := rest.Dataset("d").Table("users").Create(context.Background(), &bigquery.TableMetadata{
		Schema: bigquery.Schema{
			{Name: "id", Type: bigquery.IntegerFieldType},
			{Name: "name", Type: bigquery.StringFieldType},
		},
		TableConstraints: &bigquery.TableConstraints{PrimaryKey: &bigquery.PrimaryKey{Columns: []string{"id"}}},
		Clustering:       &bigquery.Clustering{Fields: []string{"id"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
}

var usersDescriptor = descriptor(
	field{name: "id", typ: protoInt64}, field{name: "name", typ: protoString},
	field{name: "_CHANGE_TYPE", typ: protoString}, field{name: "_CHANGE_SEQUENCE_NUMBER", typ: protoString},
)

const usersStream = "projects/p/datasets/d/tables/users/streams/_default"

func TestGoogleClientsWriteAndRead(t *testing.T) {
	ctx := t.Context()
	s := startServer(t, Config{Record: true})
	rest := restClient(t, s)
	users(t, s, rest)

	w, err := writeClient(t, s).NewManagedStream(ctx,
		managedwriter.WithDestinationTable("projects/p/datasets/d/tables/users"),
		managedwriter.WithType(managedwriter.DefaultStream),
		managedwriter.WithSchemaDescriptor(usersDescriptor))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	send := func(rows ...[]byte) {
		t.Helper()
		r, err := w.AppendRows(ctx, rows)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.GetResult(ctx); err != nil {
			t.Fatal(err)
		}
	}
	send(wire(1, "ann", "UPSERT", "1/1"), wire(2, "bob", "UPSERT", "1/2"))
	send(wire(2, nil, "DELETE", "1/3"), wire(1, "anna", "UPSERT", "1/4"), wire(1, "old", "UPSERT", "1/2"))

	rows := s.Rows(project, "d", "users")
	if len(rows) != 1 || rows[0]["id"] != "1" || rows[0]["name"] != "anna" {
		t.Fatalf("rows = %v", rows)
	}
	it, err := rest.Query("SELECT id, name FROM d.users WHERE id = 1").Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []bigquery.Value
	if err := it.Next(&got); err != nil || got[0] != int64(1) || got[1] != "anna" {
		t.Fatalf("query = %v, %v", got, err)
	}
	job, err := rest.Query("ALTER TABLE d.users SET OPTIONS (max_staleness = INTERVAL 10 MINUTE)").Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := job.Wait(ctx); err != nil || st.Err() != nil {
		t.Fatal(err, st)
	}
	md, err := rest.Dataset("d").Table("users").Metadata(ctx)
	if err != nil || md.MaxStaleness == nil || md.MaxStaleness.ToDuration() != 10*time.Minute {
		t.Fatalf("metadata = %+v, %v", md, err)
	}
	c := s.Counters()
	if c.Rows != 5 || c.Superseded != 1 || c.Deletes != 1 || len(s.Applied()) != 5 {
		t.Fatalf("counters = %+v", c)
	}
}
