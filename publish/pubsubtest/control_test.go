package pubsubtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cdc/deploy/local/control"
)

// ask asks the control endpoint and checks the status; the answer comes without
// white space.
func (r *rig) ask(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	got, answer, err := control.Ask(t.Context(), r.ControlAddr(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s %s %s: status %d, want %d: %s", method, path, body, got, want, answer)
	}
	return strings.Join(strings.Fields(answer), "")
}

func TestControlFaults(t *testing.T) {
	r := newRig(t, Config{ControlAddr: "127.0.0.1:0"})
	r.ask(t, "POST", "/faults", `{"kind":"refuse","method":"Publish","target":"`+testTopic+`","code":"ABORTED","text":"not now","skip":1}`, 200)
	r.ask(t, "POST", "/faults", `{"kind":"late","delay":"1h"}`, 200)
	const want = `{"faults":[{"code":"ABORTED","count":1,"kind":"refuse","method":"Publish","skip":1,"target":"` + testTopic + `","text":"notnow"},` +
		`{"count":1,"delay":"1h0m0s","kind":"late","method":"Publish"}]}`
	if got := r.ask(t, "GET", "/faults", "", 200); got != want {
		t.Errorf("queued are %s,\nwant %s", got, want)
	}
	r.ask(t, "DELETE", "/faults", "", 200)
	r.send(t, "k", "a")
	r.ask(t, "POST", "/faults", `{"kind":"refuse","code":"ABORTED","text":"not now"}`, 200)
	if _, err := r.pub.Publish(t.Context(), publishOf("k", "b")); status.Code(err) != codes.Aborted || status.Convert(err).Message() != "not now" {
		t.Errorf("got %v", err)
	}
	if got := r.ask(t, "GET", "/counters", "", 200); !strings.Contains(got, `"faults":1,`) || !strings.Contains(got, `"calls":{"Publish":2}`) {
		t.Errorf("counters are %s", got)
	}
}

func TestControlRefusals(t *testing.T) {
	r := newRig(t, Config{ControlAddr: "127.0.0.1:0"})
	for _, c := range []struct{ path, body, text string }{
		{"/faults", `{}`, "kind is missing; allowed: refuse, answer_lost, late"},
		{"/faults", `{"kind":"melt"}`, "allowed: refuse, answer_lost, late"},
		{"/faults", `{"kind":"refuse","method":"Publsh"}`, "allowed: CreateTopic, UpdateTopic, Publish"},
		{"/faults", `{"kind":"refuse","times":2}`, "allowed: kind, method, target, skip"},
		{"/faults", `{"kind":"refuse","skip":-2}`, "skip: -2 is negative"},
		{"/faults", `{"kind":"delay","method":"Publish"}`, "delay is missing"},
		{"/faults", `{"kind":"end_stream","method":"Publish"}`, "end_stream hits StreamingPull only, not Publish"},
		{"/faults", `{"kind":"answer_lost","method":"StreamingPull"}`, "answer_lost hits unary calls only, not StreamingPull"},
		{"/faults", `{"kind":"late","method":"StreamingPull","delay":"1s"}`, "late hits unary calls only, not StreamingPull"},
		{"/faults", `{"kind":"refuse","target":"orders"}`, `target: \"orders\" is not a full name, such as projects/p/topics/orders`},
		{"/sabotage", `{"kind":"melt"}`, `not \"drop\" or \"swap\"`},
		{"/sabotage", `{"kind":"drop","after":-1}`, "after: -1 is negative"},
		{"/end-streams", `{"subscription":"projects/p/subscriptions/none"}`, "GET /subscriptions lists them"},
		{"/end-streams", `{"subscription":"` + testSub + `","code":"ODD"}`, "allowed: CANCELLED"},
		{"/reset-connections", `{}`, "takes no body"},
	} {
		got := r.ask(t, "POST", c.path, c.body, 400)
		if !strings.Contains(got, strings.Join(strings.Fields(c.text), "")) {
			t.Errorf("%s %s: %s, want %q", c.path, c.body, got, c.text)
		}
	}
	if got := r.ask(t, "GET", "/faults", "", 200); got != `{"faults":[]}` {
		t.Errorf("a refusal queued something: %s", got)
	}
	if s, err := New(Config{ControlAddr: "0.0.0.0:0"}); err == nil {
		t.Error("a control endpoint for everybody was accepted")
		_ = s.Close()
	}
	without, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if addr := without.ControlAddr(); addr != "" {
		t.Errorf("there is a control endpoint that nobody asked for, on %s", addr)
	}
	if err := without.Close(); err != nil {
		t.Error(err)
	}
}

// TestControlDoes asks for everything that isn't a fault and looks at the server.
func TestControlDoes(t *testing.T) {
	r := newRig(t, Config{ControlAddr: "127.0.0.1:0"})
	p := r.open(t)
	r.send(t, "k", "a0", "a1")
	p.wantTexts("a0", "a1")
	const want = `{"subscriptions":[{"backlog":2,"name":"` + testSub + `","streams":1,"topic":"` + testTopic + `"}]}`
	if got := r.ask(t, "GET", "/subscriptions", "", 200); got != want {
		t.Errorf("subscriptions are %s,\nwant %s", got, want)
	}
	if got := r.ask(t, "GET", "/topics", "", 200); got != `{"topics":["`+testTopic+`"]}` {
		t.Errorf("topics are %s", got)
	}
	r.ask(t, "POST", "/clock", `{"advance":"10s"}`, 200)
	p.wantTexts("a0", "a1") // their leases are over
	if got := r.ask(t, "GET", "/clock", "", 200); !strings.HasPrefix(got, `{"now":"20`) {
		t.Errorf("the clock says %s", got)
	}
	if got := r.ask(t, "POST", "/end-streams", `{"subscription":"`+testSub+`","code":"ABORTED"}`, 200); got != `{"ended":1}` {
		t.Errorf("ended are %s", got)
	}
	p.wantEnd(codes.Aborted)
	p = r.open(t)
	r.ask(t, "POST", "/reset-connections", "", 200)
	p.wantEnd(codes.Unavailable)
	r.ask(t, "PUT", "/round-trip", `{"round_trip":"5ms"}`, 200)
	if got := r.faults.roundTrip(); got != 5*time.Millisecond {
		t.Errorf("the round trip is %s", got)
	}
	r.ask(t, "POST", "/sabotage", `{"kind":"drop"}`, 200)
	r.waitReady(t)
	r.send(t, "k", "gone")
	if n := r.Counters().Sabotaged; n != 1 {
		t.Errorf("%d messages sabotaged", n)
	}
}

// waitReady waits until the client has connected again.
func (r *rig) waitReady(t *testing.T) {
	t.Helper()
	for {
		state := r.conn.GetState()
		if state.String() == "READY" {
			return
		}
		r.conn.Connect()
		if !r.conn.WaitForStateChange(t.Context(), state) {
			t.Fatal("the client doesn't connect again")
		}
	}
}

// TestFaultNames: every kind in the source has a name that reads back.
func TestFaultNames(t *testing.T) {
	for kind, name := range faultNames {
		var back FaultKind
		if err := back.UnmarshalText([]byte(name)); err != nil || back != kind || kind.String() != name {
			t.Errorf("%d is %s, which reads back as %d: %v", kind, kind, back, err)
		}
	}
	if got := FaultKind(99).String(); got != "FaultKind(99)" {
		t.Errorf("a kind without a name is %q", got)
	}
	if n := len(faultKindsInSource(t)); n != len(faultNames) {
		t.Errorf("there are %d kinds, and faultNames has %d: %v", n, len(faultNames), faultKindsInSource(t))
	}
}

// faultKindsInSource are the constants of type FaultKind.
func faultKindsInSource(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			of := ""
			for _, spec := range group.Specs {
				v := spec.(*ast.ValueSpec)
				if id, ok := v.Type.(*ast.Ident); ok {
					of = id.Name
				} else if len(v.Values) > 0 {
					of = ""
				}
				if of == "FaultKind" {
					for _, n := range v.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	if !slices.Contains(names, "AnswerLost") {
		t.Fatalf("this test doesn't find the kinds: %v", names)
	}
	return names
}

// FuzzControl: whatever is asked, the answer is no failure of the server.
func FuzzControl(f *testing.F) {
	r := newRig(f, Config{ControlAddr: "127.0.0.1:0"})
	for _, e := range r.endpoints() {
		f.Add(e.Method, e.Path, []byte(e.Example))
	}
	f.Add("POST", "/end-streams", []byte(`{"subscription":"`+testSub+`"}`))
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		q := httptest.NewRequest("GET", "/", strings.NewReader(string(body)))
		q.Method, q.URL.Path = method, path
		w := httptest.NewRecorder()
		r.control.ServeHTTP(w, q)
		if w.Code >= 500 {
			t.Errorf("%q %q %q: %d %s", method, path, body, w.Code, w.Body)
		}
	})
}
