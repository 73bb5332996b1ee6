package bigquerytest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
)

func TestRuleUpsertNeedsKey(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("users", nil, "id INT64", "name STRING"))
	wantAppend(t, openStream(t, s).ask(up(usersDescriptor)), codes.InvalidArgument, "Create UPSERT stream is not supported for primary key disabled table", 0)
}

func TestRuleKeyInRow(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	wantRow(t, stream.ask(up(nil, wire(1, "a", "UPSERT", "1"), wire(nil, "b", "UPSERT", "1"))), 1, "Primary key column id has no value")
	noKey := descriptor(field{name: "name", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	wantAppend(t, openStream(t, s).ask(up(noKey)), codes.InvalidArgument, "no field for primary key column id", 0)

	lax, stream := keyed(t, Config{NullKeys: true})
	stream.stored(up(usersDescriptor, wire(nil, "b", "UPSERT", "1"), wire(nil, "c", "UPSERT", "2")))
	if rows := lax.Rows(project, "d", "users"); len(rows) != 1 || rows[0]["name"] != "c" {
		t.Fatal(rows)
	}
}

func TestRuleChangeType(t *testing.T) {
	_, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	for _, bad := range []string{"upsert", "UPDATE", "x"} {
		wantRow(t, stream.ask(up(nil, wire(1, "a", bad, "1"))), 0, "The given value is not a valid CHANGE_TYPE")
	}
	stream.stored(up(nil, wire(1, "a", "UPSERT", "1"), wire(1, nil, "DELETE", "2")))
}

func TestRuleMixedChanges(t *testing.T) {
	_, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	wantRow(t, stream.ask(up(nil, wire(2, "b", "INSERT", "1"))), 0, "The given value is not a valid CHANGE_TYPE")
	wantRow(t, stream.ask(up(nil, wire(2, "b", nil, "1"))), 0, "The given value is not a valid CHANGE_TYPE")

	_, stream = keyed(t, Config{})
	wantRow(t, stream.ask(up(usersDescriptor, wire(1, "a", "INSERT", "1"), wire(2, "b", "UPSERT", "1"))), 1,
		"The given value is not a valid CHANGE_TYPE in insert mode: UPSERT")
}

// Tables that share a connection share its kind of rows.
func TestRuleMixedChangesAcrossTables(t *testing.T) {
	s, stream := keyed(t, Config{})
	insertTable(t, rawREST(t, s), definition("log", nil, "line STRING"))
	logStream := strings.Replace(usersStream, "users", "log", 1)
	lines := descriptor(field{name: "line", typ: protoString})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	wantRow(t, stream.ask(appendRequest(logStream, lines, wire("x"))), 0, "The given value is not a valid CHANGE_TYPE in upsert mode: INSERT")
	openStream(t, s).stored(appendRequest(logStream, lines, wire("x")))
}

func TestRuleCDCColumns(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	_, columns := manyColumns(maxCDCColumns + 1)
	insertTable(t, svc, definition("users", []string{"c0"}, columns...))
	d := descriptor(field{name: "c0", typ: protoInt64}, field{name: "_CHANGE_TYPE", typ: protoString})
	wantAppend(t, openStream(t, s).ask(up(d)), codes.InvalidArgument, "more than 2000 columns", 0)
}

func TestRuleSequenceFormat(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor))
	for _, bad := range []string{"", "/", "1/", "/1", "1//2", "g", "-1", "1/2/3/4/5", "00000000000000001", " 1", "0x1", "2024-04-30"} {
		wantRow(t, stream.ask(up(nil, wire(1, "a", "UPSERT", bad))), 0, "Invalid _CHANGE_SEQUENCE_NUMBER")
	}
	for _, good := range []string{"0/0/0/0", "aBc", "FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF"} {
		stream.stored(up(nil, wire(1, good, "UPSERT", good)))
	}
	if n := s.Counters().Rows; n != 3 {
		t.Fatal(n)
	}
}

// The page's four examples, in both orders of arrival.
func TestRuleSequenceOrder(t *testing.T) {
	for _, pair := range [][2]string{{"77", "7B"}, {"FFF/B", "FFF/ABC"}, {"BA/FFFFFFFF", "ABC"}, {"ABC", "FFF/ABC"}, {"FFFFFFFF", "8000000000000000"}} {
		for _, swapped := range []bool{false, true} {
			s, stream := keyed(t, Config{})
			older, newer := wire(1, "older", "UPSERT", pair[0]), wire(1, "newer", "UPSERT", pair[1])
			if swapped {
				older, newer = newer, older
			}
			stream.stored(up(usersDescriptor, older))
			stream.stored(up(nil, newer))
			wantUsers(t, s, "1", "newer")
			// And within one request.
			s, stream = keyed(t, Config{})
			stream.stored(up(usersDescriptor, older, newer))
			wantUsers(t, s, "1", "newer")
		}
	}
}

func TestRuleSequenceTie(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor, wire(1, "first", "UPSERT", "a/1")))
	stream.stored(up(nil, wire(1, "second", "UPSERT", "A/01")))
	wantUsers(t, s, "1", "second")
}

