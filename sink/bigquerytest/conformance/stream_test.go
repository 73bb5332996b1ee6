package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/descriptorpb"
)

var lines = rowsOf("string line")

// makeLog makes a table without a key and opens a stream to it.
func (e *env) makeLog() (*writer, error) {
	if err := e.ddl("CREATE TABLE log (line STRING)"); err != nil {
		return nil, err
	}
	return e.store("log", lines)
}

// storageCode is the StorageError of a refusal.
func storageCode(err error) storagepb.StorageError_StorageErrorCode {
	var detail storagepb.StorageError
	if e, ok := apierror.FromError(err); ok && e.Details().ExtractProtoMessage(&detail) == nil {
		return detail.GetCode()
	}
	return storagepb.StorageError_STORAGE_ERROR_CODE_UNSPECIFIED
}

// rawAnswers sends requests over one connection of the generated client and
// returns the answers; a stream that ends is an error of the last one.
func (e *env) rawAnswers(routed bool, requests ...*storagepb.AppendRowsRequest) ([]*storagepb.AppendRowsResponse, error) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	if routed {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", "write_stream="+e.path("log")+"/streams/_default")
	}
	stream, err := e.raw.AppendRows(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		if err := stream.Send(r); err != nil {
			break // Recv says why
		}
	}
	var out []*storagepb.AppendRowsResponse
	for range requests {
		r, err := stream.Recv()
		if err != nil {
			return out, err
		}
		if r.GetError() != nil {
			return out, status.FromProto(r.GetError()).Err()
		}
		out = append(out, r)
	}
	return out, nil
}

// firstRequest checks what a connection's first request lacks.
func firstRequest(change func(*storagepb.AppendRowsRequest)) func(*env) error {
	return func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		row, err := lines.row(`{"line":"a"}`)
		if err != nil {
			return err
		}
		req := protoRequest(e.path("log")+"/streams/_default", lines, row)
		change(req)
		if _, err := e.rawAnswers(true, req); status.Code(err) != codes.InvalidArgument {
			return fmt.Errorf("got %w, want INVALID_ARGUMENT", err)
		}
		return nil
	}
}

// ownStream opens a stream of an application.
func ownStream(kind managedwriter.StreamType, use func(*env, *writer) error) func(*env) error {
	return func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		m, err := e.write.NewManagedStream(e.ctx, managedwriter.WithDestinationTable(e.path("log")), managedwriter.WithType(kind), managedwriter.WithSchemaDescriptor(lines.proto))
		if err != nil {
			return err
		}
		e.closing = append(e.closing, func() { _ = m.Close() })
		return use(e, &writer{m, e, lines})
	}
}

const countLog = "SELECT COUNT(*) FROM log"

const noStreams = "Streams of an application aren't built: change data capture works on default streams only."

