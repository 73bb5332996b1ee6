package bigquerytest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// maxRequestBytes is the limit of one AppendRowsRequest.
	//
	// https://docs.cloud.google.com/bigquery/quotas#write-api-limits
	maxRequestBytes = 20 << 20
	// maxReceiveBytes lets larger requests in, so that they get their answer.
	maxReceiveBytes = 64 << 20
)

// writeServer is the Storage Write API.
type writeServer struct {
	storagepb.UnimplementedBigQueryWriteServer
	server *Server
}

// streamTable takes a default stream's name apart. The short form without
// /streams/ is what older clients send.
func streamTable(name string) (project, dataset, table string, err *appendError) {
	p := strings.Split(name, "/")
	n := len(p)
	if n < 7 || p[0] != "projects" || p[2] != "datasets" || p[4] != "tables" || p[1] == "" || p[3] == "" || p[5] == "" ||
		(n == 7 && p[6] != "_default") || (n == 8 && p[6] != "streams") || n > 8 {
		return "", "", "", invalidArgument(ruleStreamMissing, "Invalid stream name.")
	}
	if p[n-1] != "_default" {
		return "", "", "", &appendError{
			code: codes.NotFound, rule: ruleStreamMissing, text: "Requested stream isn't found.",
			storage: storagepb.StorageError_STREAM_NOT_FOUND, entity: name,
		}
	}
	return p[1], p[3], p[5], nil
}

// lookUp finds the table of a default stream, if the API knows it yet.
func (s *Server) lookUp(stream string, now time.Time) (*table, *appendError) {
	project, dataset, name, err := streamTable(stream)
	if err != nil {
		return nil, err
	}
	if e := s.mayStream(); e != nil {
		return nil, e
	}
	t := s.catalog.table(project, dataset, name)
	if t == nil || !t.seen(now) {
		return nil, noTable(project+":"+dataset+"."+name, stream)
	}
	return t, nil
}

