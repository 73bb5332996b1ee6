package bigquerytest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestRuleStreams(t *testing.T) {
	s := startServer(t, Config{})
	client := storagepb.NewBigQueryWriteClient(dial(t, s)) // one connection
	for range maxStreams {
		if _, err := client.AppendRows(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return s.Counters().OpenConnections == maxStreams })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.AppendRows(ctx); status.Code(err) != codes.DeadlineExceeded {
		t.Fatalf("stream %d: %v", maxStreams+1, err)
	}
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it didn't happen")
		}
	}
}

func TestRuleStreamMissing(t *testing.T) {
	s := startServer(t, Config{})
	users(t, s, restClient(t, s))
	missing := "projects/p/datasets/d/tables/none/streams/_default"
	wantAppend(t, openStream(t, s).ask(appendRequest(missing, usersDescriptor)), codes.NotFound, "Table not found: p:d.none", storagepb.StorageError_TABLE_NOT_FOUND)
	own := strings.Replace(usersStream, "_default", "abc", 1)
	wantAppend(t, openStream(t, s).ask(appendRequest(own, usersDescriptor)), codes.NotFound, "Entity: "+own, storagepb.StorageError_STREAM_NOT_FOUND)
	wantAppend(t, openStream(t, s).ask(appendRequest("users", usersDescriptor)), codes.InvalidArgument, "Invalid stream name", 0)

	client := storagepb.NewBigQueryWriteClient(dial(t, s))
	_, err := client.GetWriteStream(t.Context(), &storagepb.GetWriteStreamRequest{Name: missing})
	if status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	got, err := client.GetWriteStream(t.Context(), &storagepb.GetWriteStreamRequest{Name: usersStream, View: storagepb.WriteStreamView_FULL})
	if err != nil || got.GetName() != usersStream || got.GetLocation() != "eu" || len(got.GetTableSchema().GetFields()) != 2 {
		t.Fatal(got, err)
	}

	open := openStream(t, s)
	open.stored(up(usersDescriptor))
	if err := rawREST(t, s).Tables.Delete(project, "d", "users").Do(); err != nil {
		t.Fatal(err)
	}
	wantAppend(t, open.ask(up(nil)), codes.NotFound, "Table not found", storagepb.StorageError_TABLE_NOT_FOUND)
}

func TestRuleCreateDelay(t *testing.T) {
	for _, delay := range []time.Duration{-1, time.Minute} {
		s, stream := keyed(t, Config{CreateDelay: delay})
		if delay > 0 {
			wantAppend(t, stream.ask(up(usersDescriptor)), codes.NotFound, "Table not found", storagepb.StorageError_TABLE_NOT_FOUND)
			s.Advance(delay)
			stream = openStream(t, s)
		}
		stream.stored(up(usersDescriptor))
	}
}

func TestRuleFirstRequest(t *testing.T) {
	s, stream := keyed(t, Config{})
	wantAppend(t, stream.ask(up(nil, wire(1, "a", "UPSERT", "1"))), codes.InvalidArgument, "Schema must be set in the initial request", 0)
	wantAppend(t, openStream(t, s).ask(appendRequest("", usersDescriptor)), codes.InvalidArgument, "must name its write_stream", 0)

	// A descriptor in a later request to the same stream is ignored.
	stream = openStream(t, s)
	stream.stored(up(usersDescriptor))
	other := descriptor(field{name: "name", typ: protoString})
	stream.stored(up(other, wire(1, "a", "UPSERT", "1")))
	wantUsers(t, s, "1", "a")
}

func TestRuleOffset(t *testing.T) {
	_, stream := keyed(t, Config{})
	req := up(usersDescriptor)
	req.Offset = wrapperspb.Int64(0)
	wantAppend(t, stream.ask(req), codes.InvalidArgument, "Offset can not be specified", 0)
}

func TestRuleRequestSize(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	row := func(n int) []byte { return wire(1, strings.Repeat("x", n), "UPSERT", "1") }
	const limit = 20 << 20
	rest := proto.Size(up(nil, row(limit))) - limit
	stream.stored(up(nil, row(limit-rest-1)))
	wantAppend(t, stream.ask(up(nil, row(limit-rest))), codes.InvalidArgument, "AppendRows request too large", 0)
	// All of the request counts, not the rows alone.
	long := up(nil, row(1))
	long.TraceId = strings.Repeat("x", limit)
	wantAppend(t, stream.ask(long), codes.InvalidArgument, "AppendRows request too large", 0)
	if n := s.Counters().Rows; n != 1 {
		t.Fatalf("%d rows", n)
	}
}

