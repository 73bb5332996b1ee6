package publish

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/googleapis/gax-go/v2"
)

// queueBug is a mistake planted between the queue and its driver.
type queueBug int

const (
	noBug queueBug = iota
	bugTwoInFlight
	bugSkipAfterFailure
	bugForgetLane
	bugIgnoreRequestLimit
	bugRetryWithoutHead
)

// queueRun drives a queue as the Dispatcher does, a seed picking each step, and
// checks it: the server stores a request when it is done, and a failed one
// perhaps too, at once or later.
type queueRun struct {
	rnd    *rand.Rand
	bug    queueBug
	q      *queue
	now    instant
	flying []request
	late   [][]uint64 // stored some time
	lateOf []string

	pushed   map[string]uint64 // key → messages pushed, numbered from 1
	stored   map[string]uint64 // key → the first occurrences stored
	accepted int
	total    int
}

const (
	runRequests = 4
	runMessages = 3
	runBytes    = 1000
	runRate     = 5000
)

func newQueueRun(seed uint64, bug queueBug) *queueRun {
	return &queueRun{
		rnd: rand.New(rand.NewPCG(seed, 1)), bug: bug,
		q: newQueue(limits{
			requests: runRequests, requestMessages: runMessages,
			requestBytes: runBytes, keyRateBytesPerSecond: runRate,
		}),
		pushed: make(map[string]uint64), stored: make(map[string]uint64),
	}
}

// run returns the first violation.
func (s *queueRun) run(messages int) (err error) {
	defer func() {
		if p := recover(); p != nil && s.bug != noBug {
			err = fmt.Errorf("panic: %v", p)
		} else if p != nil {
			panic(p)
		}
	}()
	for step := 0; step < 100*messages && (s.total < messages || s.accepted < s.total || len(s.q.lanes) > 0); step++ {
		if err := s.step(messages); err != nil {
			return err
		}
	}
	for i := range s.late {
		if err := s.store(s.lateOf[i], s.late[i]); err != nil {
			return err
		}
	}
	switch q := s.q; {
	case s.accepted != s.total:
		return fmt.Errorf("%d of %d accepted", s.accepted, s.total)
	case len(q.lanes) != 0 || len(q.waiting) != 0 || q.slots != 0 || q.flying != 0 || q.messages != 0 || q.bytes != 0 || q.ready.len != 0:
		return fmt.Errorf("drained queue isn't empty: %d lanes, %d waiting, %d slots", len(q.lanes), len(q.waiting), q.slots)
	}
	for key, n := range s.pushed {
		if s.stored[key] != n {
			return fmt.Errorf("%s: %d of %d stored", key, s.stored[key], n)
		}
	}
	return nil
}

func (s *queueRun) step(messages int) error {
	switch n := s.rnd.IntN(10); {
	case n < 4 && s.total < messages:
		key := fmt.Sprint("k", s.rnd.IntN(6))
		s.pushed[key]++
		s.total++
		s.q.push([]byte(key), item{bytes: 1 + s.rnd.IntN(2*runBytes/3), tag: s.pushed[key]})
	case n < 6:
		return s.next()
	case n < 9 && len(s.flying) > 0:
		return s.answer()
	case n == 9:
		s.now += time.Duration(s.rnd.Int64N(int64(100 * time.Millisecond)))
		if len(s.late) > 0 && s.rnd.IntN(3) == 0 {
			key, tags := s.lateOf[0], s.late[0]
			s.late, s.lateOf = s.late[1:], s.lateOf[1:]
			return s.store(key, tags)
		}
	}
	return nil
}

