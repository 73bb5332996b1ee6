package bigquerytest

import (
	"testing"
	"time"
)

// staleUsers is the table users with a max_staleness of 10 minutes.
func staleUsers(t *testing.T) (*Server, rawStream) {
	t.Helper()
	s := startServer(t, Config{IdleClose: -1})
	client := restClient(t, s)
	users(t, s, client)
	stale(t, client, "INTERVAL 10 MINUTE")
	return s, openStream(t, s)
}

// wantBaseline checks how many rows of users the baseline has.
func wantBaseline(t *testing.T, s *Server, when string, want int) {
	t.Helper()
	if n := len(s.Baseline(project, "d", "users")); n != want {
		t.Errorf("%s: the baseline has %d rows, want %d", when, n, want)
	}
}

// An apply has no row that came after the moment that the watermark names.
func TestFirstApplyTakesNoLaterRow(t *testing.T) {
	s, stream := staleUsers(t)
	s.Advance(25 * minute)
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	wantBaseline(t, s, "5 minutes after an apply was due", 0)
	s.Advance(4 * minute)
	wantBaseline(t, s, "a minute before the next", 0)
	s.Advance(2 * minute)
	wantBaseline(t, s, "after it", 1)
}

func TestLateApplyIsNow(t *testing.T) {
	s, stream := staleUsers(t)
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	s.PauseApply(project, "d", "users", true)
	s.Advance(15 * minute)
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	wantBaseline(t, s, "held back", 0)
	s.PauseApply(project, "d", "users", false)
	wantBaseline(t, s, "let go on", 2)
	if ago := s.Now().Sub(s.Tables()[0].AppliedAt); ago > minute {
		t.Errorf("the watermark is %v old", ago)
	}
}

func TestShorterIntervalAppliesNow(t *testing.T) {
	s, stream := staleUsers(t)
	client := restClient(t, s)
	stale(t, client, "INTERVAL 1 DAY")
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	s.Advance(5 * time.Hour)
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1")))
	wantBaseline(t, s, "within a day", 0)
	stale(t, client, "INTERVAL 10 MINUTE")
	wantBaseline(t, s, "with the shorter interval", 2)
	if ago := s.Now().Sub(s.Tables()[0].AppliedAt); ago > minute {
		t.Errorf("the watermark is %v old", ago)
	}
}

// A key that was deleted is forgotten in the end, even if the baseline had it
// for longer than deletes are remembered.
func TestDeletedKeyIsForgottenAfterALateApply(t *testing.T) {
	s, stream := staleUsers(t)
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1"), wire(2, "b", "UPSERT", "1")))
	s.Apply(project, "d", "users")
	s.PauseApply(project, "d", "users", true)
	stream.stored(up(nil, wire(1, nil, "DELETE", "2"), wire(2, nil, "DELETE", "2")))
	s.Advance(50 * time.Hour)
	stream.stored(up(nil, wire(2, "old", "UPSERT", "1")))
	wantBaseline(t, s, "held back", 2)
	s.PauseApply(project, "d", "users", false)
	wantBaseline(t, s, "applied", 1)
	wantUsers(t, s, "2", "old")
	if table := s.catalog.table(project, "d", "users"); len(table.entries) != 1 || len(table.tombs)+len(table.unapplied) != 0 {
		t.Errorf("%d keys, %d and %d deletes are kept", len(table.entries), len(table.tombs), len(table.unapplied))
	}
}

// What is kept of late deletes is bounded by the keys.
func TestUnappliedDeletesOfOneKey(t *testing.T) {
	s, stream := staleUsers(t)
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	s.Apply(project, "d", "users")
	s.PauseApply(project, "d", "users", true)
	for range 1100 {
		stream.stored(up(nil, wire(1, nil, "DELETE", "2")))
		s.Advance(49 * time.Hour)
	}
	if table := s.catalog.table(project, "d", "users"); len(table.unapplied) > 1001 {
		t.Errorf("%d deletes are kept of one key", len(table.unapplied))
	}
	wantBaseline(t, s, "held back", 1)
}

func TestIntervalIsBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0-0 0 0:10:0": 10 * minute, "0-0 36500 0:0:0": maxInterval, "0-0 36500 0:0:1": 0, "0-0 9999999 0:0:0": 0, "0-0 0 99999999:0:0": 0,
		"0-0 213504 0:0:0": 0, "0-1 0 0:0:0": 0, "0-0 0 0:60:0": 0, "": 0,
	} {
		if d, ok := parseIntervalText(text); d != want || ok != (want != 0) {
			t.Errorf("%q is %v, %v", text, d, ok)
		}
	}
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	for _, interval := range []string{"INTERVAL 2147483647 WEEK", "INTERVAL 99999999999 SECOND", "INTERVAL 5 YEARS", "INTERVAL '0-0 9999999 0:0:0' YEAR TO SECOND"} {
		_, err := svc.Jobs.Query(project, standard("CREATE TABLE d.t (id INT64) OPTIONS (max_staleness = "+interval+")")).Do()
		wantREST(t, err, 400, "invalidQuery", "Invalid INTERVAL for max_staleness")
	}
}
