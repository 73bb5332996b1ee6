package bigquerytest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// Many connections write the same keys with sequence numbers in any order,
// with copies: the state is that of the largest number of each key.
func TestConvergenceUnderConcurrency(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s, _ := keyed(t, Config{})
	const keys, changes, writers = 50, 2000, 8
	want := map[string]string{}
	var rows [][]byte
	for n := range changes {
		id := rng.IntN(keys)
		sequence := fmt.Sprintf("%X/%X", n/7, n)
		if rng.IntN(4) == 0 {
			rows = append(rows, wire(id, nil, "DELETE", sequence))
			delete(want, strconv.Itoa(id))
			continue
		}
		rows = append(rows, wire(id, strconv.Itoa(n), "UPSERT", sequence))
		want[strconv.Itoa(id)] = strconv.Itoa(n)
	}
	var group sync.WaitGroup
	for w := range writers {
		order := rand.New(rand.NewPCG(seed, uint64(w))).Perm(len(rows))
		stream := openStream(t, s)
		stream.stored(up(usersDescriptor))
		group.Go(func() {
			for _, i := range order {
				if i%writers != w && i%3 != 0 { // each row once, a third of them more often
					continue
				}
				if err := stream.Send(up(nil, rows[i])); err != nil {
					t.Error(err)
					return
				}
				if r, err := stream.Recv(); err != nil || r.GetAppendResult() == nil {
					t.Error(r, err)
					return
				}
			}
		})
		group.Go(func() { s.Rows(project, "d", "users"); s.Apply(project, "d", "users"); s.Counters() })
	}
	group.Wait()
	var pairs []string
	for id, name := range want {
		pairs = append(pairs, id, name)
	}
	wantUsers(t, s, pairs...)
	if c := s.Counters(); c.Upserts+c.Deletes != c.Rows || c.Superseded == 0 {
		t.Fatal(c)
	}
}

// A key is the same key in whatever protobuf type and digits it comes.
func TestKeysByValue(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("users", []string{"n", "day"}, "n NUMERIC", "day DATE", "v STRING"))
	change := field{name: "_CHANGE_TYPE", typ: protoString}
	texts := descriptor(field{name: "v", typ: protoString}, field{name: "day", typ: protoString}, field{name: "n", typ: protoString}, change)
	numbers := descriptor(field{name: "n", typ: protoInt64}, field{name: "day", typ: protoInt32}, field{name: "v", typ: protoString}, change)
	openStream(t, s).stored(up(texts, wire("first", "1970-1-02", "1.50", "UPSERT")))
	openStream(t, s).stored(up(texts, wire("second", "1970-01-02", "+1.5000000001", "UPSERT")))
	openStream(t, s).stored(up(texts, wire("third", "1970-01-02", "2.0", "UPSERT")))
	openStream(t, s).stored(up(numbers, wire(2, 1, nil, "DELETE")))
	rows := s.Rows(project, "d", "users")
	if len(rows) != 1 || rows[0]["v"] != "second" || rows[0]["n"] != "1.5" {
		t.Fatal(rows)
	}
}

