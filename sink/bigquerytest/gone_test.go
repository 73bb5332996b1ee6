package bigquerytest

import (
	"fmt"
	"runtime"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// inserting is a table without a key and a stream to it.
func inserting(t *testing.T) (*Server, rawStream) {
	t.Helper()
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t0", nil, "id INTEGER"))
	return s, openStream(t, s)
}

func streamOf(name string) string {
	return "projects/p/datasets/d/tables/" + name + "/streams/_default"
}

// Rows that were stored are in the table that a rename made, whenever it came.
func TestRenameLosesNoRow(t *testing.T) {
	s, stream := inserting(t)
	d := descriptor(field{name: "id", typ: protoInt64})
	const renames = 50
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range renames {
			for n := s.Counters().Rows; s.Counters().Rows < n+3 && t.Context().Err() == nil; runtime.Gosched() {
			}
			table := s.catalog.table(project, "d", fmt.Sprint("t", i))
			if e := s.catalog.renameTable(table, fmt.Sprint("t", i+1)); e != nil {
				t.Error(e)
			}
		}
	}()
	stored := 0
	for at := 0; at < renames; {
		err := stream.Send(appendRequest(streamOf(fmt.Sprint("t", at)), d, wire(stored)))
		r, problem := stream.Recv()
		switch {
		case problem == nil && r.GetError() == nil:
			stored++
		case status.Code(problem) == codes.NotFound:
			for at < renames && s.catalog.table(project, "d", fmt.Sprint("t", at)) == nil {
				at++
			}
			stream = openStream(t, s)
		default:
			t.Fatal(err, problem, r)
		}
	}
	<-done
	if n := len(s.Rows(project, "d", fmt.Sprint("t", renames))); n != stored {
		t.Errorf("%d rows of %d that were stored", n, stored)
	}
}

// A table that a call has found and that is dropped before it is changed is missing.
func TestGoneBetweenFindingAndChanging(t *testing.T) {
	s, _ := inserting(t)
	table := s.catalog.table(project, "d", "t0")
	if e := s.catalog.removeTable(project, "d", "t0"); e != nil {
		t.Fatal(e)
	}
	if e := table.lockLive(); e == nil || e.reason != "notFound" {
		t.Fatal(e)
	}
}

// tables.get counts what is there now: after an apply that only time brought,
// and after TRUNCATE TABLE and as many rows again.
func TestTableSizeIsOfNow(t *testing.T) {
	s, stream := staleUsers(t)
	svc := rawREST(t, s)
	size := func(name string) (uint64, int64) {
		var fields googleapi.Field = "numRows,numBytes"
		r, err := svc.Tables.Get(project, "d", name).Fields(fields).Do()
		if err != nil {
			t.Fatal(err)
		}
		return r.NumRows, r.NumBytes
	}
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	s.clock.advance(11 * minute)
	if rows, _ := size("users"); rows != 1 {
		t.Errorf("%d rows after the interval", rows)
	}
	insertTable(t, svc, definition("log", nil, "line STRING"))
	d := descriptor(field{name: "line", typ: protoString})
	other := openStream(t, s)
	for _, line := range []string{"short", "rather long"} {
		other.stored(appendRequest(streamOf("log"), d, wire(line)))
		if rows, bytes := size("log"); rows != 1 || bytes != int64(2+len(line)) {
			t.Errorf("%d rows of %d bytes of %q", rows, bytes, line)
		}
		if _, err := svc.Jobs.Query(project, standard("TRUNCATE TABLE d.log")).Do(); err != nil {
			t.Fatal(err)
		}
	}
}
