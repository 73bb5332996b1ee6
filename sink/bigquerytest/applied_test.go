package bigquerytest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppliedAndLatency(t *testing.T) {
	s := startServer(t, Config{Record: true})
	d := wideFixture(t, s, restClient(t, s))
	stream := openStream(t, s)
	commit := time.Now().Add(-time.Hour).UnixMicro()
	position := "00000001/0000000000000002/0000000000000003/00000004"
	other := "00000001/0000000000000002/0000000000000003/00000005"
	row := func(id int, position string, commit int64, change string) []byte {
		return wire(id, nil, nil, nil, nil, nil, nil, nil, position, commit, change, position)
	}
	stream.stored(appendRequest(wideStream, d, row(1, position, commit, "UPSERT")))
	stream.stored(appendRequest("", nil, row(1, position, commit-int64(time.Hour/time.Microsecond), "UPSERT"))) // a copy
	stream.stored(appendRequest("", nil, row(2, other, commit, "DELETE"), wire(3, nil, nil, nil, nil, nil, nil, nil, nil, nil, "UPSERT", "A/1")))

	got := s.Applied()
	var shown [][3]string
	for _, a := range got {
		if time.Since(a.StoredAt) > time.Minute || a.Dataset != "w" {
			t.Fatal(a)
		}
		shown = append(shown, [3]string{a.Table, a.Change, a.Position})
	}
	want := [][3]string{
		{"wide", "UPSERT", position},
		{"wide", "UPSERT", position},
		{"wide", "DELETE", other},
		{"wide", "UPSERT", "0000000A/0000000000000001/0000000000000000/00000000"},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Fatal(diff)
	}
	if !got[0].CommitTime.Equal(time.UnixMicro(commit)) || !got[3].CommitTime.IsZero() {
		t.Fatal(got)
	}
	l := s.Latency()
	if l.Rows != 2 || l.P50 < time.Hour || l.Max > time.Hour+time.Minute {
		t.Fatal(l)
	}
	if n := len(startServer(t, Config{}).Applied()); n != 0 {
		t.Fatal(n)
	}
}
