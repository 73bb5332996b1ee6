package bigquerytest

import (
	"context"
	"slices"
	"strings"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// hasRoutingHeader says whether the client sent x-goog-request-params with a
// write_stream; which one isn't looked at.
//
// https://docs.cloud.google.com/bigquery/docs/write-api#error_handling
func hasRoutingHeader(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	return slices.ContainsFunc(md.Get("x-goog-request-params"), func(v string) bool { return strings.Contains(v, "write_stream=") })
}

func (t *table) inUS() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.EqualFold(t.meta.Location, "US")
}

func unrouted(name string) *appendError {
	return &appendError{
		code: codes.PermissionDenied, rule: ruleRouting, entity: name,
		text: "Permission 'TABLES_UPDATE_DATA' denied on resource '" + strings.TrimSuffix(name, "/streams/_default") + "' (or it may not exist).",
	}
}

// checkMissing refuses interpretations of missing values for what isn't a
// column. Columns have no default values here, so that NULL_VALUE and
// DEFAULT_VALUE both mean NULL.
func (w *writer) checkMissing(req *storagepb.AppendRowsRequest) *appendError {
	for name := range req.GetMissingValueInterpretations() {
		if w.schema.column(name) == nil {
			return invalidArgument(ruleMissingValues, "missing_value_interpretations has a field that isn't a top-level column")
		}
	}
	return nil
}

func (s *Server) refuseStream(e *appendError) error {
	s.count.refuse(e.rule)
	return e.status().Err()
}

// onlyDefault is the answer of the calls that only streams of an application
// know: to a default stream they are refused, the others aren't built.
func (s *Server) onlyDefault(name, text string) error {
	if _, _, _, e := streamTable(name); e == nil {
		return s.refuseStream(&appendError{
			code: codes.InvalidArgument, rule: ruleDefaultStream, text: text, entity: name,
			storage: storagepb.StorageError_INVALID_STREAM_TYPE,
		})
	}
	return s.notBuilt()
}

func (s *Server) notBuilt() error {
	return s.refuseStream(&appendError{code: codes.Unimplemented, rule: ruleUnhandled, text: "bigquerytest: only default streams are built"})
}

// CreateWriteStream isn't built: change data capture works on default streams only.
func (w *writeServer) CreateWriteStream(context.Context, *storagepb.CreateWriteStreamRequest) (*storagepb.WriteStream, error) {
	return nil, w.server.notBuilt()
}

// FinalizeWriteStream is refused for default streams and isn't built for others.
func (w *writeServer) FinalizeWriteStream(_ context.Context, req *storagepb.FinalizeWriteStreamRequest) (*storagepb.FinalizeWriteStreamResponse, error) {
	return nil, w.server.onlyDefault(req.GetName(), "The default stream can't be finalized.")
}

// FlushRows is refused for default streams and isn't built for others.
func (w *writeServer) FlushRows(_ context.Context, req *storagepb.FlushRowsRequest) (*storagepb.FlushRowsResponse, error) {
	return nil, w.server.onlyDefault(req.GetWriteStream(), "The default stream can't be flushed.")
}

// BatchCommitWriteStreams isn't built.
func (w *writeServer) BatchCommitWriteStreams(_ context.Context, req *storagepb.BatchCommitWriteStreamsRequest) (*storagepb.BatchCommitWriteStreamsResponse, error) {
	for _, name := range req.GetWriteStreams() {
		if _, _, _, e := streamTable(name); e == nil {
			return nil, w.server.onlyDefault(name, "The default stream can't be committed.")
		}
	}
	return nil, w.server.notBuilt()
}
