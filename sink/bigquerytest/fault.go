package bigquerytest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	bq "google.golang.org/api/bigquery/v2"

	"google.golang.org/grpc/codes"
)

// FaultKind says what goes wrong.
type FaultKind string

// Kinds of faults. The first group is met by appends, the last by REST calls.
const (
	// FaultAborted ends the stream with ABORTED before the request is stored;
	// what is in flight on the connection fails with it.
	FaultAborted FaultKind = "aborted"
	// FaultUnavailable answers the request with UNAVAILABLE; nothing is stored.
	FaultUnavailable FaultKind = "unavailable"
	// FaultAnswerLost stores the request and ends the stream with UNAVAILABLE
	// instead of an answer.
	FaultAnswerLost FaultKind = "answer_lost"
	// FaultSlow stores the request and answers it after Delay.
	FaultSlow FaultKind = "slow"
	// FaultThroughput answers RESOURCE_EXHAUSTED with the prefix that the
	// client library looks for; nothing is stored.
	FaultThroughput FaultKind = "throughput"
	// FaultRefuseRow refuses each row whose key is Key, with a row error.
	FaultRefuseRow FaultKind = "refuse_row"
	// FaultRefuseAll refuses each row of the request with a row error.
	FaultRefuseAll FaultKind = "refuse_all"
	// FaultRefuseRequest answers INVALID_ARGUMENT without naming a row; with a
	// Key only if the request has a row of that key.
	FaultRefuseRequest FaultKind = "refuse_request"
	// FaultPermission answers PERMISSION_DENIED.
	FaultPermission FaultKind = "permission_denied"

	// FaultREST answers a REST call with Status and Reason.
	FaultREST FaultKind = "rest"
	// FaultRESTLost does what the REST call asks for and answers 503.
	FaultRESTLost FaultKind = "rest_lost"
)

// faultKinds are all kinds, in the order of their constants.
var faultKinds = []FaultKind{
	FaultAborted, FaultUnavailable, FaultAnswerLost, FaultSlow, FaultThroughput,
	FaultRefuseRow, FaultRefuseAll, FaultRefuseRequest, FaultPermission,
	FaultREST, FaultRESTLost,
}

// Fault is one queued fault. Faults are tried in the order of Inject; the
// first that fits a request is used up by one.
type Fault struct {
	Kind FaultKind
	// Table ("table", "dataset.table" or "project.dataset.table") limits the
	// fault to one table: to what is appended to it, or to the REST calls whose
	// names begin with tables or tabledata, but tables.list.
	Table string
	// Count is how often it happens: 0 means once, negative for ever.
	Count int
	// After lets so many fitting requests pass first.
	After int
	// Key is the row's key for FaultRefuseRow and FaultRefuseRequest: the
	// canonical texts of the key columns joined by commas.
	Key string
	// Delay is for FaultSlow, in real time.
	Delay time.Duration
	// Method limits FaultREST and FaultRESTLost to one call, named as in the
	// REST reference: "tables.get", "jobs.query".
	Method string
	// Status and Reason are FaultREST's answer (503 and backendError if empty).
	Status int
	Reason string
}

type faults struct {
	mu    sync.Mutex
	queue []*Fault
}

// Inject queues a fault.
func (s *Server) Inject(f Fault) {
	if f.Count == 0 {
		f.Count = 1
	}
	if f.Kind == FaultREST {
		f.Status, f.Reason = cmp.Or(f.Status, http.StatusServiceUnavailable), cmp.Or(f.Reason, "backendError")
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.queue = append(s.faults.queue, &f)
}

// ClearFaults drops every queued fault.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.queue = nil
}

// take uses the first fault up that fits, or returns nil.
func (q *faults) take(fits func(*Fault) bool) *Fault {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, f := range q.queue {
		if !fits(f) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				q.queue = append(q.queue[:i:i], q.queue[i+1:]...)
			}
		}
		out := *f
		return &out
	}
	return nil
}

func (f *Fault) isREST() bool { return f.Kind == FaultREST || f.Kind == FaultRESTLost }

// onTable says whether the fault is about this table.
func (f *Fault) onTable(project, dataset, table string) bool {
	return f.Table == "" || f.Table == table || f.Table == dataset+"."+table || f.Table == project+"."+dataset+"."+table
}

// onCall says whether the fault is about this REST call.
func (f *Fault) onCall(c *call) bool {
	return f.isREST() && (f.Method == "" || strings.EqualFold(f.Method, c.method)) && f.onTable(c.project, c.dataset, c.aboutTable())
}

// aboutTable is the table that the call is about, "" for none.
func (c *call) aboutTable() string {
	if c.method == "tables.insert" {
		var in bq.Table
		if json.Unmarshal(c.body, &in) == nil && in.TableReference != nil {
			return in.TableReference.TableId
		}
	}
	name, _, _ := strings.Cut(c.table, ":") // a verb may follow
	return name
}

// refusal is the answer of a fault that stores nothing.
func (f *Fault) refusal() *appendError {
	switch f.Kind {
	case FaultAborted:
		return &appendError{code: codes.Aborted, text: "The stream was aborted by the server.", ends: true}
	case FaultUnavailable:
		return &appendError{code: codes.Unavailable, text: "The service is currently unavailable."}
	case FaultThroughput:
		return &appendError{code: codes.ResourceExhausted, text: "Exceeds 'AppendRows throughput' quota, user_id: 0000 (status: INSUFFICIENT_TOKENS), you can issue a raise quota request through Google Cloud Console. Be sure to include this full error message in the request description."}
	case FaultPermission:
		return &appendError{code: codes.PermissionDenied, text: "Permission 'TABLES_UPDATE_DATA' denied on resource (or it may not exist)."}
	case FaultRefuseRequest:
		return &appendError{code: codes.InvalidArgument, text: "The request was refused."}
	}
	return nil
}
