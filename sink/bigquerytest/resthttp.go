package bigquerytest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxBodyBytes bounds a REST request's body.
const maxBodyBytes = 16 << 20

// call is one REST request on its way.
type call struct {
	server                  *Server
	method                  string // as the REST reference names it
	project, dataset, table string
	job                     string
	request                 *http.Request
	body                    []byte
}

// restHandler answers a call with a JSON value, or nil for an empty answer.
type restHandler func(*call) (any, *restError)

// restCalls are the calls that the Go client makes.
//
// https://docs.cloud.google.com/bigquery/docs/reference/rest
var restCalls = []struct {
	verb, path, method string
	do                 restHandler
}{
	{"POST", "datasets", "datasets.insert", (*call).insertDataset},
	{"GET", "datasets", "datasets.list", (*call).listDatasets},
	{"GET", "datasets/{dataset}", "datasets.get", (*call).getDataset},
	{"PATCH", "datasets/{dataset}", "datasets.patch", (*call).patchDataset},
	{"DELETE", "datasets/{dataset}", "datasets.delete", (*call).deleteDataset},
	{"POST", "datasets/{dataset}/tables", "tables.insert", (*call).insertTable},
	{"GET", "datasets/{dataset}/tables", "tables.list", (*call).listTables},
	{"GET", "datasets/{dataset}/tables/{table}", "tables.get", (*call).getTable},
	{"PATCH", "datasets/{dataset}/tables/{table}", "tables.patch", (*call).patchTable},
	{"DELETE", "datasets/{dataset}/tables/{table}", "tables.delete", (*call).deleteTable},
	{"POST", "datasets/{dataset}/tables/{table}", "tables.testIamPermissions", (*call).tableAction},
	{"GET", "datasets/{dataset}/tables/{table}/data", "tabledata.list", (*call).listData},
	{"POST", "queries", "jobs.query", (*call).query},
	{"GET", "queries/{job}", "jobs.getQueryResults", (*call).queryResults},
	{"POST", "jobs", "jobs.insert", (*call).insertJob},
	{"GET", "jobs/{job}", "jobs.get", (*call).getJob},
}

// routes registers the calls, with and without the path prefix of the real
// service: the client puts none before a custom endpoint.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/bigquery/v2"} {
		for _, c := range restCalls {
			mux.HandleFunc(c.verb+" "+prefix+"/projects/{project}/"+c.path, func(w http.ResponseWriter, r *http.Request) {
				s.handle(w, r, c.method, c.do)
			})
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.handle(w, r, "unknown", func(*call) (any, *restError) {
			return nil, restUnhandled(r.Method + " " + r.URL.Path + " isn't built")
		})
	})
	return mux
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, method string, h restHandler) {
	s.serving.RLock()
	defer s.serving.RUnlock()
	if s.closed {
		return
	}
	s.count.add(func(n *Counters) {
		n.RESTCalls++
		if n.RESTByMethod == nil {
			n.RESTByMethod = map[string]int64{}
		}
		n.RESTByMethod[method]++
	})
	c := &call{
		server: s, method: method, request: r,
		project: r.PathValue("project"), dataset: r.PathValue("dataset"), table: r.PathValue("table"), job: r.PathValue("job"),
	}
	var err error
	if c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes)); err != nil {
		s.writeError(w, &restError{http.StatusRequestEntityTooLarge, "uploadTooLarge", "The request is too large.", ""})
		return
	}
	fault := s.restFault(c)
	if fault != nil && fault.Kind == FaultREST {
		s.writeError(w, &restError{fault.Status, fault.Reason, "The call was refused: " + fault.Reason, ""})
		return
	}
	answer, refused := any(nil), c.permitted()
	if refused == nil {
		answer, refused = h(c)
	}
	if refused == nil && fault != nil {
		refused = &restError{http.StatusServiceUnavailable, "backendError", "The answer was lost.", ""}
	}
	if refused != nil {
		s.writeError(w, refused)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.config.Log.Debug(EventAnswerLost, "method", method, "error", err)
	}
}

// restFault takes the fault that waits for the call.
func (s *Server) restFault(c *call) *Fault {
	f := s.faults.take(func(f *Fault) bool { return f.onCall(c) })
	if f != nil {
		s.count.add(func(n *Counters) { n.FaultsUsed++ })
	}
	return f
}

// writeError writes googleapi's error form.
func (s *Server) writeError(w http.ResponseWriter, e *restError) {
	s.count.refuse(e.rule)
	s.config.Log.Debug(EventCallRefused, "status", e.status, "reason", e.reason, "rule", e.rule)
	type item struct {
		Message string `json:"message"`
		Domain  string `json:"domain"`
		Reason  string `json:"reason"`
	}
	type body struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Errors  []item `json:"errors"`
		Status  string `json:"status"`
	}
	names := map[int]string{
		400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS",
		412: "FAILED_PRECONDITION", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(e.status)
	err := json.NewEncoder(w).Encode(map[string]body{"error": {
		Code: e.status, Message: e.message, Status: names[e.status],
		Errors: []item{{e.message, "global", e.reason}},
	}})
	if err != nil {
		s.config.Log.Debug(EventAnswerLost, "error", err)
	}
}

// decode reads the call's body strictly enough that a wrong type is a 400.
func (c *call) decode(v any) *restError {
	if len(c.body) == 0 {
		return restInvalid(ruleBody, "Required parameter is missing: the request's body")
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return &restError{http.StatusBadRequest, "parseError", "Parse Error", ruleBody}
		}
		return restInvalid(ruleBody, "Invalid JSON payload received: "+err.Error())
	}
	return nil
}

// tableAction answers POSTs on a table that carry their verb after a colon.
func (c *call) tableAction() (any, *restError) {
	name, verb, _ := strings.Cut(c.table, ":")
	if verb != "testIamPermissions" {
		return nil, restUnhandled("POST on a table, verb " + verb)
	}
	c.table = name
	return c.testPermissions()
}
