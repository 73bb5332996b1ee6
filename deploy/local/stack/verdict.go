package stack

import (
	"fmt"
	"time"
)

// Verdict is what a run of the demo came to.
type Verdict struct {
	Rows        int // compared, of all tables
	Lost        int // rows missing from BigQuery, and committed changes that Pub/Sub never stored
	Extra       int // rows of BigQuery that Postgres doesn't have
	Different   int // rows with at least one other value
	OutOfOrder  int // first occurrences of a key's changes stored out of commit order
	DeadLetters int
	Kills       int
	Redelivered int           // messages that were delivered more than once
	P50, P99    time.Duration // commit to stored in BigQuery
}

// The numbers that a run without faults of ours must show.
const (
	wantDeadLetters = 1 // the row that BigQuery refuses
	wantKills       = 2 // each service once
)

// OK reports whether the pipeline kept its promises.
func (v Verdict) OK() bool {
	return v.Rows > 0 && v.Lost == 0 && v.Extra == 0 && v.Different == 0 && v.OutOfOrder == 0 &&
		v.DeadLetters == wantDeadLetters && v.Kills == wantKills && v.Redelivered > 0
}

// String returns the demo's last line.
func (v Verdict) String() string {
	word := "FAILED"
	if v.OK() {
		word = "ok"
	}
	return fmt.Sprintf("demo: %s rows=%d lost=%d extra=%d different=%d out_of_order=%d dead_letters=%d kills=%d redelivered=%d p50_ms=%d p99_ms=%d",
		word, v.Rows, v.Lost, v.Extra, v.Different, v.OutOfOrder, v.DeadLetters, v.Kills, v.Redelivered,
		v.P50.Milliseconds(), v.P99.Milliseconds())
}