func (s *queueRun) next() error {
	sendable := s.q.sendable(s.now)
	r, ok := s.q.next(s.now)
	if ok != sendable {
		return fmt.Errorf("sendable %v, next %v", sendable, ok)
	}
	if !ok {
		return nil
	}
	if s.bug == bugTwoInFlight && s.rnd.IntN(8) == 0 {
		s.q.ready.push(r.lane)
	}
	for _, other := range s.flying {
		if other.lane.key == r.lane.key {
			return fmt.Errorf("%s: two in flight", r.lane.key)
		}
	}
	s.flying = append(s.flying, r)
	bytes := 0
	for _, it := range r.items {
		bytes += it.bytes
	}
	switch {
	case bytes != r.bytes:
		return fmt.Errorf("request of %d bytes says %d", bytes, r.bytes)
	case len(r.items) > runMessages, len(r.items) > 1 && bytes > runBytes, len(r.items) == 0:
		return fmt.Errorf("request of %d messages, %d bytes", len(r.items), bytes)
	case s.q.slots > runRequests:
		return fmt.Errorf("%d in flight", s.q.slots)
	}
	if s.bug == bugIgnoreRequestLimit && s.rnd.IntN(8) == 0 {
		s.q.slots--
	}
	return nil
}

func (s *queueRun) answer() error {
	i := s.rnd.IntN(len(s.flying))
	r := s.flying[i]
	s.flying = slices.Delete(s.flying, i, i+1)
	var tags []uint64
	for _, it := range r.items {
		tags = append(tags, it.tag)
	}
	if s.rnd.IntN(3) > 0 {
		s.accepted += len(r.items)
		lane := r.lane
		s.q.done(r, s.now)
		if s.bug == bugForgetLane && len(lane.items) > 0 && s.rnd.IntN(8) == 0 {
			delete(s.q.lanes, lane.key)
		}
		return s.store(lane.key, tags)
	}
	var err error
	switch s.rnd.IntN(3) { // stored at once, late, never
	case 0:
		err = s.store(r.lane.key, tags)
	case 1:
		s.late, s.lateOf = append(s.late, tags), append(s.lateOf, r.lane.key)
	}
	until := s.now + time.Duration(s.rnd.Int64N(int64(50*time.Millisecond)))
	switch {
	case s.bug == bugSkipAfterFailure && s.rnd.IntN(8) == 0:
		s.accepted += len(r.items)
		s.q.done(r, s.now)
	case s.bug == bugRetryWithoutHead && len(r.lane.items) > 1 && s.rnd.IntN(8) == 0:
		r.lane.items = append(r.lane.items[1:], r.lane.items[0])
		s.q.failed(r, until)
	default:
		s.q.failed(r, until)
	}
	return err
}

// store is the server: the first occurrences of a key must come in order, without a gap.
func (s *queueRun) store(key string, tags []uint64) error {
	for _, tag := range tags {
		if tag > s.stored[key]+1 {
			return fmt.Errorf("%s: message %d stored before %d", key, tag, s.stored[key]+1)
		}
		s.stored[key] = max(s.stored[key], tag)
	}
	return nil
}