func TestRuleDescriptor(t *testing.T) {
	s, _ := keyed(t, Config{})
	twice := descriptor(field{name: "id", typ: protoInt64}, field{name: "x", typ: protoInt64, column: "ID"})
	number := descriptor(field{name: "id", typ: protoInt64})
	number.Field[0].Number = proto.Int32(0)
	double := descriptor(field{name: "id", typ: protoInt64}, field{name: "name", typ: protoString})
	double.Field[1].Number = proto.Int32(1)
	reference := descriptor(field{name: "id", typ: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE})
	reference.Field[0].TypeName = new(".other.Message")
	for _, d := range []*descriptorpb.DescriptorProto{descriptor(), twice, number, double, reference} {
		wantAppend(t, openStream(t, s).ask(up(d)), codes.InvalidArgument, "Invalid proto schema", 0)
	}
}

func TestRuleColumnNameAnnotation(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	body := definition("users", []string{"id"}, "id INT64", "name STRING")
	body.Schema.Fields[1].Name = "名前 - 1"
	insertTable(t, svc, body)
	d := descriptor(field{name: "name", typ: protoInt64, column: "id"}, field{name: "f2", typ: protoString, column: "名前 - 1"}, field{name: "_CHANGE_TYPE", typ: protoString})
	openStream(t, s).stored(up(d, wire(1, "a", "UPSERT")))
	if rows := s.Rows(project, "d", "users"); rows[0]["id"] != "1" || rows[0]["名前 - 1"] != "a" {
		t.Fatal(rows)
	}
}

