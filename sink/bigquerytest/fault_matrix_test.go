package bigquerytest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Every fault of appends, with a table in each spelling and with another one,
// passes what After lets pass and happens as often as Count says.
func TestFaultsOfAppendsInAllCombinations(t *testing.T) {
	want := map[FaultKind]codes.Code{
		FaultAborted: codes.Aborted, FaultUnavailable: codes.Unavailable, FaultAnswerLost: codes.Unavailable, FaultSlow: codes.OK,
		FaultThroughput: codes.ResourceExhausted, FaultRefuseRow: codes.InvalidArgument, FaultRefuseAll: codes.InvalidArgument,
		FaultRefuseRequest: codes.InvalidArgument, FaultPermission: codes.PermissionDenied,
	}
	for _, kind := range faultKinds {
		if (&Fault{Kind: kind}).isREST() {
			continue
		}
		code, known := want[kind]
		if !known {
			t.Fatalf("%s isn't in this test", kind)
		}
		for _, table := range []string{"", "users", "d.users", "p.d.users", "other", "e.users", "q.d.users"} {
			for _, key := range []string{"", "1", "9"} {
				f := Fault{Kind: kind, Table: table, Count: 2, After: 1, Key: key}
				if kind == FaultSlow {
					f.Delay = time.Nanosecond
				}
				if checkFault(f) != nil {
					continue // no request can meet it
				}
				fits := key != "9" && (table == "" || strings.HasSuffix("p.d.users", table))
				t.Run(fmt.Sprintf("%s/%s/%s", kind, table, key), func(t *testing.T) { faultMeets(t, f, code, fits) })
			}
		}
	}
}

// faultMeets sends five requests; the fault is for the second and the third.
func faultMeets(t *testing.T, f Fault, code codes.Code, fits bool) {
	t.Helper()
	s, stream := keyed(t, Config{})
	s.Inject(f)
	stored := int64(0)
	for i := range 5 {
		r := stream.ask(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
		got := status.FromProto(r.GetError()).Code()
		wanted := codes.OK
		if fits && (i == 1 || i == 2) {
			wanted = code
		}
		if got != wanted {
			t.Fatalf("request %d: %v, want %v", i, got, wanted)
		}
		if wanted == codes.OK || f.Kind == FaultAnswerLost {
			stored++
		}
		if wanted != codes.OK && r.GetWriteStream() == "" {
			stream = openStream(t, s)
		}
	}
	used := int64(0)
	if fits {
		used = 2
	}
	if c := s.Counters(); c.Rows != stored || c.FaultsUsed != used || len(s.queuedFaults()) != 1-int(used/2) {
		t.Fatalf("%d rows, want %d; %d faults, want %d", c.Rows, stored, c.FaultsUsed, used)
	}
}

// Every REST call meets a fault of its name, and one of its table if it is
// about one; what the control endpoint refuses would meet nothing.
func TestFaultsOfEveryRESTCall(t *testing.T) {
	for _, c := range restCalls {
		for _, table := range []string{"", "t", "d.t", "p.d.t", "u"} {
			f := Fault{Kind: FaultREST, Method: c.method, Table: table, Status: http.StatusTeapot, Reason: "tea"}
			s := startServer(t, Config{})
			s.Inject(f)
			path := strings.NewReplacer("{dataset}", "d", "{table}", "t", "{job}", "j").Replace(c.path)
			if c.method == "tables.testIamPermissions" {
				path += ":testIamPermissions"
			}
			req, err := http.NewRequestWithContext(t.Context(), c.verb, s.Addr()+"/projects/p/"+path,
				strings.NewReader(`{"tableReference":{"projectId":"p","datasetId":"d","tableId":"t"}}`))
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = readAll(t, r)
			// A list of tables is about none.
			about := strings.HasPrefix(c.method, "table") && c.method != "tables.list"
			met := r.StatusCode == http.StatusTeapot
			if want := table == "" || about && table != "u"; met != want {
				t.Errorf("%s with table %q: status %d", c.method, table, r.StatusCode)
			}
			if err := checkFault(f); (err == nil) != (table == "" || about) {
				t.Errorf("%s with table %q: %v", c.method, table, err)
			}
		}
	}
}
