package publish

import (
	"time"

	"cdc/publish/queue"
)

// troubleInterval is the least time between two warnings about retries.
const troubleInterval = 30 * time.Second

// trouble decides which failed attempts are worth a line in the log.
type trouble struct {
	warned  bool
	last    queue.Instant
	retries int64 // since the trouble began
}

// failure counts a failed attempt and says whether to warn.
func (t *trouble) failure(now queue.Instant) bool {
	t.retries++
	if t.warned && now-t.last < troubleInterval {
		return false
	}
	t.warned, t.last = true, now
	return true
}

// success says whether the trouble is over: a request that had failed went
// through and no other key waits. It returns the retries that there were.
func (t *trouble) success(retried bool, waiting int) (bool, int64) {
	if !t.warned || !retried || waiting > 0 {
		return false, 0
	}
	n := t.retries
	*t = trouble{}
	return true, n
}