func TestQueueKeepsOrderUnderFailures(t *testing.T) {
	first := rand.Uint64()
	t.Logf("seeds from %d on", first)
	for seed := first; seed < first+2000; seed++ {
		if err := newQueueRun(seed, noBug).run(60); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestQueueCheckerFindsPlantedBugs(t *testing.T) {
	for name, bug := range map[string]queueBug{
		"two in flight": bugTwoInFlight, "skip after failure": bugSkipAfterFailure,
		"lane forgotten": bugForgetLane, "limit of requests": bugIgnoreRequestLimit,
		"retry in another order": bugRetryWithoutHead,
	} {
		t.Run(name, func(t *testing.T) {
			first := rand.Uint64()
			for seed := first; seed < first+200; seed++ {
				if err := newQueueRun(seed, bug).run(60); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("not found with 200 seeds from %d on", first)
		})
	}
}

// TestQueueRateOfKey sends one key as fast as it may go: the rate holds in every
// window, also when the key drains between its messages.
func TestQueueRateOfKey(t *testing.T) {
	for _, test := range []struct {
		name  string
		drain bool
	}{{"always something queued", false}, {"drains each time", true}} {
		t.Run(test.name, func(t *testing.T) {
			q := newQueue(limits{requests: 10, requestMessages: 10, requestBytes: 100_000, keyRateBytesPerSecond: 900_000})
			var now instant
			sent := 0
			for now < 10*time.Second {
				if !test.drain || q.messages == 0 {
					q.push([]byte("hot"), item{bytes: 20_000})
				}
				r, ok := q.next(now)
				if !ok {
					at, waits := q.wake()
					if !waits {
						t.Fatalf("at %v nothing to send and nothing to wait for", now)
					}
					now = at
					continue
				}
				sent += r.bytes
				now += time.Millisecond // round trip
				q.done(r, now)
			}
			rate := float64(sent) / now.Seconds()
			if rate > 920_000 || rate < 850_000 {
				t.Errorf("%.0f bytes a second", rate)
			}
		})
	}
}

// TestQueueLeavesNothingOfSmallKeys: the usual message is paid for before its
// answer is there, so a drained key is gone at once.
func TestQueueLeavesNothingOfSmallKeys(t *testing.T) {
	q := newQueue(limits{requests: 10, requestMessages: 1000, requestBytes: 1e6, keyRateBytesPerSecond: keyRateBytesPerSecond})
	for i := range 1000 {
		q.push(fmt.Append(nil, i), item{bytes: 600})
		now := instant(i) * 20 * time.Millisecond
		r, _ := q.next(now)
		q.done(r, now+5*time.Millisecond)
		if len(q.lanes) != 0 || len(q.waiting) != 0 {
			t.Fatalf("%d lanes, %d waiting", len(q.lanes), len(q.waiting))
		}
	}
}

// TestQueueIsFair: a key with much in it takes turns with the others.
func TestQueueIsFair(t *testing.T) {
	q := newQueue(limits{requests: 1, requestMessages: 1, requestBytes: 1})
	for range 100 {
		q.push([]byte("much"), item{bytes: 1})
	}
	q.push([]byte("little"), item{bytes: 1})
	for i := range 2 {
		r, ok := q.next(0)
		if !ok {
			t.Fatal("nothing to send")
		}
		if want := []string{"much", "little"}[i]; r.lane.key != want {
			t.Errorf("turn %d: %s", i, r.lane.key)
		}
		q.done(r, 0)
	}
}

// TestQueueShut: nothing goes out, and what has failed is there afterwards.
func TestQueueShut(t *testing.T) {
	q := newQueue(limits{requests: 2, requestMessages: 9, requestBytes: 9})
	q.push([]byte("a"), item{bytes: 1, tag: 1})
	r, _ := q.next(0)
	q.open(false)
	q.failed(r, 0)
	q.push([]byte("a"), item{bytes: 1, tag: 2})
	if _, ok := q.next(time.Hour); ok || q.sendable(time.Hour) {
		t.Fatal("sent while shut")
	}
	q.open(true)
	r, ok := q.next(0)
	if !ok || len(r.items) != 2 || r.items[0].tag != 1 {
		t.Errorf("after opening: %v %v", ok, r.items)
	}
}

// A key whose request went through starts its next back-off at the beginning.
func TestDoneEndsBackoff(t *testing.T) {
	q := newQueue(limits{requests: 1, requestMessages: 1, requestBytes: 10})
	q.push([]byte("k"), item{bytes: 1})
	q.push([]byte("k"), item{bytes: 1})
	r, _ := q.next(0)
	r.lane.backoff = &gax.Backoff{}
	q.failed(r, 1)
	if r, _ = q.next(1); r.lane.backoff == nil {
		t.Error("a failed attempt's back-off is forgotten")
	}
	q.done(r, 2)
	if r, ok := q.next(2); !ok || r.lane.backoff != nil {
		t.Error("the back-off outlives the failures")
	}
}
