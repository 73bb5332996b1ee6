package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// colour is a kind of fault with names.
type colour int

func (c colour) MarshalText() ([]byte, error) { return []byte("red"), nil }

func (c *colour) UnmarshalText(text []byte) error {
	if string(text) != "red" {
		return errors.New("unknown colour; allowed: red")
	}
	*c = 1
	return nil
}

type fault struct {
	Kind  colour
	Table string
	Count int
	Code  codes.Code
	Delay time.Duration
	On    bool
}

type counters struct {
	RESTCalls       int64
	AcksOutOfOrder  int64
	RefusedByRuleID map[string]int64
}

// standIn is a stand-in without a service.
type standIn struct {
	queued    []fault
	offset    time.Duration
	roundTrip time.Duration
}

func (s *standIn) now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(s.offset) }

func (s *standIn) endpoints() []Endpoint {
	return Standard(StandIn[fault]{
		Counters:     func() any { return counters{RESTCalls: 7} },
		FaultExample: `{"kind":"red"}`,
		CheckFault: func(f fault) error {
			if f.Kind == 0 {
				return errors.New("kind is missing")
			}
			return nil
		},
		Inject:       func(f fault) { s.queued = append(s.queued, f) },
		Queued:       func() []fault { return s.queued },
		ClearFaults:  func() { s.queued = nil },
		Now:          s.now,
		Advance:      func(d time.Duration) { s.offset += d },
		RoundTrip:    func() time.Duration { return s.roundTrip },
		SetRoundTrip: func(d time.Duration) { s.roundTrip = d },
	})
}