// GetWriteStream answers for default streams only.
func (w *writeServer) GetWriteStream(_ context.Context, req *storagepb.GetWriteStreamRequest) (*storagepb.WriteStream, error) {
	s := w.server
	now := s.clock.now()
	project, dataset, name, e := streamTable(req.GetName())
	if e == nil {
		e = s.permission(project, dataset, name)
	}
	var t *table
	if e == nil {
		t, e = s.lookUp(req.GetName(), now)
	}
	if e != nil {
		s.count.refuse(e.rule)
		return nil, e.status().Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := &storagepb.WriteStream{
		Name:       "projects/" + project + "/datasets/" + dataset + "/tables/" + name + "/streams/_default",
		Type:       storagepb.WriteStream_COMMITTED,
		CreateTime: timestamppb.New(t.created),
		Location:   strings.ToLower(t.meta.Location),
	}
	if req.GetView() == storagepb.WriteStreamView_FULL {
		out.TableSchema = t.streamSchema(now).storage()
	}
	return out, nil
}

// permission meets a FaultPermission for a unary call.
func (s *Server) permission(project, dataset, table string) *appendError {
	f := s.faults.take(func(f *Fault) bool { return f.Kind == FaultPermission && f.onTable(project, dataset, table) })
	if f == nil {
		return nil
	}
	s.count.add(func(n *Counters) { n.FaultsUsed++ })
	return f.refusal()
}

// AppendRows runs one connection.
func (w *writeServer) AppendRows(stream storagepb.BigQueryWrite_AppendRowsServer) error {
	c := w.server.openConnection()
	defer w.server.closeConnection(c)
	c.routed = hasRoutingHeader(stream.Context())
	return c.serve(stream)
}

// append stores one request, or refuses it, and says what to answer.
func (c *connection) append(req *storagepb.AppendRowsRequest) answer {
	s := c.server
	s.count.add(func(n *Counters) { n.Appends++ })
	fault, refused := c.prepare(req)
	var m merged
	if refused == nil {
		refused = c.storeRows(req.GetProtoRows().GetRows().GetSerializedRows(), &m)
	}
	if refused != nil {
		return c.refuse(refused)
	}
	if fault != nil && fault.Kind == FaultAnswerLost {
		return answer{end: &appendError{code: codes.Unavailable, text: "The connection was lost."}}
	}
	a := answer{response: &storagepb.AppendRowsResponse{
		Response:      &storagepb.AppendRowsResponse_AppendResult_{AppendResult: &storagepb.AppendRowsResponse_AppendResult{}},
		WriteStream:   c.stream,
		UpdatedSchema: c.updatedSchema(),
	}}
	roundTrip := time.Duration(s.roundTrip.Load())
	if roundTrip > 0 {
		a.at = time.Now().Add(roundTrip)
	}
	if fault != nil && fault.Kind == FaultSlow {
		a.at = time.Now().Add(roundTrip + fault.Delay)
	}
	return a
}

// refuse makes the answer of a refusal.
func (c *connection) refuse(e *appendError) answer {
	s := c.server
	if e.entity == "" && e.rule != "" {
		e.entity = c.stream
	}
	s.count.refuse(e.rule)
	s.count.add(func(n *Counters) { n.AppendsRefused++; n.RowsRefused += int64(len(e.rows)) })
	s.config.Log.Debug(EventAppendRefused, "code", e.code.String(), "rule", e.rule, "rows", len(e.rows))
	if e.ends || (s.config.StreamErrors && len(e.rows) == 0 && e.rule != "") || c.writer == nil {
		return answer{end: e}
	}
	return answer{response: &storagepb.AppendRowsResponse{
		Response:      &storagepb.AppendRowsResponse_Error{Error: e.status().Proto()},
		RowErrors:     e.rows,
		WriteStream:   c.stream,
		UpdatedSchema: c.updatedSchema(),
	}}
}

// prepare checks everything about a request but its rows: its size, its
// stream, its writer schema and the faults that wait for it.
func (c *connection) prepare(req *storagepb.AppendRowsRequest) (*Fault, *appendError) {
	if n := requestBytes(req); n >= maxRequestBytes {
		return nil, invalidArgument(ruleRequestSize, fmt.Sprintf("AppendRows request too large: %d limit %d", n, maxRequestBytes))
	}
	if req.GetArrowRows() != nil {
		return nil, &appendError{code: codes.Unimplemented, rule: ruleUnhandled, text: "bigquerytest: Arrow rows aren't built"}
	}
	if req.GetOffset() != nil {
		return nil, invalidArgument(ruleOffset, "Offset can not be specified for the default stream.")
	}
	if e := c.choose(req); e != nil {
		return nil, e
	}
	if e := c.writer.checkMissing(req); e != nil {
		return nil, e
	}
	t := c.writer.table
	fault := c.server.faults.take(func(f *Fault) bool {
		return !f.isREST() && f.onTable(t.project, t.dataset, t.name) && c.hasKey(f, req)
	})
	if fault == nil {
		return nil, nil
	}
	c.server.count.add(func(n *Counters) { n.FaultsUsed++ })
	if fault.Kind == FaultRefuseRow || fault.Kind == FaultRefuseAll {
		return nil, c.refuseRows(fault, req)
	}
	return fault, fault.refusal()
}

// requestBytes is the request's size; it is only worked out near the limit and
// for a request that has more than rows.
func requestBytes(req *storagepb.AppendRowsRequest) int {
	if req.GetProtoRows().GetWriterSchema() != nil || len(req.GetMissingValueInterpretations()) > 0 {
		return proto.Size(req)
	}
	n := len(req.GetWriteStream()) + len(req.GetTraceId())
	for _, row := range req.GetProtoRows().GetRows().GetSerializedRows() {
		n += len(row) + 6
	}
	if n < maxRequestBytes/2 {
		return n
	}
	return proto.Size(req)
}

// choose sets the connection's writer to the request's stream.
func (c *connection) choose(req *storagepb.AppendRowsRequest) *appendError {
	name := req.GetWriteStream()
	switch {
	case name == "" && c.stream == "":
		return invalidArgument(ruleFirstRequest, "The first request of a connection must name its write_stream.")
	case name == "" || (name == c.stream && c.writer != nil):
		return c.still()
	}
	t, e := c.server.lookUp(name, c.server.clock.now())
	if e != nil {
		return e
	}
	if c.server.config.RequireRouting && !c.routed && !t.inUS() {
		return unrouted(name)
	}
	w := c.writers[name]
	if w != nil && w.table != t {
		w = nil // another table of the same name
	}
	if w == nil && req.GetProtoRows().GetWriterSchema().GetProtoDescriptor() == nil {
		e := invalidArgument(ruleFirstRequest, "Schema must be set in the initial request of a stream.")
		e.entity = name
		return e
	}
	w, e = c.bind(w, t, req)
	if e != nil {
		e.entity = name
		return e
	}
	c.stream, c.writer, c.writers[name] = name, w, w
	return nil
}

// still says whether the table of the present stream is still there.
func (c *connection) still() *appendError {
	t := c.writer.table
	if c.server.catalog.table(t.project, t.dataset, t.name) != t {
		e := noTable(t.id(), "")
		e.ends = true
		return e
	}
	return nil
}

func noTable(id, stream string) *appendError {
	return &appendError{
		code: codes.NotFound, rule: ruleStreamMissing, text: "Table not found: " + id,
		storage: storagepb.StorageError_TABLE_NOT_FOUND, entity: stream,
	}
}

// bind makes the writer for a table. The schema that a connection sees of a
// table stays what it was at the first request to it.
func (c *connection) bind(w *writer, t *table, req *storagepb.AppendRowsRequest) (*writer, *appendError) {
	if w == nil {
		t.mu.Lock()
		w = &writer{table: t, schema: t.streamSchema(c.server.clock.now())}
		t.mu.Unlock()
		w.told = w.schema.version
	}
	d := req.GetProtoRows().GetWriterSchema().GetProtoDescriptor()
	if d == nil {
		return w, nil
	}
	p, e := newRowPlan(d, w.schema)
	if e != nil {
		return nil, e
	}
	if p.cdc && len(w.schema.columns) > maxCDCColumns {
		return nil, invalidArgument(ruleCDCColumns, fmt.Sprintf("A table with change data capture can't have more than %d columns", maxCDCColumns))
	}
	for _, f := range p.fields {
		f.exact = c.server.config.ExactJSON
	}
	w.plan, w.reader = p, newRowReader(p, &c.server.config)
	return w, nil
}

// updatedSchema tells a connection once of each newer schema that the API sees.
func (c *connection) updatedSchema() *storagepb.TableSchema {
	w := c.writer
	if w == nil {
		return nil
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	now := w.table.streamSchema(c.server.clock.now())
	if now.version <= w.told {
		return nil
	}
	w.told = now.version
	return now.storage()
}