func TestRuleExtraFields(t *testing.T) {
	s, stream := keyed(t, Config{})
	lone := descriptor(field{name: "id", typ: protoInt64}, field{name: "_CHANGE_SEQUENCE_NUMBER", typ: protoString})
	wantAppend(t, stream.ask(up(lone)), codes.InvalidArgument, "extra fields: '_change_sequence_number'", storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS)
	if s.Counters().Rows != 0 {
		t.Fatal(s.Counters())
	}
	d := descriptor(field{name: "id", typ: protoInt64}, field{name: "email", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	for _, ends := range []bool{false, true} {
		s, stream := keyed(t, Config{StreamErrors: ends})
		wantAppend(t, stream.ask(up(d)), codes.InvalidArgument, "Input schema has more fields than BigQuery schema, extra fields: 'email' Entity: "+usersStream, storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS)
		if s.Counters().Refused[ruleExtraFields] != 1 {
			t.Fatal(s.Counters())
		}
	}
}

func TestRuleFieldType(t *testing.T) {
	all := []protoType{
		protoBool, protoInt32, protoInt64, protoUint32, protoUint64, protoDouble, protoFloat, protoString, protoBytes,
		descriptorpb.FieldDescriptorProto_TYPE_SINT64, descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
	}
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("users", []string{"id"}, "id INT64"))
	for _, pseudo := range []field{{name: "_CHANGE_TYPE", typ: protoInt64}, {name: "_CHANGE_TYPE", typ: protoString, repeated: true}, {name: "_change_sequence_number", typ: protoBytes}} {
		r := openStream(t, s).ask(up(descriptor(field{name: "id", typ: protoInt64}, pseudo)))
		wantAppend(t, r, codes.InvalidArgument, "The proto field mismatched with BigQuery field at "+pseudo.name, 0)
	}
	for k, takes := range accepted {
		name := "t" + string(k)
		insertTable(t, svc, definition(name, nil, "c "+string(k)))
		stream := "projects/p/datasets/d/tables/" + name + "/streams/_default"
		for _, typ := range all {
			r := openStream(t, s).ask(appendRequest(stream, descriptor(field{name: "c", typ: typ})))
			ok := false
			for _, a := range takes {
				ok = ok || a == typ
			}
			if ok && r.GetAppendResult() == nil {
				t.Errorf("%s from %s: %v", k, typ, r.GetError())
			}
			if !ok {
				wantAppend(t, r, codes.InvalidArgument, "The proto field mismatched with BigQuery field at c", 0)
			}
		}
		r := openStream(t, s).ask(appendRequest(stream, descriptor(field{name: "c", typ: takes[0], repeated: true})))
		wantAppend(t, r, codes.InvalidArgument, "The proto field mismatched", 0)
	}
}

func TestRuleSchemaDelay(t *testing.T) {
	s, old := keyed(t, Config{SchemaDelay: minute})
	old.stored(up(usersDescriptor))
	addEmail(t, s)
	wider := descriptor(field{name: "id", typ: protoInt64}, field{name: "email", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	wantAppend(t, openStream(t, s).ask(up(wider)), codes.InvalidArgument, "extra fields: 'email'", storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS)
	s.Advance(minute)
	old.stored(up(nil, wire(1, "a", "UPSERT", "1"))) // an old connection goes on with the old schema
	openStream(t, s).stored(up(wider, wire(2, "e", "UPSERT")))
	rows := s.Rows(project, "d", "users")
	if rows[0]["email"] != nil || rows[1]["email"] != "e" {
		t.Fatal(rows)
	}
}

func addEmail(t testing.TB, s *Server) {
	t.Helper()
	schema := definition("users", nil, "id INT64", "name STRING", "email STRING").Schema
	if _, err := rawREST(t, s).Tables.Patch(project, "d", "users", &bq.Table{Schema: schema}).Do(); err != nil {
		t.Fatal(err)
	}
}

func TestRuleUpdatedSchema(t *testing.T) {
	s, stream := keyed(t, Config{SchemaDelay: minute})
	stream.stored(up(usersDescriptor))
	addEmail(t, s)
	if r := stream.stored(up(nil)); r.GetUpdatedSchema() != nil {
		t.Fatal("told too early")
	}
	s.Advance(minute)
	if r := stream.stored(up(nil)); len(r.GetUpdatedSchema().GetFields()) != 3 {
		t.Fatal(r)
	}
	if r := stream.stored(up(nil)); r.GetUpdatedSchema() != nil {
		t.Fatal("told twice")
	}
}

func TestRuleSwitch(t *testing.T) {
	s, stream := keyed(t, Config{})
	svc := rawREST(t, s)
	insertTable(t, svc, definition("log", []string{"line"}, "line STRING"))
	logStream := strings.Replace(usersStream, "users", "log", 1)
	lines := descriptor(field{name: "line", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	wantAppend(t, stream.ask(appendRequest(logStream, nil, wire("x", "UPSERT"))), codes.InvalidArgument, "Schema must be set", 0)
	stream.stored(appendRequest(logStream, lines, wire("x", "UPSERT")))
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	stream.stored(appendRequest(logStream, lines, wire("y", "UPSERT")))
	wantUsers(t, s, "1", "a", "2", "b")
	if rows := s.Rows(project, "d", "log"); len(rows) != 2 || rows[1]["line"] != "y" {
		t.Fatal(rows)
	}
}

func TestRuleAnswersInOrder(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	s.Inject(Fault{Kind: FaultSlow, Delay: 30 * time.Millisecond})
	s.Inject(Fault{Kind: FaultRefuseRequest})
	for i := range 3 {
		if err := stream.Send(up(nil, wire(i, "x", "UPSERT", "1"))); err != nil {
			t.Fatal(err)
		}
	}
	// The rows behind a slow answer are stored while it waits.
	waitFor(t, func() bool { return len(userNames(s)) == 2 })
	for i, refused := range []bool{false, true, false} {
		r, err := stream.Recv()
		if err != nil || (r.GetError() != nil) != refused {
			t.Fatalf("answer %d: %v %v", i, r, err)
		}
	}
}

func TestRuleIdleClose(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	s.Advance(DefaultIdleClose - minute)
	stream.stored(up(nil))
	s.Advance(2 * minute)
	stream.stored(up(nil))
	s.Advance(DefaultIdleClose)
	waitFor(t, func() bool { return s.Counters().IdleClosed == 1 })
	if _, err := stream.Recv(); status.Code(err) != codes.Aborted {
		t.Fatal(err)
	}
}

// A client must send the routing header, except to the US.
func TestRuleRoutingHeader(t *testing.T) {
	s, _ := keyed(t, Config{RequireRouting: true})
	wantAppend(t, openRouted(t, s, "").ask(up(usersDescriptor)), codes.PermissionDenied, "Permission 'TABLES_UPDATE_DATA' denied on resource 'projects/p/datasets/d/tables/users'", 0)
	wantAppend(t, openRouted(t, s, "parent=p").ask(up(usersDescriptor)), codes.PermissionDenied, "TABLES_UPDATE_DATA", 0)
	openRouted(t, s, "write_stream="+usersStream).stored(up(usersDescriptor))

	s, _ = keyed(t, Config{})
	openRouted(t, s, "").stored(up(usersDescriptor))

	s = startServer(t, Config{Location: "US", RequireRouting: true})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("users", []string{"id"}, "id INT64", "name STRING"))
	openRouted(t, s, "").stored(up(usersDescriptor))
}

func TestRuleDefaultStream(t *testing.T) {
	s, _ := keyed(t, Config{})
	client := storagepb.NewBigQueryWriteClient(dial(t, s))
	_, finalize := client.FinalizeWriteStream(t.Context(), &storagepb.FinalizeWriteStreamRequest{Name: usersStream})
	_, flush := client.FlushRows(t.Context(), &storagepb.FlushRowsRequest{WriteStream: usersStream})
	_, commit := client.BatchCommitWriteStreams(t.Context(), &storagepb.BatchCommitWriteStreamsRequest{WriteStreams: []string{usersStream}})
	for text, err := range map[string]error{"finalized": finalize, "flushed": flush, "committed": commit} {
		r := &storagepb.AppendRowsResponse{Response: &storagepb.AppendRowsResponse_Error{Error: status.Convert(err).Proto()}}
		wantAppend(t, r, codes.InvalidArgument, "The default stream can't be "+text, storagepb.StorageError_INVALID_STREAM_TYPE)
	}
}

func TestRuleMissingValues(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	for i, v := range []storagepb.AppendRowsRequest_MissingValueInterpretation{storagepb.AppendRowsRequest_NULL_VALUE, storagepb.AppendRowsRequest_DEFAULT_VALUE} {
		req := up(nil, wire(i, nil, "UPSERT", "1"))
		req.MissingValueInterpretations = map[string]storagepb.AppendRowsRequest_MissingValueInterpretation{"Name": v}
		stream.stored(req)
		req = up(nil, wire(i+2, nil, "UPSERT", "1"))
		req.DefaultMissingValueInterpretation = v
		stream.stored(req)
	}
	wantUsers(t, s, "0", "NULL", "1", "NULL", "2", "NULL", "3", "NULL")
	for _, bad := range []string{"email", "name.first", "_CHANGE_TYPE"} {
		req := up(nil)
		req.MissingValueInterpretations = map[string]storagepb.AppendRowsRequest_MissingValueInterpretation{bad: storagepb.AppendRowsRequest_NULL_VALUE}
		wantAppend(t, stream.ask(req), codes.InvalidArgument, "isn't a top-level column", 0)
	}
}

func TestUnhandledAppends(t *testing.T) {
	s, stream := keyed(t, Config{})
	req := up(usersDescriptor)
	req.Rows = &storagepb.AppendRowsRequest_ArrowRows{ArrowRows: &storagepb.AppendRowsRequest_ArrowData{}}
	wantAppend(t, stream.ask(req), codes.Unimplemented, "Arrow", 0)
	client := storagepb.NewBigQueryWriteClient(dial(t, s))
	if _, err := client.CreateWriteStream(t.Context(), &storagepb.CreateWriteStreamRequest{}); status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	if _, err := client.BatchCommitWriteStreams(t.Context(), &storagepb.BatchCommitWriteStreamsRequest{}); status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	inserts := descriptor(field{name: "id", typ: protoInt64}, field{name: "name", typ: protoString})
	wantAppend(t, openStream(t, s).ask(up(inserts, wire(1, "a"))), codes.Unimplemented, "primary key", 0)
}

func TestManyStreamsOfManyTables(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	for i := range 20 {
		name := fmt.Sprintf("t%d", i)
		insertTable(t, svc, definition(name, nil, "a INT64"))
		stream := openStream(t, s)
		stream.stored(appendRequest("projects/p/datasets/d/tables/"+name+"/streams/_default", descriptor(field{name: "a", typ: protoInt64}), wire(i)))
	}
	if c := s.Counters(); c.Connections != 20 || c.Inserts != 20 {
		t.Fatal(c)
	}
}
