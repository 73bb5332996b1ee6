package bigquerytest

import (
	"fmt"
	"sync"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
)

// Results are forgotten by what they hold, not by their number alone; the
// newest are kept whatever they hold.
func TestJobResultsAreBounded(t *testing.T) {
	var all jobs
	add := func(id string, rows int) {
		j := &job{done: make(chan struct{})}
		all.mu.Lock()
		all.add(id, j)
		all.mu.Unlock()
		j.result = &result{columns: make([]*column, 4), rows: make([][]any, rows)}
		all.finish(id, j)
	}
	for i := range 100 {
		add(fmt.Sprint(i), maxJobValues/4/20)
	}
	if n := len(all.byID); n != 20 || all.values > maxJobValues || all.byID["80"] == nil {
		t.Errorf("%d jobs with %d values are kept", n, all.values)
	}
	for i := range minJobs {
		add(fmt.Sprint("large", i), maxJobValues)
	}
	if n := len(all.byID); n != minJobs || all.byID["large0"] == nil {
		t.Errorf("%d jobs are kept", n)
	}
	for i := range 2 * maxJobs {
		add(fmt.Sprint("small", i), 1)
	}
	if n := len(all.byID); n != maxJobs || all.values != 4*maxJobs || len(all.order) != n {
		t.Errorf("%d jobs with %d values are kept", n, all.values)
	}
}

// A query that comes again while it runs gets the same answer.
func TestRequestIDTwiceAtOnce(t *testing.T) {
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	for i := range 20 {
		q := standard(fmt.Sprintf("CREATE TABLE d.t%d (id INT64)", i))
		q.RequestId = fmt.Sprint("r", i)
		var group sync.WaitGroup
		answers := make([]*bq.QueryResponse, 8)
		for n := range answers {
			group.Go(func() {
				r, err := svc.Jobs.Query(project, q).Do()
				if err != nil {
					t.Error(err)
					return
				}
				answers[n] = r
			})
		}
		group.Wait()
		for _, r := range answers {
			if r == nil || r.JobReference.JobId != answers[0].JobReference.JobId {
				t.Fatal("two jobs of one request id")
			}
		}
	}
}