var streamCases = []Case{
	{ID: "write-api/immediately", Section: "default_stream", Says: "What is written to the default stream can be queried at once.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		for i := range 3 {
			if err := w.append(`{"line":"a"}`); err != nil {
				return err
			}
			if err := e.wantRows(countLog, fmt.Sprint(i+1)); err != nil {
				return err
			}
		}
		return nil
	}},
	{ID: "write-api/at-least-once", Section: "default_stream", Says: "The default stream stores a request that is sent again once more.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		for range 2 {
			if err := w.append(`{"line":"a"}`, `{"line":"b"}`); err != nil {
				return err
			}
		}
		return e.wantRows(countLog, "4")
	}},
	{ID: "write-api/no-create", Section: "default_stream", Says: "The default stream needs no creating.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		s, err := e.raw.GetWriteStream(e.ctx, &storagepb.GetWriteStreamRequest{Name: e.path("log") + "/streams/_default"})
		if err != nil {
			return err
		}
		if s.GetType() != storagepb.WriteStream_COMMITTED {
			return fmt.Errorf("type %v", s.GetType())
		}
		return nil
	}},
	{ID: "write-api/first-stream-name", Section: "appendrows", Says: "The first request names the stream.", Run: firstRequest(func(r *storagepb.AppendRowsRequest) { r.WriteStream = "" })},
	{ID: "write-api/first-schema", Section: "appendrows", Says: "The first request has the schema.", Run: firstRequest(func(r *storagepb.AppendRowsRequest) { r.GetProtoRows().WriterSchema = nil })},
	{ID: "write-api/external-message", Section: "proto_buffer_handling", Says: "A schema can't refer to messages outside of it.", Run: firstRequest(func(r *storagepb.AppendRowsRequest) {
		d := rowsOf("string line", "string other").proto
		d.Field[1].Type, d.Field[1].TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new(".other.Message")
		r.GetProtoRows().GetWriterSchema().ProtoDescriptor = d
	})},
	{ID: "write-api/nested-enum", Section: "proto_buffer_handling", Says: "Enums are defined within the message.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		if _, err := e.store("log", rowsOf("status line"), `{"line":"DONE"}`); err != nil {
			return err
		}
		return e.wantRows("SELECT line FROM log", "DONE")
	}},
	{ID: "write-api/finalize-default", Section: "finalizewritestream", Says: "The default stream can't be finalized.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		_, err := e.raw.FinalizeWriteStream(e.ctx, &storagepb.FinalizeWriteStreamRequest{Name: e.path("log") + "/streams/_default"})
		return refused(err)
	}},
	{ID: "write-api/storage-error", Section: "error_handling", Says: "An error can have a StorageError: a table that isn't there is NOT_FOUND, TABLE_NOT_FOUND.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		row, err := lines.row(`{"line":"a"}`)
		if err != nil {
			return err
		}
		_, err = e.rawAnswers(true, protoRequest(e.path("none")+"/streams/_default", lines, row))
		if status.Code(err) != codes.NotFound || storageCode(err) != storagepb.StorageError_TABLE_NOT_FOUND {
			return fmt.Errorf("got %w with %v", err, storageCode(err))
		}
		return nil
	}},
	{ID: "write-api/routing-header", Section: "error_handling", Says: "Outside of the US a client sends x-goog-request-params; with it the append is stored.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		row, err := lines.row(`{"line":"a"}`)
		if err != nil {
			return err
		}
		if _, err := e.rawAnswers(true, protoRequest(e.path("log")+"/streams/_default", lines, row)); err != nil {
			return err
		}
		return e.wantRows(countLog, "1")
	}},
	{ID: "write-api/multiplexing", Section: "connections", Says: "Several default streams may share a connection.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE log (line STRING)", "CREATE TABLE more (line STRING)"); err != nil {
			return err
		}
		client, err := managedwriter.NewClient(context.WithoutCancel(e.ctx), e.project, append([]option.ClientOption{managedwriter.WithMultiplexing()}, e.storage...)...)
		if err != nil {
			return err
		}
		e.closing = append(e.closing, func() { _ = client.Close() })
		for _, table := range []string{"log", "more"} {
			w, err := e.writerOf(client, table, lines)
			if err != nil {
				return err
			}
			if err := w.append(`{"line":"` + table + `"}`); err != nil {
				return err
			}
		}
		if err := e.wantRows("SELECT line FROM log", "log"); err != nil {
			return err
		}
		return e.wantRows("SELECT line FROM more", "more")
	}},
	{ID: "write-api/idle", Section: "connections", Says: "A connection that was idle too long is closed; the Go client opens another.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		if err := w.append(`{"line":"a"}`); err != nil {
			return err
		}
		if err := e.pass(e.ctx, 15*time.Minute); err != nil {
			return err
		}
		for range 5 { // the first may meet the connection's end
			if _, err = w.answer([]string{`{"line":"b"}`}); err == nil {
				return e.wantRows("SELECT line FROM log ORDER BY line", "a", "b")
			}
		}
		return err
	}},
	{ID: "write-api/pending", Section: "pending_type", Says: "Rows of a pending stream are seen once it is committed.", StandIn: noStreams, Run: ownStream(managedwriter.PendingStream, func(e *env, w *writer) error {
		if err := w.append(`{"line":"a"}`); err != nil {
			return err
		}
		if err := e.wantRows(countLog, "0"); err != nil {
			return err
		}
		if _, err := w.Finalize(e.ctx); err != nil {
			return err
		}
		if _, err := e.write.BatchCommitWriteStreams(e.ctx, &storagepb.BatchCommitWriteStreamsRequest{Parent: e.path("log"), WriteStreams: []string{w.StreamName()}}); err != nil {
			return err
		}
		return e.wantRows(countLog, "1")
	})},
	{ID: "write-api/committed", Section: "committed_type", Says: "Rows of a committed stream are seen at once.", StandIn: noStreams, Run: ownStream(managedwriter.CommittedStream, func(e *env, w *writer) error {
		if err := w.append(`{"line":"a"}`); err != nil {
			return err
		}
		return e.wantRows(countLog, "1")
	})},
	{ID: "write-api/buffered", Section: "buffered_type", Says: "Rows of a buffered stream are seen once they are flushed.", StandIn: noStreams, Run: ownStream(managedwriter.BufferedStream, func(e *env, w *writer) error {
		if err := w.append(`{"line":"a"}`); err != nil {
			return err
		}
		if _, err := w.FlushRows(e.ctx, 0); err != nil {
			return err
		}
		return e.wantRows(countLog, "1")
	})},
	{ID: "write-api/recent-dml", Section: "use_data_manipulation_language_dml_with_recently_streamed_data", Says: "DML works on rows that were just written (to a table without change data capture).", StandIn: "The stand-in has no DML but TRUNCATE TABLE.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		if err := w.append(`{"line":"a"}`); err != nil {
			return err
		}
		if err := e.ddl("UPDATE log SET line = 'b' WHERE TRUE"); err != nil {
			return err
		}
		return e.wantRows("SELECT line FROM log", "b")
	}},
	{ID: "best-practices/offset-already-exists", Section: "manage_stream_offsets_to_achieve_exactly-once_semantics", Says: "An offset that was written is ALREADY_EXISTS.", StandIn: noStreams, Run: ownStream(managedwriter.CommittedStream, func(_ *env, w *writer) error {
		for _, want := range []codes.Code{codes.OK, codes.AlreadyExists} {
			if _, err := w.answer([]string{`{"line":"a"}`}, managedwriter.WithOffset(0)); status.Code(err) != want {
				return fmt.Errorf("got %w, want %v", err, want)
			}
		}
		return nil
	})},
	{ID: "best-practices/offset-out-of-range", Section: "manage_stream_offsets_to_achieve_exactly-once_semantics", Says: "An offset beyond the end is OUT_OF_RANGE.", StandIn: noStreams, Run: ownStream(managedwriter.CommittedStream, func(_ *env, w *writer) error {
		if _, err := w.answer([]string{`{"line":"a"}`}, managedwriter.WithOffset(5)); status.Code(err) != codes.OutOfRange {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})},
	{ID: "best-practices/default-stream-offset", Section: "manage_stream_offsets_to_achieve_exactly-once_semantics", Says: "Offsets are for streams of an application, not for the default stream.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		if _, err := w.answer([]string{`{"line":"a"}`}, managedwriter.WithOffset(0)); status.Code(err) != codes.InvalidArgument {
			return fmt.Errorf("got %w, want INVALID_ARGUMENT", err)
		}
		return nil
	}},
	{ID: "best-practices/several-connections", Section: "connection_pool_management", Says: "A default stream may have several connections.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		for range 3 {
			if _, err := e.store("log", lines, `{"line":"a"}`); err != nil {
				return err
			}
		}
		return e.wantRows(countLog, "3")
	}},
	{ID: "best-practices/answers-in-order", Section: "do_not_block_on_appendrows_calls", Says: "Answers come in the order of the requests, good and bad.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		var results []*managedwriter.AppendResult
		for i := range 20 {
			row := []byte{0xff} // no message
			if i%3 != 0 {
				if row, err = lines.row(`{"line":"a"}`); err != nil {
					return err
				}
			}
			r, err := w.AppendRows(e.ctx, [][]byte{row})
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		for i, r := range results {
			if _, err := r.GetResult(e.ctx); (err != nil) != (i%3 == 0) {
				return fmt.Errorf("answer %d: %w", i, err)
			}
		}
		return e.wantRows(countLog, "13")
	}},
	{ID: "best-practices/nullable-omitted", Section: "handle_schema_updates", Says: "Nullable fields can be left out, of a row and of the schema.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE log (line STRING, n INT64)"); err != nil {
			return err
		}
		if _, err := e.store("log", lines, `{"line":"a"}`); err != nil {
			return err
		}
		if _, err := e.store("log", rowsOf("string line", "int64 n"), `{"n":1}`); err != nil {
			return err
		}
		return e.wantRows("SELECT line, n FROM log ORDER BY n", "a NULL", "NULL 1")
	}},
	{ID: "best-practices/extra-fields", Section: "handle_schema_updates", Says: "A field that the table lacks is a StorageError SCHEMA_MISMATCH_EXTRA_FIELDS.", Run: func(e *env) error {
		if _, err := e.makeLog(); err != nil {
			return err
		}
		w, err := e.writer("log", rowsOf("string line", "int64 extra"))
		if err != nil {
			return err
		}
		if _, err := w.answer([]string{`{"line":"a"}`}); storageCode(err) != storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS {
			return fmt.Errorf("got %w", err)
		}
		return nil
	}},
	{ID: "best-practices/schema-update", Section: "handle_schema_updates", Says: "A changed schema is told in an answer after minutes; a new connection then takes the new field, the old one goes on.", Run: schemaUpdate},
	{ID: "streaming/multiplexing-default-only", Section: "use_multiplexing", Says: "Connections are shared for default streams only; two tables in turn on one connection.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE log (line STRING)", "CREATE TABLE more (line STRING)"); err != nil {
			return err
		}
		if _, err := e.store("log", lines); err != nil {
			return err
		}
		if _, err := e.store("more", lines); err != nil {
			return err
		}
		row, err := lines.row(`{"line":"a"}`)
		if err != nil {
			return err
		}
		a, b := e.path("log")+"/streams/_default", e.path("more")+"/streams/_default"
		if _, err := e.rawAnswers(true, protoRequest(a, lines, row), protoRequest(b, lines, row), protoRequest(a, lines, row)); err != nil {
			return err
		}
		if err := e.wantRows(countLog, "2"); err != nil {
			return err
		}
		return e.wantRows("SELECT COUNT(*) FROM more", "1")
	}},
	{ID: "streaming/row-errors", Section: "at-least-once", Says: "Bad rows are named in row_errors, nothing of their request is stored, and the others can be sent again.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE log (line STRING(3))"); err != nil {
			return err
		}
		w, err := e.store("log", lines)
		if err != nil {
			return err
		}
		r, err := w.answer([]string{`{"line":"a"}`, `{"line":"long"}`, `{"line":"b"}`})
		if err == nil || len(r.GetRowErrors()) != 1 || r.GetRowErrors()[0].GetIndex() != 1 || r.GetRowErrors()[0].GetCode() != storagepb.RowError_FIELDS_ERROR {
			return fmt.Errorf("got %w with row errors %v", err, r.GetRowErrors())
		}
		if err := e.wantRows(countLog, "0"); err != nil {
			return err
		}
		if err := w.append(`{"line":"a"}`, `{"line":"b"}`); err != nil {
			return err
		}
		return e.wantRows(countLog, "2")
	}},
	{ID: "quotas/request-size", Section: "write-api-limits", Says: "A request has at most 20 MB.", Run: func(e *env) error {
		w, err := e.makeLog()
		if err != nil {
			return err
		}
		row := func(bytes int) string { return `{"line":"` + strings.Repeat("x", bytes) + `"}` }
		if err := w.append(row(9_000_000), row(9_000_000)); err != nil {
			return err
		}
		_, err = w.answer([]string{row(9_000_000), row(9_000_000), row(5_000_000)})
		if err == nil {
			return errors.New("23 MB were stored")
		}
		return e.wantRows(countLog, "2")
	}},
}

func schemaUpdate(e *env) error {
	w, err := e.makeLog()
	if err != nil {
		return err
	}
	if err := w.append(`{"line":"a"}`); err != nil {
		return err
	}
	if err := e.ddl("ALTER TABLE log ADD COLUMN n INT64"); err != nil {
		return err
	}
	appended := 1
	err = e.eventually(e.ctx, settle, func() (bool, error) {
		r, err := w.answer([]string{`{"line":"a"}`})
		if err != nil {
			return true, err
		}
		appended++
		return len(r.GetUpdatedSchema().GetFields()) == 2, nil
	})
	if err != nil {
		return err
	}
	err = e.eventually(e.ctx, settle, func() (bool, error) {
		wider, err := e.writer("log", rowsOf("string line", "int64 n"))
		if err != nil {
			return true, err
		}
		_, err = wider.answer([]string{`{"line":"b","n":1}`})
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if err := w.append(`{"line":"a"}`); err != nil {
		return err
	}
	return e.wantRows(countLog, fmt.Sprint(appended+2))
}