// winners counts which of two rows of one request won, over 64 keys.
func winners(t *testing.T, seed uint64, first, second func(id int) []byte) int {
	t.Helper()
	s, stream := keyed(t, Config{Seed: seed})
	var rows [][]byte
	for id := range 64 {
		rows = append(rows, first(id), second(id))
	}
	stream.stored(up(usersDescriptor, rows...))
	n := 0
	for _, name := range userNames(s) {
		if name == "second" {
			n++
		}
	}
	return n
}

func TestRuleNoSequence(t *testing.T) {
	row := func(name string, sequence any) func(int) []byte {
		return func(id int) []byte { return wire(id, name, "UPSERT", sequence) }
	}
	for what, pair := range map[string][2]any{"none": {nil, nil}, "equal": {"1", "1"}, "mixed": {"1", nil}} {
		n := winners(t, 7, row("first", pair[0]), row("second", pair[1]))
		if n < 10 || n > 54 {
			t.Errorf("%s: the second won %d of 64", what, n)
		}
		if again := winners(t, 7, row("first", pair[0]), row("second", pair[1])); again != n {
			t.Errorf("%s: another result with the same seed: %d, %d", what, n, again)
		}
	}
	// Across requests the later one wins.
	s, stream := keyed(t, Config{})
	for i := range 20 {
		stream.stored(up(usersDescriptor, wire(1, fmt.Sprint(i), "UPSERT", nil)))
	}
	wantUsers(t, s, "1", "19")
}

func TestRuleWholeRow(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	stream.stored(up(nil, wire(1, nil, "UPSERT", "2")))
	wantUsers(t, s, "1", "NULL")
}

// The page's example: a delete, an update and an insert.
func TestRuleDeleteKey(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := startServer(t, Config{StrictDeletes: strict})
		svc := rawREST(t, s)
		rawDataset(t, svc)
		insertTable(t, svc, definition("users", []string{"id"}, "id INT64 REQUIRED", "name STRING REQUIRED"))
		stream := openStream(t, s)
		stream.stored(up(usersDescriptor, wire(100, "Charlie", "UPSERT", nil), wire(101, "Tal", "UPSERT", nil), wire(102, "Lee", "UPSERT", nil)))
		r := stream.ask(up(nil, wire(100, nil, "DELETE", nil), wire(101, "Tal 8000", "UPSERT", nil), wire(105, "Izumi", "UPSERT", nil)))
		if strict {
			wantRow(t, r, 0, "Field name is required")
			continue
		}
		wantUsers(t, s, "101", "Tal 8000", "102", "Lee", "105", "Izumi")
		stream.stored(up(nil, wire(999, nil, "DELETE", nil))) // of a key that was never there
	}
}

func TestRuleDeleteRetention(t *testing.T) {
	s, stream := keyed(t, Config{IdleClose: -1})
	stream.stored(up(usersDescriptor, wire(1, nil, "DELETE", "5"), wire(2, nil, "DELETE", "5")))
	s.Advance(48*time.Hour - minute)
	stream.stored(up(nil, wire(1, "old", "UPSERT", "4")))
	wantUsers(t, s)
	s.Advance(2 * minute)
	stream.stored(up(nil, wire(1, "old", "UPSERT", "4")))
	wantUsers(t, s, "1", "old")
	if n := len(s.catalog.table(project, "d", "users").entries); n != 1 {
		t.Fatalf("%d keys are kept", n)
	}
	// A delete that is written anew counts from its own ingestion.
	stream.stored(up(nil, wire(2, nil, "DELETE", "5")))
	s.Advance(48*time.Hour - minute)
	stream.stored(up(nil, wire(2, "old", "UPSERT", "4")))
	wantUsers(t, s, "1", "old")
}

// stale sets max_staleness of users by DDL.
func stale(t testing.TB, client *bigquery.Client, interval string) {
	t.Helper()
	job, err := client.Query("ALTER TABLE d.users SET OPTIONS (max_staleness = " + interval + ")").Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st, err := job.Wait(t.Context()); err != nil || st.Err() != nil {
		t.Fatal(err, st)
	}
}

// selected is how many rows a query shows.
func selected(t testing.TB, client *bigquery.Client) int64 {
	t.Helper()
	rows := query(t, client, "SELECT COUNT(*) FROM d.users")
	n, ok := rows[0][0].(int64)
	if !ok {
		t.Fatal(rows)
	}
	return n
}

