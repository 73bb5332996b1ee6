package service

import (
	"fmt"
	"sync"
	"time"
)

// stillLimit is how long nothing may move, while there is something to do,
// before a service isn't ready.
const stillLimit = time.Minute

// Movement remembers when something last moved. The zero value is ready for use;
// it is safe for concurrent use.
type Movement struct {
	mu    sync.Mutex
	mark  uint64
	since time.Time
}

// Ready says whether the service moves: it is idle, or mark, a sum of counters
// that grow with all work, has grown within a minute. waiting says what it waits
// for otherwise.
func (m *Movement) Ready(idle bool, mark uint64, waiting string) (ready bool, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if idle || mark != m.mark || m.since.IsZero() {
		m.mark, m.since = mark, now
	}
	if still := now.Sub(m.since); still > stillLimit {
		return false, fmt.Sprintf("nothing has moved for %d s, waiting for: %s", int(still.Seconds()), waiting)
	}
	return true, ""
}
