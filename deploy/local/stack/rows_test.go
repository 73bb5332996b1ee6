package stack

import (
	"strings"
	"testing"
	"time"
)

func nobody(string) bool { return false }

// The comparison must find each way in which a destination can be wrong.
func TestCompareFindsPlantedBugs(t *testing.T) {
	rows := func() tableRows {
		return tableRows{
			"1": {"id": "1", "name": "a", "note": null},
			"2": {"id": "2", "name": "b", "note": "x"},
		}
	}
	tests := []struct {
		name                   string
		plant                  func(got tableRows)
		lost, extra, different int
	}{
		{"nothing", func(tableRows) {}, 0, 0, 0},
		{"a row is missing", func(g tableRows) { delete(g, "2") }, 1, 0, 0},
		{"a row that never was", func(g tableRows) { g["3"] = map[string]string{"id": "3"} }, 0, 1, 0},
		{"another value", func(g tableRows) { g["1"]["name"] = "A" }, 0, 0, 1},
		{"a value for a null", func(g tableRows) { g["1"]["note"] = "" }, 0, 0, 1},
		{"a column is missing", func(g tableRows) { delete(g["1"], "note") }, 0, 0, 1},
		{"a column too many", func(g tableRows) { g["1"]["more"] = null }, 0, 0, 1},
	}
	for _, tt := range tests {
		got := rows()
		tt.plant(got)
		d := compare("t", rows(), got, nobody)
		if d.rows != 2 || d.lost != tt.lost || d.extra != tt.extra || d.different != tt.different {
			t.Errorf("%s: %+v", tt.name, d)
		}
		if want := tt.lost + tt.extra + tt.different; len(d.findings) != want {
			t.Errorf("%s: %d findings, want %d: %q", tt.name, len(d.findings), want, d.findings)
		}
	}
}

func TestCompareLeavesOutDeadLetters(t *testing.T) {
	want := tableRows{"1": {"id": "1"}, "2": {"id": "2"}}
	d := compare("t", want, tableRows{"1": {"id": "1"}}, func(key string) bool { return key == "2" })
	if d.lost != 0 || d.rows != 1 {
		t.Errorf("a dead-lettered row counts: %+v", d)
	}
	d = compare("t", want, tableRows{"2": {"id": "2"}}, func(key string) bool { return key == "2" })
	if d.lost != 1 {
		t.Errorf("a row that wasn't dead-lettered doesn't count: %+v", d)
	}
}

func TestVerdict(t *testing.T) {
	good := Verdict{Rows: 10, DeadLetters: 1, Kills: 2, Redelivered: 3, P50: 4 * time.Millisecond, P99: 50 * time.Millisecond}
	const line = "demo: ok rows=10 lost=0 extra=0 different=0 out_of_order=0 dead_letters=1 kills=2 redelivered=3 p50_ms=4 p99_ms=50"
	if got := good.String(); got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
	for name, spoil := range map[string]func(*Verdict){
		"no rows":                    func(v *Verdict) { v.Rows = 0 },
		"lost":                       func(v *Verdict) { v.Lost = 1 },
		"extra":                      func(v *Verdict) { v.Extra = 1 },
		"different":                  func(v *Verdict) { v.Different = 1 },
		"out of order":               func(v *Verdict) { v.OutOfOrder = 1 },
		"no dead letter":             func(v *Verdict) { v.DeadLetters = 0 },
		"a dead letter too many":     func(v *Verdict) { v.DeadLetters = 2 },
		"a kill is missing":          func(v *Verdict) { v.Kills = 1 },
		"nothing came a second time": func(v *Verdict) { v.Redelivered = 0 },
	} {
		v := good
		spoil(&v)
		if v.OK() || !strings.HasPrefix(v.String(), "demo: FAILED ") {
			t.Errorf("%s: %s", name, v)
		}
	}
}
