package bigquerytest

import (
	"strconv"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A writer schema may number its fields as it likes: small numbers are looked up
// in a list, the others in a map.
func TestFieldNumbers(t *testing.T) {
	s, _ := keyed(t, Config{})
	for i, n := range []protowire.Number{5, maxDense - 1, maxDense, maxDense + 1, protowire.MaxValidNumber} {
		d := proto.Clone(usersDescriptor).(*descriptorpb.DescriptorProto)
		d.Field[1].Number = new(int32(n))
		row := protowire.AppendTag(wire(i, nil, "UPSERT", "1"), n, protowire.BytesType)
		openStream(t, s).stored(up(d, protowire.AppendString(row, strconv.Itoa(int(n)))))
	}
	for _, row := range s.Rows("p", "d", "users") {
		if row["name"] == nil {
			t.Errorf("row %v has lost the field with a number of its own", row)
		}
	}
	if got := len(s.Rows("p", "d", "users")); got != 5 {
		t.Errorf("%d rows", got)
	}
}

// The oldest job is forgotten, and no other.
func TestJobsAreForgotten(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	var jobs []*bq.JobReference
	for range maxJobs + 1 {
		r, err := svc.Jobs.Query(project, standard("SELECT 1")).Do()
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, r.JobReference)
	}
	for i, want := range map[int]bool{0: false, 1: true, maxJobs: true} {
		if _, err := svc.Jobs.Get(project, jobs[i].JobId).Do(); (err == nil) != want {
			t.Errorf("job %d: %v", i, err)
		}
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if a, b := len(s.jobs.byID), len(s.jobs.order); a != maxJobs || b != maxJobs {
		t.Errorf("%d and %d jobs are remembered, want %d", a, b, maxJobs)
	}
}