func listen(tb testing.TB) *Server {
	tb.Helper()
	s, err := Listen("127.0.0.1:0", "a stand-in", (&standIn{}).endpoints())
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

// TestStandard asks one stand-in for one thing after the other.
func TestStandard(t *testing.T) {
	s := listen(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		answer             string // without spaces and newlines
	}{
		{"GET", "/counters", "", 200, `{"acks_out_of_order":0,"refused_by_rule_id":{},"rest_calls":7}`},
		{"GET", "/faults", "", 200, `{"faults":[]}`},
		{"POST", "/faults", `{"kind":"red","code":"ABORTED","delay":"1m30s","on":true,"count":-1,"table":"t"}`, 200, `{"faults":[{"code":"ABORTED","count":-1,"delay":"1m30s","kind":"red","on":true,"table":"t"}]}`},
		{"GET", "/faults", "", 200, `{"faults":[{"code":"ABORTED","count":-1,"delay":"1m30s","kind":"red","on":true,"table":"t"}]}`},
		{"DELETE", "/faults", "", 200, `{"faults":[]}`},
		{"GET", "/clock", "", 200, `{"now":"2026-01-02T03:04:05Z"}`},
		{"POST", "/clock", `{"advance":"1h"}`, 200, `{"now":"2026-01-02T04:04:05Z"}`},
		{"PUT", "/round-trip", `{"round_trip":"20ms"}`, 200, `{"round_trip":"20ms"}`},
		{"GET", "/round-trip", "", 200, `{"round_trip":"20ms"}`},

		{"GET", "/nothing", "", 404, `{"error":"thereisno\"/nothing\";GET/listswhatthereis"}`},
		{"PATCH", "/faults", "", 405, `{"error":"/faultstakesGETorPOSTorDELETE,not\"PATCH\""}`},
		{"GET", "/counters?since=1", "", 400, `{"error":"GET/counterstakesnoquery"}`},
		{"GET", "/counters", "x", 400, `{"error":"GET/counterstakesnobody"}`},
		{"POST", "/faults", `{`, 400, `{"error":"readthebody,whichmustbeoneJSONobject:unexpectedendofJSONinput"}`},
		{"POST", "/faults", `{} {}`, 400, `{"error":"readthebody,whichmustbeoneJSONobject:invalidcharacter'{'aftertop-levelvalue"}`},
		{"POST", "/faults", ``, 400, `{"error":"readthebody,whichmustbeoneJSONobject:unexpectedendofJSONinput"}`},
		{"POST", "/faults", `{}`, 400, `{"error":"kindismissing"}`},
		{"POST", "/faults", `{"kind":"red","Kind":"red"}`, 400, `{"error":"unknownfield\"Kind\";allowed:kind,table,count,code,delay,on"}`},
		{"POST", "/faults", `{"kind":"blue"}`, 400, `{"error":"kind:unknowncolour;allowed:red"}`},
		{"POST", "/faults", `{"kind":1}`, 400, `{"error":"kind:wantastring,gotnumber"}`},
		{"POST", "/faults", `{"count":1.5}`, 400, `{"error":"count:wantawholenumber,gotnumber1.5"}`},
		{"POST", "/faults", `{"on":"yes"}`, 400, `{"error":"on:wanttrueorfalse,gotstring"}`},
		{"POST", "/faults", `{"delay":5}`, 400, `{"error":"delay:wantadurationinquotes,suchas\"250ms\"or\"1h\",gotnumber"}`},
		{"POST", "/faults", `{"delay":"-1s"}`, 400, `{"error":"delay:\"-1s\"isnotadurationfrom0to87600h;writeitas\"250ms\",\"10s\"or\"1h30m\""}`},
		{"POST", "/faults", `{"code":"ODD"}`, 400, `{"error":"code:unknowncode\"ODD\";allowed:CANCELLED,UNKNOWN,INVALID_ARGUMENT,DEADLINE_EXCEEDED,NOT_FOUND,ALREADY_EXISTS,PERMISSION_DENIED,RESOURCE_EXHAUSTED,FAILED_PRECONDITION,ABORTED,OUT_OF_RANGE,UNIMPLEMENTED,INTERNAL,UNAVAILABLE,DATA_LOSS,UNAUTHENTICATED"}`},
		{"POST", "/faults", strings.Repeat(" ", maxBodyBytes+1), 413, `{"error":"thebodyisover65536bytes"}`},
		{"POST", "/clock", `{}`, 400, `{"error":"advancemustbeabove0,suchas\"1h\":theclocknevergoesback"}`},
		{"GET", "/faults", "", 200, `{"faults":[]}`},
	} {
		status, answer, err := Ask(t.Context(), s.Addr(), c.method, c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.NewReplacer(" ", "", "\n", "").Replace(answer); status != c.status || got != c.answer {
			t.Errorf("%s %s %.80s: %d %s\nwant %d %s", c.method, c.path, c.body, status, got, c.status, c.answer)
		}
	}
}

func TestBounds(t *testing.T) {
	s := listen(t)
	last := func(method, path, body string) (status int) {
		for range 2 * maxFaults {
			var err error
			if status, _, err = Ask(t.Context(), s.Addr(), method, path, body); err != nil {
				t.Fatal(err)
			}
			if status != http.StatusOK {
				return status
			}
		}
		return status
	}
	if status := last("POST", "/clock", `{"advance":"87600h"}`); status != http.StatusBadRequest {
		t.Errorf("the clock goes past every year: %d", status)
	}
	queue := []fault{}
	full := Standard(StandIn[fault]{
		CheckFault: func(fault) error { return nil },
		Queued:     func() []fault { return queue },
		Inject:     func(f fault) { queue = append(queue, f) },
	})
	var err error
	for _, e := range full {
		for i := 0; e.name() == "POST /faults" && err == nil && i < 2*maxFaults; i++ {
			_, err = e.Do([]byte(`{}`))
		}
	}
	if err == nil || len(queue) != maxFaults {
		t.Errorf("%d faults are queued; refused with %v", len(queue), err)
	}
}

func TestList(t *testing.T) {
	s := listen(t)
	status, text, err := Ask(t.Context(), s.Addr(), "GET", "/", "")
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	var list struct {
		Service   string
		Endpoints []struct{ Endpoint, Curl string }
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	_, help, err := Ask(t.Context(), s.Addr(), "GET", "/help", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Endpoints) != len(s.endpoints) || list.Service != "a stand-in" {
		t.Errorf("the list is %s", text)
	}
	for _, e := range list.Endpoints {
		if !strings.Contains(help, e.Curl+"\n") {
			t.Errorf("help lacks %q:\n%s", e.Curl, help)
		}
	}
	want := `curl -s -X POST http://` + s.Addr() + `/faults -d '{"kind":"red"}'`
	if !strings.Contains(help, want) {
		t.Errorf("help lacks %s:\n%s", want, help)
	}
}

func TestListenRefuses(t *testing.T) {
	taken := listen(t).Addr()
	for addr, want := range map[string]string{
		":0":            "not on the loopback interface",
		"0.0.0.0:0":     "not on the loopback interface",
		"[::]:0":        "not on the loopback interface",
		"example.org:0": "not on the loopback interface",
		"127.0.0.1":     "missing port",
		taken:           "in use",
	} {
		s, err := Listen(addr, "", nil)
		if err == nil {
			t.Errorf("%q was accepted", addr)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", addr, err)
		}
	}
	if s, err := Listen("localhost:0", "", nil); err != nil {
		t.Error(err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzRequest: whatever is asked, the answer is JSON and no failure of the server.
func FuzzRequest(f *testing.F) {
	f.Add("GET", "/", []byte(nil))
	f.Add("POST", "/faults", []byte(`{"kind":"red","delay":"1s","code":"ABORTED","count":2,"on":true}`))
	f.Add("POST", "/clock", []byte(`{"advance":"9000h"}`))
	f.Add("PUT", "/round-trip", []byte(`{"round_trip":null}`))
	f.Add("", "/\x00", []byte("null"))
	s := listen(f)
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(string(body)))
		r.Method, r.URL.Path = method, path
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 || path != "/help" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q %q %q: %d %s", method, path, body, w.Code, w.Body)
		}
	})
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"Calls": "calls", "AcksOutOfOrder": "acks_out_of_order", "RESTByMethod": "rest_by_method",
		"RESTCalls": "rest_calls", "MaxKeysPerRequest": "max_keys_per_request", "P99": "p99", "ID": "id",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
