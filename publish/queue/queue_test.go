package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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
	q      *Queue[uint64]
	now    Instant
	flying []Request[uint64]
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
		q: New[uint64](Limits{
			Requests: runRequests, RequestMessages: runMessages,
			RequestBytes: runBytes, KeyRateBytesPerSecond: runRate,
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
		s.q.Push([]byte(key), 1+s.rnd.IntN(2*runBytes/3), s.pushed[key])
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
	sendable := s.q.Sendable(s.now)
	r, ok := s.q.Next(s.now)
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
		if other.Key == r.Key {
			return fmt.Errorf("%s: two in flight", r.Key)
		}
	}
	s.flying = append(s.flying, r)
	bytes := 0
	for _, it := range r.Items {
		bytes += it.Bytes
	}
	switch {
	case bytes != r.Bytes:
		return fmt.Errorf("request of %d bytes says %d", bytes, r.Bytes)
	case len(r.Items) > runMessages, len(r.Items) > 1 && bytes > runBytes, len(r.Items) == 0:
		return fmt.Errorf("request of %d messages, %d bytes", len(r.Items), bytes)
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
	for _, it := range r.Items {
		tags = append(tags, it.Message)
	}
	if s.rnd.IntN(3) > 0 {
		s.accepted += len(r.Items)
		lane := r.lane
		s.q.Done(r, s.now)
		if s.bug == bugForgetLane && len(lane.items) > 0 && s.rnd.IntN(8) == 0 {
			delete(s.q.lanes, lane.key)
		}
		return s.store(lane.key, tags)
	}
	var err error
	switch s.rnd.IntN(3) { // stored at once, late, never
	case 0:
		err = s.store(r.Key, tags)
	case 1:
		s.late, s.lateOf = append(s.late, tags), append(s.lateOf, r.Key)
	}
	until := s.now + time.Duration(s.rnd.Int64N(int64(50*time.Millisecond)))
	switch {
	case s.bug == bugSkipAfterFailure && s.rnd.IntN(8) == 0:
		s.accepted += len(r.Items)
		s.q.Done(r, s.now)
	case s.bug == bugRetryWithoutHead && len(r.lane.items) > 1 && s.rnd.IntN(8) == 0:
		r.lane.items = append(r.lane.items[1:], r.lane.items[0])
		s.q.Failed(r, until)
	default:
		s.q.Failed(r, until)
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
			q := New[uint64](Limits{Requests: 10, RequestMessages: 10, RequestBytes: 100_000, KeyRateBytesPerSecond: 900_000})
			var now Instant
			sent := 0
			for now < 10*time.Second {
				if !test.drain || q.messages == 0 {
					q.Push([]byte("hot"), 20_000, 0)
				}
				r, ok := q.Next(now)
				if !ok {
					at, waits := q.Wake()
					if !waits {
						t.Fatalf("at %v nothing to send and nothing to wait for", now)
					}
					now = at
					continue
				}
				sent += r.Bytes
				now += time.Millisecond // round trip
				q.Done(r, now)
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
	q := New[uint64](Limits{Requests: 10, RequestMessages: 1000, RequestBytes: 1e6, KeyRateBytesPerSecond: 900_000})
	for i := range 1000 {
		q.Push(fmt.Append(nil, i), 600, 0)
		now := Instant(i) * 20 * time.Millisecond
		r, _ := q.Next(now)
		q.Done(r, now+5*time.Millisecond)
		if len(q.lanes) != 0 || len(q.waiting) != 0 {
			t.Fatalf("%d lanes, %d waiting", len(q.lanes), len(q.waiting))
		}
	}
}

// TestQueueIsFair: a key with much in it takes turns with the others.
func TestQueueIsFair(t *testing.T) {
	q := New[uint64](Limits{Requests: 1, RequestMessages: 1, RequestBytes: 1})
	for range 100 {
		q.Push([]byte("much"), 1, 0)
	}
	q.Push([]byte("little"), 1, 0)
	for i := range 2 {
		r, ok := q.Next(0)
		if !ok {
			t.Fatal("nothing to send")
		}
		if want := []string{"much", "little"}[i]; r.Key != want {
			t.Errorf("turn %d: %s", i, r.Key)
		}
		q.Done(r, 0)
	}
}

// TestQueueShut: nothing goes out, and what has failed is there afterwards.
func TestQueueShut(t *testing.T) {
	q := New[uint64](Limits{Requests: 2, RequestMessages: 9, RequestBytes: 9})
	q.Push([]byte("a"), 1, 1)
	r, _ := q.Next(0)
	q.Open(false)
	q.Failed(r, 0)
	q.Push([]byte("a"), 1, 2)
	if _, ok := q.Next(time.Hour); ok || q.Sendable(time.Hour) {
		t.Fatal("sent while shut")
	}
	q.Open(true)
	r, ok := q.Next(0)
	if !ok || len(r.Items) != 2 || r.Items[0].Message != 1 {
		t.Errorf("after opening: %v %v", ok, r.Items)
	}
}

// What a caller's back-off counts is the failures in a row; an answer that
// doesn't count is none.
func TestQueueCountsFailures(t *testing.T) {
	q := New[int](Limits{Requests: 1, RequestMessages: 1, RequestBytes: 10})
	q.Push([]byte("k"), 1, 1)
	q.Push([]byte("k"), 1, 2)
	r, _ := q.Next(0)
	q.Failed(r, 1)
	r, _ = q.Next(1)
	q.Again(r, 1)
	if r, _ = q.Next(1); r.Failures != 1 {
		t.Errorf("%d failures after one", r.Failures)
	}
	q.Done(r, 2)
	if r, ok := q.Next(2); !ok || r.Failures != 0 {
		t.Error("failures outlive the request that went through")
	}
}

func TestQueueClear(t *testing.T) {
	q := New[int](Limits{Requests: 2, RequestMessages: 1, RequestBytes: 10})
	for _, key := range []string{"a", "b", "c"} {
		q.Push([]byte(key), 1, 1)
	}
	q.Next(0)
	r, _ := q.Next(0)
	q.Failed(r, 1)
	q.Open(false)
	q.Clear()
	if q.IsOpen() {
		t.Error("it was shut and is open")
	}
	q.Open(true)
	if q.Keys() != 0 || q.Messages() != 0 || q.Bytes() != 0 || q.InFlight() != 0 || q.Retrying() != 0 || q.Sendable(9) {
		t.Errorf("something is left: %+v", q)
	}
	q.Push([]byte("d"), 1, 1)
	if r, ok := q.Next(0); !ok || r.Key != "d" {
		t.Error("it can't be used any more")
	}
}

// TestQueueCounts: what was handed out before the queue was shut doesn't count
// any more, also when it is open again.
func TestQueueCounts(t *testing.T) {
	q := New[int](Limits{Requests: 2, RequestMessages: 1, RequestBytes: 10})
	q.Push([]byte("a"), 1, 1)
	q.Push([]byte("b"), 1, 1)
	before, _ := q.Next(0)
	q.Open(true)
	if !q.Counts(before) {
		t.Error("doesn't count though the queue was open all the time")
	}
	q.Open(false)
	if q.Counts(before) {
		t.Error("counts while the queue is shut")
	}
	q.Open(true)
	if q.Counts(before) {
		t.Error("counts since the queue is open again")
	}
	after, ok := q.Next(0)
	if !ok || !q.Counts(after) {
		t.Error("what was handed out afterwards doesn't count")
	}
}

// TestQueueRestsAfterFailure: what failed was sent too. A retry waits for the
// rate of its key, and keys wake in the order of their times.
func TestQueueRestsAfterFailure(t *testing.T) {
	q := New[int](Limits{Requests: 9, RequestMessages: 9, RequestBytes: 10_000, KeyRateBytesPerSecond: 1000})
	var want []string
	for i := range 9 {
		key, bytes := fmt.Sprint("k", i), 1000*(1+i*7%9)
		q.Push([]byte(key), bytes, i)
		r, _ := q.Next(0)
		q.Failed(r, time.Millisecond)
	}
	for second := range 9 {
		for i := range 9 {
			if i*7%9 == second {
				want = append(want, fmt.Sprint("k", i))
			}
		}
		now := Instant(second+1) * time.Second
		if at, _ := q.Wake(); at != now {
			t.Fatalf("wakes at %s, want %s", at, now)
		}
		if _, ok := q.Next(now - 1); ok {
			t.Fatalf("%s: sent before the last attempt was paid for", now)
		}
		if r, ok := q.Next(now); !ok || r.Key != want[second] {
			t.Fatalf("%s: %t %s, want %s", now, ok, r.Key, want[second])
		}
	}
}
