package bigquerytest

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	"github.com/googleapis/gax-go/v2/apierror"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestFaultsThatStoreNothing(t *testing.T) {
	for _, c := range []struct {
		kind FaultKind
		code codes.Code
		text string
		ends bool
	}{
		{FaultAborted, codes.Aborted, "aborted", true},
		{FaultUnavailable, codes.Unavailable, "unavailable", false},
		{FaultThroughput, codes.ResourceExhausted, "Exceeds 'AppendRows throughput' quota", false},
		{FaultRefuseRequest, codes.InvalidArgument, "refused", false},
		{FaultPermission, codes.PermissionDenied, "TABLES_UPDATE_DATA", false},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			s, stream := keyed(t, Config{})
			stream.stored(up(usersDescriptor))
			s.Inject(Fault{Kind: c.kind, Table: "d.users", After: 1})
			s.Inject(Fault{Kind: c.kind, Table: "other", Count: -1})
			stream.stored(up(nil, wire(1, "a", "UPSERT", "1")))
			wantAppend(t, stream.ask(up(nil, wire(2, "b", "UPSERT", "1"))), c.code, c.text, 0)
			wantUsers(t, s, "1", "a")
			if c.ends {
				stream = openStream(t, s)
			}
			stream.stored(up(usersDescriptor, wire(2, "b", "UPSERT", "1")))
			wantUsers(t, s, "1", "a", "2", "b")
			if n := s.Counters().FaultsUsed; n != 1 {
				t.Fatalf("%d faults used", n)
			}
		})
	}
}