func query(t testing.TB, client *bigquery.Client, sql string) [][]bigquery.Value {
	t.Helper()
	it, err := client.Query(sql).Read(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var out [][]bigquery.Value
	for {
		var row []bigquery.Value
		err := it.Next(&row)
		if err == iterator.Done {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
}

// watermark is what the page's query answers; zero for NULL.
func watermark(t testing.TB, client *bigquery.Client) time.Time {
	t.Helper()
	rows := query(t, client, "SELECT upsert_stream_apply_watermark FROM d.INFORMATION_SCHEMA.TABLES WHERE table_name = 'users'")
	at, _ := rows[0][0].(time.Time)
	return at
}

func TestRuleStalenessWithin(t *testing.T) {
	s, stream := keyed(t, Config{})
	client := restClient(t, s)
	stale(t, client, "INTERVAL 10 MINUTE")
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1"), wire(2, "b", "UPSERT", "1")))
	if n := selected(t, client); n != 0 {
		t.Fatalf("%d rows before the first apply", n)
	}
	s.Apply(project, "d", "users")
	stream.stored(up(nil, wire(1, nil, "DELETE", "2"), wire(2, "changed", "UPSERT", "2"), wire(3, "c", "UPSERT", "1")))
	rows := query(t, client, "SELECT name FROM d.users ORDER BY id")
	if len(rows) != 2 || rows[0][0] != "a" || rows[1][0] != "b" {
		t.Fatal(rows)
	}
	if n := s.Counters().RuntimeMerges; n != 0 {
		t.Fatalf("%d merges", n)
	}
	wantUsers(t, s, "2", "changed", "3", "c")
}

func TestRuleStalenessBeyond(t *testing.T) {
	s, stream := keyed(t, Config{})
	client := restClient(t, s)
	stale(t, client, "INTERVAL 10 MINUTE")
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	s.Apply(project, "d", "users")
	before := watermark(t, client)
	s.PauseApply(project, "d", "users", true)
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	s.Advance(11 * minute)
	if n := selected(t, client); n != 2 {
		t.Fatalf("%d rows", n)
	}
	if n := s.Counters().RuntimeMerges; n != 1 || !watermark(t, client).Equal(before) {
		t.Fatalf("%d merges, watermark %v, before %v", n, watermark(t, client), before)
	}
	s.PauseApply(project, "d", "users", false)
	if n := selected(t, client); n != 2 || !watermark(t, client).After(before) {
		t.Fatalf("%d rows, watermark %v", n, watermark(t, client))
	}
}

func TestRuleStalenessUnset(t *testing.T) {
	s, stream := keyed(t, Config{})
	client := restClient(t, s)
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	if n := selected(t, client); n != 1 {
		t.Fatalf("unset: %d rows", n)
	}
	stale(t, client, "INTERVAL 10 MINUTE")
	if n := selected(t, client); n != 0 {
		t.Fatalf("10 minutes: %d rows", n)
	}
	stale(t, client, "INTERVAL 0 MINUTE")
	if n := selected(t, client); n != 1 {
		t.Fatalf("0: %d rows", n)
	}
}

func TestRuleStalenessApply(t *testing.T) {
	s, stream := keyed(t, Config{IdleClose: -1})
	client := restClient(t, s)
	stale(t, client, "INTERVAL 10 MINUTE")
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	if at := watermark(t, client); !at.IsZero() {
		t.Fatal(at)
	}
	s.Advance(10 * minute)
	due := watermark(t, client)
	if due.IsZero() || due.After(s.Now()) || s.Now().Sub(due) > minute {
		t.Fatal(due, s.Now())
	}
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	if n := selected(t, client); n != 1 {
		t.Fatalf("%d rows", n)
	}
	s.Advance(10 * minute)
	if n := selected(t, client); n != 2 || !watermark(t, client).Equal(due.Add(10*minute)) {
		t.Fatalf("%d rows, watermark %v", n, watermark(t, client))
	}
}

func TestRuleDataBaseline(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	svc := rawREST(t, s)
	list := func() int64 {
		r, err := svc.Tabledata.List(project, "d", "users").Do()
		if err != nil {
			t.Fatal(err)
		}
		return r.TotalRows
	}
	if n := list(); n != 0 {
		t.Fatalf("%d rows before an apply", n)
	}
	s.Advance(DefaultUnsetApplyInterval)
	if n := list(); n != 1 {
		t.Fatalf("%d rows after it", n)
	}
	// Rows without a change type need no apply, neither for it nor for a query.
	insertTable(t, svc, definition("log", nil, "id INTEGER"))
	openStream(t, s).stored(appendRequest(streamOf("log"), descriptor(field{name: "id", typ: protoInt64}), wire(1), wire(1)))
	if r, err := svc.Tabledata.List(project, "d", "log").Do(); err != nil || len(r.Rows) != 2 {
		t.Fatalf("%v: %v", r, err)
	}
	if n := len(s.Baseline(project, "d", "log")); n != 2 {
		t.Fatalf("%d rows in the baseline", n)
	}
}

func TestRulePseudoColumns(t *testing.T) {
	s, stream := keyed(t, Config{})
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	svc := rawREST(t, s)
	for _, name := range []string{"_CHANGE_TYPE", "_CHANGE_SEQUENCE_NUMBER"} {
		_, err := svc.Jobs.Query(project, standard("SELECT "+name+" FROM d.users")).Do()
		wantREST(t, err, 400, "invalidQuery", "Unrecognized name: "+name)
	}
}
