package bigquerytest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/descriptorpb"
)

// rawREST is the generated REST client.
func rawREST(t testing.TB, s *Server) *bq.Service {
	t.Helper()
	svc, err := bq.NewService(t.Context(), option.WithEndpoint(s.Addr()), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// dataset makes dataset d of project p.
func rawDataset(t testing.TB, svc *bq.Service) {
	t.Helper()
	_, err := svc.Datasets.Insert(project, &bq.Dataset{DatasetReference: &bq.DatasetReference{DatasetId: "d"}}).Do()
	if err != nil {
		t.Fatal(err)
	}
}

// col is a column as tables.insert takes it: "name TYPE" with an optional mode.
func col(definition string) *bq.TableFieldSchema {
	p := strings.Fields(definition)
	f := &bq.TableFieldSchema{Name: p[0], Type: p[1]}
	if len(p) > 2 {
		f.Mode = p[2]
	}
	return f
}

// definition is a table's body for tables.insert.
func definition(name string, keys []string, columns ...string) *bq.Table {
	t := &bq.Table{TableReference: &bq.TableReference{ProjectId: project, DatasetId: "d", TableId: name}, Schema: &bq.TableSchema{}}
	for _, c := range columns {
		t.Schema.Fields = append(t.Schema.Fields, col(c))
	}
	if keys != nil {
		t.TableConstraints = &bq.TableConstraints{PrimaryKey: &bq.TableConstraintsPrimaryKey{Columns: keys}}
	}
	return t
}

func insertTable(t testing.TB, svc *bq.Service, body *bq.Table) {
	t.Helper()
	if _, err := svc.Tables.Insert(project, "d", body).Do(); err != nil {
		t.Fatal(err)
	}
}

// refusedTable inserts a table that must be refused.
func refusedTable(t testing.TB, body *bq.Table, code int, reason, text string) {
	t.Helper()
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	_, err := svc.Tables.Insert(project, "d", body).Do()
	wantREST(t, err, code, reason, text)
}

// wantREST checks a refusal by its code, reason and a part of its message.
func wantREST(t testing.TB, err error, code int, reason, text string) {
	t.Helper()
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok || e.Code != code || len(e.Errors) != 1 || e.Errors[0].Reason != reason || !strings.Contains(e.Message, text) {
		t.Fatalf("got %v, want %d %s with %q", err, code, reason, text)
	}
}

// rawStream is one AppendRows stream of the generated client.
type rawStream struct {
	t testing.TB
	storagepb.BigQueryWrite_AppendRowsClient
}

func openStream(t testing.TB, s *Server) rawStream {
	t.Helper()
	return openRouted(t, s, "write_stream=any")
}

// openRouted opens a stream with a routing header, "" for none.
func openRouted(t testing.TB, s *Server, header string) rawStream {
	t.Helper()
	ctx := t.Context()
	if header != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", header)
	}
	stream, err := storagepb.NewBigQueryWriteClient(dial(t, s)).AppendRows(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return rawStream{t, stream}
}

// ask sends one request and returns its answer; a stream that ends gives a
// response with the status in its error field.
func (s rawStream) ask(req *storagepb.AppendRowsRequest) *storagepb.AppendRowsResponse {
	s.t.Helper()
	if err := s.Send(req); err != nil && !errors.Is(err, io.EOF) {
		s.t.Fatal(err)
	}
	r, err := s.Recv()
	if err != nil {
		return &storagepb.AppendRowsResponse{Response: &storagepb.AppendRowsResponse_Error{Error: status.Convert(err).Proto()}}
	}
	return r
}

// stored sends a request that must be stored.
func (s rawStream) stored(req *storagepb.AppendRowsRequest) *storagepb.AppendRowsResponse {
	s.t.Helper()
	r := s.ask(req)
	if r.GetAppendResult() == nil {
		s.t.Fatalf("refused: %v %v", r.GetError(), r.GetRowErrors())
	}
	return r
}

// wantAppend checks a refusal by its code, a part of its text and its
// StorageError (0 for none).
func wantAppend(t testing.TB, r *storagepb.AppendRowsResponse, code codes.Code, text string, storage storagepb.StorageError_StorageErrorCode) {
	t.Helper()
	st := status.FromProto(r.GetError())
	if st.Code() != code || !strings.Contains(st.Message(), text) {
		t.Fatalf("got %v, want %v with %q", st, code, text)
	}
	var got storagepb.StorageError_StorageErrorCode
	for _, d := range st.Details() {
		if e, ok := d.(*storagepb.StorageError); ok {
			got = e.GetCode()
		}
	}
	if got != storage {
		t.Fatalf("StorageError %v, want %v", got, storage)
	}
}

// wantRow checks that exactly one row was refused.
func wantRow(t testing.TB, r *storagepb.AppendRowsResponse, index int64, text string) {
	t.Helper()
	wantAppend(t, r, codes.InvalidArgument, "row_errors", 0)
	e := r.GetRowErrors()
	if len(e) != 1 || e[0].GetIndex() != index || e[0].GetCode() != storagepb.RowError_FIELDS_ERROR || !strings.Contains(e[0].GetMessage(), text) {
		t.Fatalf("row errors %v, want row %d with %q", e, index, text)
	}
}

// keyed starts a server with the table users of key id and a stream to it.
func keyed(t testing.TB, c Config) (*Server, rawStream) {
	t.Helper()
	s := startServer(t, c)
	users(t, s, restClient(t, s))
	return s, openStream(t, s)
}

// up is a request to users; the first of a connection carries the descriptor.
func up(d *descriptorpb.DescriptorProto, rows ...[]byte) *storagepb.AppendRowsRequest {
	return appendRequest(usersStream, d, rows...)
}

// names returns the column name of users by id.
func userNames(s *Server) map[string]string {
	out := map[string]string{}
	for _, r := range s.Rows(project, "d", "users") {
		id, _ := r["id"].(string)
		name, ok := r["name"].(string)
		if !ok {
			name = "NULL"
		}
		out[id] = name
	}
	return out
}

func wantUsers(t testing.TB, s *Server, pairs ...string) {
	t.Helper()
	got := userNames(s)
	if len(got) != len(pairs)/2 {
		t.Fatalf("rows %v, want %v", got, pairs)
	}
	for i := 0; i < len(pairs); i += 2 {
		if got[pairs[i]] != pairs[i+1] {
			t.Fatalf("rows %v, want %v", got, pairs)
		}
	}
}

// valueStream makes the table v with the key id and the column c, and a
// stream to it: fields id, c, _CHANGE_TYPE.
func valueStream(t testing.TB, column *bq.TableFieldSchema, typ protoType) (*Server, rawStream) {
	t.Helper()
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	body := definition("v", []string{"id"}, "id INT64")
	body.Schema.Fields = append(body.Schema.Fields, column)
	insertTable(t, svc, body)
	stream := openStream(t, s)
	d := descriptor(field{name: "id", typ: protoInt64}, field{name: "c", typ: typ, repeated: column.Mode == "REPEATED"}, field{name: "_CHANGE_TYPE", typ: protoString})
	stream.stored(appendRequest("projects/p/datasets/d/tables/v/streams/_default", d))
	return s, stream
}

// shown is how the value of c came out, for a row with the next id.
func (s rawStream) shown(server *Server, v any) any {
	s.t.Helper()
	s.stored(appendRequest("", nil, wire(1, v, "UPSERT")))
	return server.Rows(project, "d", "v")[0]["c"]
}

func (s rawStream) refused(text string, v any) {
	s.t.Helper()
	wantRow(s.t, s.ask(appendRequest("", nil, wire(1, v, "UPSERT"))), 0, text)
}

const minute = time.Minute