func TestAbortedFailsWhatIsInFlight(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	s.Inject(Fault{Kind: FaultAborted, After: 1})
	for i := range 4 {
		_ = stream.Send(up(nil, wire(i, "x", "UPSERT", "1"))) // the stream may have ended already
	}
	if r, err := stream.Recv(); err != nil || r.GetAppendResult() == nil {
		t.Fatal(r, err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Aborted {
		t.Fatal(err)
	}
	wantUsers(t, s, "0", "x")
}

func TestAnswerLostAfterStoring(t *testing.T) {
	s, stream := keyed(t, Config{})
	s.Inject(Fault{Kind: FaultAnswerLost})
	r := stream.ask(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	wantAppend(t, r, codes.Unavailable, "lost", 0)
	wantUsers(t, s, "1", "a")
	openStream(t, s).stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1"))) // again is harmless
	wantUsers(t, s, "1", "a")
}

func TestSlowAnswer(t *testing.T) {
	s, stream := keyed(t, Config{RoundTrip: 5 * time.Millisecond})
	s.Inject(Fault{Kind: FaultSlow, Delay: 20 * time.Millisecond})
	for _, least := range []time.Duration{25 * time.Millisecond, 5 * time.Millisecond} {
		from := time.Now()
		stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
		if took := time.Since(from); took < least {
			t.Fatalf("answered after %v", took)
		}
	}
}

func TestRefusedRows(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	s.Inject(Fault{Kind: FaultRefuseRow, Key: "2", Count: -1})
	stream.stored(up(nil, wire(1, "a", "UPSERT", "1")))
	wantRow(t, stream.ask(up(nil, wire(3, "c", "UPSERT", "1"), wire(2, "b", "UPSERT", "1"))), 1, "refused")
	wantUsers(t, s, "1", "a")
	s.ClearFaults()
	s.Inject(Fault{Kind: FaultRefuseAll})
	if r := stream.ask(up(nil, wire(3, "c", "UPSERT", "1"), wire(2, "b", "UPSERT", "1"))); len(r.GetRowErrors()) != 2 {
		t.Fatal(r)
	}
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	if c := s.Counters(); c.RowsRefused != 3 {
		t.Fatal(c)
	}
}

// A refusal that names no row is about one key: halving finds it.
func TestRefusedRequestOfOneKey(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	s.Inject(Fault{Kind: FaultRefuseRequest, Key: "2", Count: -1})
	r := stream.ask(up(nil, wire(1, "a", "UPSERT", "1"), wire(2, "b", "UPSERT", "1")))
	wantAppend(t, r, codes.InvalidArgument, "refused", 0)
	if len(r.GetRowErrors()) != 0 {
		t.Fatal(r)
	}
	stream.stored(up(nil, wire(1, "a", "UPSERT", "1")))
	wantUsers(t, s, "1", "a")
}

func TestRESTFaults(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a INT64"))
	s.Inject(Fault{Kind: FaultREST, Method: "tables.get", Table: "d.t", Status: 403, Reason: "accessDenied"})
	if _, err := svc.Datasets.Get(project, "d").Do(); err != nil {
		t.Fatal(err)
	}
	_, err := svc.Tables.Get(project, "d", "t").Do()
	wantREST(t, err, 403, "accessDenied", "")
	if _, err := svc.Tables.Get(project, "d", "t").Do(); err != nil {
		t.Fatal(err)
	}
	s.Inject(Fault{Kind: FaultRESTLost, Method: "tables.patch"})
	call := func() error {
		_, err := svc.Tables.Patch(project, "d", "t", &bq.Table{Description: "x"}).Do()
		return err
	}
	wantREST(t, call(), 503, "backendError", "lost")
	if got, err := svc.Tables.Get(project, "d", "t").Do(); err != nil || got.Description != "x" {
		t.Fatal(got, err)
	}
	if c := s.Counters(); c.RESTByMethod["tables.get"] != 3 || c.RESTCalls != 7 {
		t.Fatal(c)
	}
}

// managedwriter sees the refusals as the service's documents say.
func TestManagedWriterSeesRefusals(t *testing.T) {
	ctx := t.Context()
	s := startServer(t, Config{})
	users(t, s, restClient(t, s))
	client := writeClient(t, s)
	if _, err := client.NewManagedStream(ctx, managedwriter.WithDestinationTable("projects/p/datasets/d/tables/none"), managedwriter.WithType(managedwriter.DefaultStream)); status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	open := func(fields ...field) *managedwriter.ManagedStream {
		w, err := client.NewManagedStream(ctx,
			managedwriter.WithDestinationTable("projects/p/datasets/d/tables/users"), managedwriter.WithType(managedwriter.DefaultStream),
			managedwriter.WithSchemaDescriptor(descriptor(fields...)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		return w
	}
	w := open(field{name: "nope", typ: protoInt64})
	r, err := w.AppendRows(ctx, [][]byte{wire(1)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.GetResult(ctx)
	e, ok := apierror.FromError(err)
	var detail storagepb.StorageError
	if !ok || e.Details().ExtractProtoMessage(&detail) != nil || detail.GetCode() != storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS {
		t.Fatal(err)
	}
	w = open(field{name: "id", typ: protoInt64}, field{name: "name", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	r, err = w.AppendRows(ctx, [][]byte{wire(1, "a", "UPSERT"), wire(2, "a", "NOPE")})
	if err != nil {
		t.Fatal(err)
	}
	full, err := r.FullResponse(ctx)
	if status.Code(err) != codes.InvalidArgument || len(full.GetRowErrors()) != 1 || full.GetRowErrors()[0].GetIndex() != 1 {
		t.Fatal(full, err)
	}
	// The library retries a throughput refusal by its prefix, if asked to.
	s.Inject(Fault{Kind: FaultThroughput})
	retrying, err := client.NewManagedStream(ctx,
		managedwriter.WithDestinationTable("projects/p/datasets/d/tables/users"), managedwriter.WithType(managedwriter.DefaultStream),
		managedwriter.WithSchemaDescriptor(usersDescriptor), managedwriter.EnableWriteRetries(true))
	if err != nil {
		t.Fatal(err)
	}
	defer retrying.Close()
	r, err = retrying.AppendRows(ctx, [][]byte{wire(1, "a", "UPSERT", "1")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.GetResult(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := r.TotalAttempts(ctx); err != nil || n != 2 {
		t.Fatal(n, err)
	}
}

func TestPermissionDeniedAtGetWriteStream(t *testing.T) {
	s := startServer(t, Config{})
	users(t, s, restClient(t, s))
	s.Inject(Fault{Kind: FaultPermission})
	_, err := storagepb.NewBigQueryWriteClient(dial(t, s)).GetWriteStream(t.Context(), &storagepb.GetWriteStreamRequest{Name: usersStream})
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "TABLES_UPDATE_DATA") {
		t.Fatal(err)
	}
}