// Parts of composite keys can't run into each other.
func TestCompositeKeys(t *testing.T) {
	s := startServer(t, Config{NullKeys: true})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("users", []string{"a", "b"}, "a STRING", "b STRING"))
	d := descriptor(field{name: "a", typ: protoString}, field{name: "b", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	stream := openStream(t, s)
	stream.stored(up(d, wire("ab", "c", "UPSERT"), wire("a", "bc", "UPSERT"), wire("", "abc", "UPSERT"), wire(nil, "abc", "UPSERT"), wire("abc", nil, "UPSERT"), wire("abc", "", "UPSERT")))
	if n := len(s.Rows(project, "d", "users")); n != 6 {
		t.Fatalf("%d keys", n)
	}
}

// A table that is dropped and made again takes nothing from old connections.
func TestRecreatedTable(t *testing.T) {
	s, stream := keyed(t, Config{CreateDelay: minute})
	svc := rawREST(t, s)
	insertTable(t, svc, definition("log", []string{"line"}, "line STRING"))
	s.Advance(minute)
	logStream := strings.Replace(usersStream, "users", "log", 1)
	lines := descriptor(field{name: "line", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	stream.stored(appendRequest(logStream, lines, wire("x", "UPSERT")))
	if err := svc.Tables.Delete(project, "d", "users").Do(); err != nil {
		t.Fatal(err)
	}
	insertTable(t, svc, definition("users", []string{"id"}, "id INT64", "name STRING"))
	if r := stream.ask(up(nil, wire(1, "a", "UPSERT", "1"))); codes.Code(r.GetError().GetCode()) != codes.NotFound {
		t.Fatal(r)
	}
	s.Advance(minute)
	if r := stream.ask(up(nil, wire(1, "a", "UPSERT", "1"))); codes.Code(r.GetError().GetCode()) != codes.InvalidArgument {
		t.Fatal(r) // it needs the writer schema again
	}
	stream.stored(up(usersDescriptor, wire(2, "b", "UPSERT", "1")))
	wantUsers(t, s, "2", "b")
}

// Racing creators see one success and 409s; racing patches one success a ETag.
func TestRacingCreates(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	var group sync.WaitGroup
	made := make(chan error, 8)
	for range cap(made) {
		group.Go(func() {
			_, err := svc.Tables.Insert(project, "d", definition("t", []string{"id"}, "id INT64")).Do()
			made <- err
		})
	}
	group.Wait()
	ok := 0
	for range cap(made) {
		if err := <-made; err == nil {
			ok++
		} else {
			wantREST(t, err, 409, "duplicate", "Already Exists")
		}
	}
	if ok != 1 {
		t.Fatalf("%d were made", ok)
	}
}

func TestListenErrorSaysWhatToDo(t *testing.T) {
	s := startServer(t, Config{})
	_, err := New(Config{Addr: strings.TrimPrefix(s.Addr(), "http://")})
	e, ok := errors.AsType[interface {
		error
		Code() string
		Fix() string
	}](err)
	if !ok || e.Code() != "listen" || e.Fix() == "" {
		t.Fatal(err)
	}
}

func TestRowsOfNoTable(t *testing.T) {
	s := startServer(t, Config{})
	if s.Rows(project, "d", "t") != nil || s.Baseline(project, "d", "t") != nil {
		t.Fatal("rows of a table that doesn't exist")
	}
	s.Apply(project, "d", "t")
	s.PauseApply(project, "d", "t", true)
}

// What is remembered of deletes is bounded by the keys, not by how often they
// were deleted, and the latest of each key is still remembered.
func TestDeletesOfOneKey(t *testing.T) {
	s, stream := keyed(t, Config{})
	const passes, keys = 300, 20
	for pass := range passes {
		var rows [][]byte
		for id := range keys {
			rows = append(rows, wire(id, "x", "UPSERT", fmt.Sprintf("%X/0", pass+1)), wire(id, nil, "DELETE", fmt.Sprintf("%X/1", pass+1)))
		}
		stream.stored(up(usersDescriptor, rows...))
	}
	table, err := s.catalog.find(project, "d", "users")
	if err != nil {
		t.Fatal(err)
	}
	table.mu.Lock()
	remembered := len(table.tombs)
	table.mu.Unlock()
	if remembered > 2*keys+1001 || remembered < keys {
		t.Errorf("%d deletes are remembered of %d keys", remembered, keys)
	}
	var late [][]byte
	for id := range keys {
		late = append(late, wire(id, "late", "UPSERT", fmt.Sprintf("%X/0", passes)))
	}
	stream.stored(up(nil, late...))
	if got := userNames(s); len(got) != 0 {
		t.Errorf("%d rows came back", len(got))
	}
	s.Advance(deleteRetention + time.Second)
	openStream(t, s).stored(up(usersDescriptor, late...))
	if got := userNames(s); len(got) != keys {
		t.Errorf("%d rows came back after two days", len(got))
	}
}
