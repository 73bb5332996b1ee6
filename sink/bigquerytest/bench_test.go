package bigquerytest

import (
	"context"
	"fmt"
	"testing"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/types/descriptorpb"
)

// wideFixture is a table of ten columns and rows as the sink sends them.
func wideFixture(tb testing.TB, s *Server, rest *bigquery.Client) *descriptorpb.DescriptorProto {
	tb.Helper()
	makeDataset(tb, rest, "w")
	columns := []struct {
		name  string
		typ   bigquery.FieldType
		proto protoType
	}{
		{"id", bigquery.IntegerFieldType, protoInt64},
		{"name", bigquery.StringFieldType, protoString},
		{"email", bigquery.StringFieldType, protoString},
		{"active", bigquery.BooleanFieldType, protoBool},
		{"amount", bigquery.NumericFieldType, protoString},
		{"payload", bigquery.JSONFieldType, protoString},
		{"born", bigquery.DateFieldType, protoInt32},
		{"updated", bigquery.TimestampFieldType, protoInt64},
		{positionColumn, bigquery.StringFieldType, protoString},
		{commitTimeColumn, bigquery.TimestampFieldType, protoInt64},
	}
	var schema bigquery.Schema
	var fields []field
	for i, c := range columns {
		schema = append(schema, &bigquery.FieldSchema{Name: c.name, Type: c.typ})
		fields = append(fields, field{name: fmt.Sprintf("f%d", i+1), typ: c.proto, column: c.name})
	}
	err := rest.Dataset("w").Table("wide").Create(context.Background(), &bigquery.TableMetadata{
		Schema:           schema,
		TableConstraints: &bigquery.TableConstraints{PrimaryKey: &bigquery.PrimaryKey{Columns: []string{"id"}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return descriptor(append(fields, field{name: "_CHANGE_TYPE", typ: protoString}, field{name: "_CHANGE_SEQUENCE_NUMBER", typ: protoString})...)
}

const wideStream = "projects/p/datasets/w/tables/wide/streams/_default"

func wideRow(id, n int) []byte {
	position := fmt.Sprintf("00000001/%016X/%016X/00000000", n, n)
	return wire(id, "Some Person", "some.person@example.com", true, "1234.56",
		`{"kind":"order","tags":["a","b"],"n":12}`, 19000, 1_700_000_000_000_000+n, position, 1_700_000_000_000_000+n, "UPSERT", position)
}

// BenchmarkAppend sends requests of 1,000 rows over loopback, 100,000 keys.
func BenchmarkAppend(b *testing.B) {
	s := startServer(b, Config{Record: true})
	d := wideFixture(b, s, restClient(b, s))
	stream := openStream(b, s)
	const batch, keys, inFlight = 1000, 100_000, 4
	var requests []*storagepb.AppendRowsRequest
	for r := range keys / batch {
		var rows [][]byte
		for i := range batch {
			rows = append(rows, wideRow(r*batch+i, r*batch+i))
		}
		requests = append(requests, appendRequest(wideStream, nil, rows...))
	}
	if err := stream.Send(appendRequest(wideStream, d)); err != nil {
		b.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		b.Fatal(err)
	}
	slots := make(chan struct{}, inFlight)
	done := make(chan error, 1)
	b.SetBytes(int64(batch * len(wideRow(1, 1))))
	n := 0
	for b.Loop() {
		if n == 0 {
			go func() {
				for {
					r, err := stream.Recv()
					if err != nil || r.GetError() != nil {
						done <- fmt.Errorf("%w %v", err, r.GetError())
						return
					}
					<-slots
				}
			}()
		}
		slots <- struct{}{}
		if err := stream.Send(requests[n%len(requests)]); err != nil {
			b.Fatal(err, <-done)
		}
		n++
	}
	b.ReportMetric(float64(n*batch)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkStore leaves gRPC out: it checks and stores requests of 1,000 rows.
func BenchmarkStore(b *testing.B) {
	s := startServer(b, Config{})
	d := wideFixture(b, s, restClient(b, s))
	c := s.openConnection()
	defer s.closeConnection(c)
	const batch, keys = 1000, 100_000
	var requests []*storagepb.AppendRowsRequest
	for r := range keys / batch {
		var rows [][]byte
		for i := range batch {
			rows = append(rows, wideRow(r*batch+i, r*batch+i))
		}
		requests = append(requests, appendRequest(wideStream, d, rows...))
	}
	n := 0
	for b.Loop() {
		if a := c.append(requests[n%len(requests)]); a.response.GetAppendResult() == nil {
			b.Fatal(a)
		}
		n++
	}
	b.ReportMetric(float64(n*batch)/b.Elapsed().Seconds(), "rows/s")
}

func appendRequest(stream string, d *descriptorpb.DescriptorProto, rows ...[]byte) *storagepb.AppendRowsRequest {
	data := &storagepb.AppendRowsRequest_ProtoData{Rows: &storagepb.ProtoRows{SerializedRows: rows}}
	if d != nil {
		data.WriterSchema = &storagepb.ProtoSchema{ProtoDescriptor: d}
	}
	return &storagepb.AppendRowsRequest{WriteStream: stream, Rows: &storagepb.AppendRowsRequest_ProtoRows{ProtoRows: data}}
}
