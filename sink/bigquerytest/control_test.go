package bigquerytest

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"cdc/deploy/local/control"
)

// ask asks the control endpoint and checks the status; the answer comes without
// white space.
func ask(t *testing.T, s *Server, method, path, body string, want int) string {
	t.Helper()
	got, answer, err := control.Ask(t.Context(), s.ControlAddr(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s %s %s: status %d, want %d: %s", method, path, body, got, want, answer)
	}
	return strings.Join(strings.Fields(answer), "")
}

func TestControlFaults(t *testing.T) {
	s, stream := keyed(t, Config{ControlAddr: "127.0.0.1:0"})
	stream.stored(up(usersDescriptor))
	ask(t, s, "POST", "/faults", `{"kind":"refuse_row","table":"p.d.users","key":"2","count":-1}`, 200)
	ask(t, s, "POST", "/faults", `{"kind":"rest","method":"tables.get","status":403,"reason":"accessDenied","after":1}`, 200)
	const want = `{"faults":[{"count":-1,"key":"2","kind":"refuse_row","table":"p.d.users"},` +
		`{"after":1,"count":1,"kind":"rest","method":"tables.get","reason":"accessDenied","status":403}]}`
	if got := ask(t, s, "GET", "/faults", "", 200); got != want {
		t.Errorf("queued are %s,\nwant %s", got, want)
	}
	wantAppend(t, stream.ask(up(nil, wire(1, "a", "UPSERT", "1"), wire(2, "b", "UPSERT", "1"))), codes.InvalidArgument, "row_errors", 0)
	if got := ask(t, s, "GET", "/counters", "", 200); !strings.Contains(got, `"faults_used":1,`) || !strings.Contains(got, `"rows_refused":1,`) {
		t.Errorf("counters are %s", got)
	}
	ask(t, s, "DELETE", "/faults", "", 200)
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	if got := ask(t, s, "GET", "/faults", "", 200); got != `{"faults":[]}` {
		t.Errorf("queued are %s", got)
	}
}

func TestControlRefusals(t *testing.T) {
	s, _ := keyed(t, Config{ControlAddr: "127.0.0.1:0"})
	for _, c := range []struct{ path, body, text string }{
		{"/faults", `{}`, "kind is missing; allowed: aborted, unavailable"},
		{"/faults", `{"kind":"melt"}`, `unknown kind \"melt\"; allowed: aborted`},
		{"/faults", `{"kind":"slow","skip":1}`, "allowed: kind, table, count, after"},
		{"/faults", `{"kind":"slow","after":-1}`, "after: -1 is negative"},
		{"/faults", `{"kind":"rest","status":42}`, "status: 42 is not an error's (400–599)"},
		{"/faults", `{"kind":"aborted","table":"p:d.users"}`, "is not written table, dataset.table or project.dataset.table"},
		{"/faults", `{"kind":"refuse_row","table":"d.users"}`, "key is missing"},
		{"/faults", `{"kind":"slow"}`, "delay is missing"},
		{"/faults", `{"kind":"slow","delay":"1s","method":"tables.get"}`, "method: only rest and rest_lost have one"},
		{"/faults", `{"kind":"rest","method":"tables.gett"}`, `unknown method \"tables.gett\"; allowed: datasets.insert, datasets.list`},
		{"/faults", `{"kind":"unavailable","key":"1"}`, "key: only refuse_row and refuse_request have one"},
		{"/faults", `{"kind":"refuse_all","key":"1"}`, "key: only refuse_row and refuse_request have one"},
		{"/faults", `{"kind":"rest","delay":"1s"}`, "delay: only slow has one"},
		{"/faults", `{"kind":"rest_lost","status":503}`, "status, reason: only rest has them"},
		{"/faults", `{"kind":"aborted","reason":"backendError"}`, "status, reason: only rest has them"},
		{"/faults", `{"kind":"rest","method":"jobs.query","table":"d.users"}`, "table: jobs.query isn't about one"},
		{"/apply", `{"table":"p.d.none"}`, `there is no table \"p.d.none\", written project.dataset.table; GET /tables lists them`},
		{"/pause-apply", `{"table":"users","paused":true}`, "there is no table"},
		{"/pause-apply", `{"table":"p.d.users","paused":"yes"}`, "paused: want true or false, got string"},
	} {
		got := ask(t, s, "POST", c.path, c.body, 400)
		if !strings.Contains(got, strings.Join(strings.Fields(c.text), "")) {
			t.Errorf("%s %s: %s, want %q", c.path, c.body, got, c.text)
		}
	}
	if got := ask(t, s, "GET", "/faults", "", 200); got != `{"faults":[]}` {
		t.Errorf("a refusal queued something: %s", got)
	}
	if s, err := New(Config{ControlAddr: "0.0.0.0:0"}); err == nil {
		t.Error("a control endpoint for everybody was accepted")
		_ = s.Close()
	}
	if addr := startServer(t, Config{}).ControlAddr(); addr != "" {
		t.Errorf("there is a control endpoint that nobody asked for, on %s", addr)
	}
}

// TestControlDoes asks for everything that isn't a fault and looks at the server.
func TestControlDoes(t *testing.T) {
	s, stream := keyed(t, Config{ControlAddr: "127.0.0.1:0", UnsetApplyInterval: time.Hour, IdleClose: 24 * time.Hour})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1"), wire(2, "b", "UPSERT", "1")))
	const name = `"table":"p.d.users"`
	if got := ask(t, s, "GET", "/tables", "", 200); !strings.Contains(got, `"apply_paused":false,"baseline":0,"max_staleness":"0s","rows":2,`+name+`}]}`) {
		t.Errorf("tables are %s", got)
	}
	if got := ask(t, s, "POST", "/apply", `{`+name+`}`, 200); !strings.Contains(got, `"baseline":2`) {
		t.Errorf("after an apply: %s", got)
	}
	stream.stored(up(nil, wire(1, "a", "DELETE", "2")))
	if got := ask(t, s, "POST", "/pause-apply", `{`+name+`,"paused":true}`, 200); !strings.Contains(got, `"apply_paused":true`) {
		t.Errorf("paused: %s", got)
	}
	ask(t, s, "POST", "/clock", `{"advance":"2h"}`, 200)
	if got := ask(t, s, "GET", "/tables", "", 200); !strings.Contains(got, `"baseline":2`) || !strings.Contains(got, `"rows":1`) {
		t.Errorf("an apply that is held back: %s", got)
	}
	ask(t, s, "POST", "/pause-apply", `{`+name+`,"paused":false}`, 200)
	ask(t, s, "POST", "/clock", `{"advance":"2h"}`, 200)
	if got := ask(t, s, "GET", "/tables", "", 200); !strings.Contains(got, `"baseline":1`) {
		t.Errorf("an apply that goes on: %s", got)
	}
	ask(t, s, "PUT", "/round-trip", `{"round_trip":"20ms"}`, 200)
	from := time.Now()
	stream.stored(up(nil, wire(3, "c", "UPSERT", "1")))
	if took := time.Since(from); took < 20*time.Millisecond {
		t.Errorf("answered after %s", took)
	}
}

// TestFaultKinds: faultKinds names every kind in the source.
func TestFaultKinds(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	kind := regexp.MustCompile(`(?m)^\s+Fault\w+ +FaultKind += "(\w+)"`)
	n := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range kind.FindAllSubmatch(source, -1) {
			n++
			if !slices.Contains(faultKinds, FaultKind(m[1])) {
				t.Errorf("%s has the kind %s, and faultKinds does not", file, m[1])
			}
		}
	}
	if n != len(faultKinds) || n == 0 {
		t.Errorf("the source has %d kinds, faultKinds %d", n, len(faultKinds))
	}
}

// FuzzControl: whatever is asked, the answer is no failure of the server.
func FuzzControl(f *testing.F) {
	s := startServer(f, Config{ControlAddr: "127.0.0.1:0"})
	users(f, s, restClient(f, s))
	for _, e := range s.endpoints() {
		f.Add(e.Method, e.Path, []byte(e.Example))
	}
	f.Add("POST", "/apply", []byte(`{"table":"p.d.users"}`))
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		q := httptest.NewRequest("GET", "/", strings.NewReader(string(body)))
		q.Method, q.URL.Path = method, path
		w := httptest.NewRecorder()
		s.control.ServeHTTP(w, q)
		if w.Code >= 500 {
			t.Errorf("%q %q %q: %d %s", method, path, body, w.Code, w.Body)
		}
	})
}
