package bigquerytest

import (
	"sync"

	bq "google.golang.org/api/bigquery/v2"
)

// What is remembered of jobs: the newest ones whatever they are, and besides so
// many with so many values in their results. The oldest are forgotten.
const (
	minJobs      = 8
	maxJobs      = 256
	maxJobValues = 4_000_000
)

// job is a query: it runs while it is inserted.
type job struct {
	meta    bq.Job
	result  *result
	refused *restError
	done    chan struct{} // closed once the others are set
	values  int           // that count against maxJobValues
}

type jobs struct {
	mu     sync.Mutex
	byID   map[string]*job
	order  []string
	next   int
	values int // of all results
}

// add makes a job known that is about to run. The jobs are locked.
func (j *jobs) add(id string, of *job) {
	if j.byID == nil {
		j.byID = map[string]*job{}
	}
	j.byID[id] = of
	j.order = append(j.order, id)
	j.forget()
}

// forget drops the oldest jobs. The jobs are locked.
func (j *jobs) forget() {
	n := 0
	for ; len(j.order)-n > minJobs && (len(j.order)-n > maxJobs || j.values > maxJobValues); n++ {
		old := j.byID[j.order[n]]
		j.values -= old.values
		old.values = 0
		delete(j.byID, j.order[n])
	}
	if n > 0 {
		j.order = append([]string(nil), j.order[n:]...)
	}
}

// finish counts the values of a job that ran, unless it is forgotten.
func (j *jobs) finish(id string, of *job) {
	close(of.done)
	j.mu.Lock()
	defer j.mu.Unlock()
	if of.result == nil || j.byID[id] != of {
		return
	}
	of.values = len(of.result.rows) * len(of.result.columns)
	j.values += of.values
	j.forget()
}

// findJob waits for a job that still runs.
func (s *Server) findJob(project, id string) (*job, *restError) {
	s.jobs.mu.Lock()
	j := s.jobs.byID[project+"."+id]
	s.jobs.mu.Unlock()
	if j == nil {
		return nil, restNotFound(ruleNotFound, "Not found: Job "+project+":"+id)
	}
	<-j.done
	return j, nil
}
