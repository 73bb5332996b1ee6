package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

// publishedMessage is what was given to Publish, in that order.
type publishedMessage struct {
	key      string
	position schema.Position
}

// message returns the next message, under key.
func (l *published) message(key string) *schema.Message {
	m := testMessage(key, "data")
	m.Attributes.Position = schema.Position{Epoch: 1, CommitLSN: schema.LSN(len(*l) + 1)}
	*l = append(*l, publishedMessage{key, m.Attributes.Position})
	return m
}

type published []publishedMessage

// checkStored looks at what a topic has stored: the first occurrences of a key
// in order and without a gap, everything there, one key a request.
func checkStored(stored []pubsubtest.StoredMessage, all published) (copies int, err error) {
	var order schematest.Order
	for _, p := range all {
		order.Commit(p.key, p.position)
	}
	requests := make(map[uint64]string)
	for _, m := range stored {
		position, err := schema.ParsePosition(m.Attributes[schema.AttrPosition])
		if err != nil {
			return 0, err
		}
		order.Add(m.OrderingKey, position)
		if key, seen := requests[m.Request]; seen && key != m.OrderingKey {
			return 0, fmt.Errorf("request %d has keys %s and %s", m.Request, key, m.OrderingKey)
		}
		requests[m.Request] = m.OrderingKey
		if m.Attributes[schema.AttrSent] == "" {
			return 0, fmt.Errorf("message %s has no attribute sent", m.ID)
		}
	}
	if counts := order.End(); !counts.OK() {
		return counts.Copies, fmt.Errorf("%+v: %v", counts, order.Findings())
	}
	return order.Copies, nil
}

// newTopic creates a topic with a subscription.
func newTopic(t testing.TB, s *pubsubtest.Server, name string) string {
	t.Helper()
	topic := "projects/p/topics/" + name
	if err := s.CreateTopic(topic); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateSubscription(&pubsubpb.Subscription{
		Name: "projects/p/subscriptions/" + name, Topic: topic, EnableMessageOrdering: true,
	}); err != nil {
		t.Fatal(err)
	}
	return topic
}

// randomFault is something that passes by itself.
func randomFault(rnd *rand.Rand, topic string) pubsubtest.Fault {
	retryable := []codes.Code{
		codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unavailable,
	}
	f := pubsubtest.Fault{
		Method: "Publish", Target: topic,
		Kind: []pubsubtest.FaultKind{
			pubsubtest.Refuse, pubsubtest.AnswerLost, pubsubtest.Late, pubsubtest.Delay,
		}[rnd.IntN(4)],
		Skip: rnd.IntN(4), Count: 1 + rnd.IntN(2),
		Code: retryable[rnd.IntN(len(retryable))],
	}
	switch f.Kind {
	case pubsubtest.Late:
		f.Delay = time.Duration(rnd.IntN(60)) * time.Millisecond // before and after its retry
	case pubsubtest.Delay:
		f.Delay = time.Duration(rnd.IntN(25)) * time.Millisecond // answered in time or not
	}
	return f
}

// seedRun is one small run against a stand-in with random faults.
func seedRun(ctx context.Context, t *testing.T, s *pubsubtest.Server, conn Conn, seed uint64) (all published, err error) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	topic := newTopic(t, s, seedTopic(seed))
	for range 1 + rnd.IntN(4) {
		s.Inject(randomFault(rnd, topic))
	}
	d := start(t, Config{
		Topic: topic, MaxInFlight: 1 + rnd.IntN(4), AttemptTimeout: 15 * time.Millisecond,
		// Long pauses in the end: on a busy machine each attempt can take longer than
		// its timeout, and attempts without a pause keep it busy.
		BackoffInitial: 100 * time.Microsecond, BackoffMax: 100 * time.Millisecond,
		MaxQueuedBytes: int64(2000 + rnd.IntN(20_000)),
	}, conn)
	total := 5 + rnd.IntN(25)
	for i := range total {
		if err := d.Publish(ctx, all.message(fmt.Sprint("public.t|", rnd.IntN(4))), uint64(i), d.call); err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
	}
	eventually(t, "all is accepted", func() bool { return d.count() == total })
	d.once(t, uint64(total))
	if err := d.end(t); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	_, err = checkStored(s.Stored(topic), all)
	return all, err
}

func seedTopic(seed uint64) string { return fmt.Sprintf("seed-%d", seed) }

// TestOrderUnderFaults: order per key, nothing lost and nothing accepted twice
// while answers are refused, lost, late, delayed, and connections reset.
func TestOrderUnderFaults(t *testing.T) {
	const runs, parallel = 1000, 16
	s, conn := newServer(t, pubsubtest.Config{Record: true}, 200)
	first := rand.Uint64N(1 << 40)
	t.Logf("seeds from %d on", first)
	var (
		next  atomic.Uint64
		all   [runs]published
		group sync.WaitGroup
	)
	for range parallel {
		group.Go(func() {
			for i := next.Add(1) - 1; i < runs && !t.Failed(); i = next.Add(1) - 1 {
				var err error
				if all[i], err = seedRun(t.Context(), t, s, conn, first+i); err != nil {
					t.Errorf("seed %d: %v", first+i, err)
				}
				if i%50 == 0 {
					s.ResetConnections()
				}
			}
		})
	}
	group.Wait()
	s.Advance(time.Minute) // what was to be stored late is now
	copies := 0
	for i := range all {
		n, err := checkStored(s.Stored("projects/p/topics/"+seedTopic(first+uint64(i))), all[i])
		if err != nil {
			t.Errorf("seed %d, with what was stored late: %v", first+uint64(i), err)
		}
		copies += n
	}
	c := s.Counters()
	t.Logf("%d requests, %d faults, %d copies", c.Requests, c.Faults, copies)
	if c.MaxKeysPerRequest > 1 || c.Vanished > 0 || len(c.Refused) > 0 {
		t.Errorf("counters %+v", c)
	}
	if c.Faults < runs || copies < runs/10 {
		t.Errorf("only %d faults and %d copies: the faults aren't there", c.Faults, copies)
	}
}

// TestCheckStoredFindsSabotage: the checker sees two messages swapped in the
// store, one that isn't there, and a mix of keys in a request.
func TestCheckStoredFindsSabotage(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{Record: true}, 80)
	topic := newTopic(t, s, "sabotaged")
	if err := s.Sabotage(pubsubtest.Swap, 5); err != nil {
		t.Fatal(err)
	}
	d := start(t, Config{Topic: topic}, conn)
	var all published
	for i := range uint64(20) {
		if err := d.Publish(t.Context(), all.message("public.t|1"), i, d.call); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is accepted", func() bool { return d.count() == int(i)+1 })
	}
	if err := d.end(t); err != nil {
		t.Error(err)
	}
	stored := s.Stored(topic)
	if _, err := checkStored(stored, all); err == nil {
		t.Error("swap not found")
	}
	slices.SortFunc(stored, func(a, b pubsubtest.StoredMessage) int {
		return strings.Compare(a.Attributes[schema.AttrPosition], b.Attributes[schema.AttrPosition])
	})
	if _, err := checkStored(stored, all); err != nil {
		t.Errorf("in order: %v", err)
	}
	if _, err := checkStored(stored[:19], all); err == nil {
		t.Error("missing last message not found")
	}
	if _, err := checkStored(slices.Delete(slices.Clone(stored), 7, 8), all); err == nil {
		t.Error("gap not found")
	}
	stored[0].Request, stored[0].OrderingKey = stored[1].Request, "public.t|2"
	all[0].key = "public.t|2"
	if _, err := checkStored(stored, all); err == nil {
		t.Error("two keys in a request not found")
	}
}

// TestEachFault has one fault each: what is stored, and that it is accepted once.
func TestEachFault(t *testing.T) {
	const timeout = 100 * time.Millisecond
	for name, test := range map[string]struct {
		fault  pubsubtest.Fault
		copies int
		retry  codes.Code // what the failed attempt counts as; OK: none failed
	}{
		"refused":     {pubsubtest.Fault{Kind: pubsubtest.Refuse, Code: codes.Unavailable}, 0, codes.Unavailable},
		"answer lost": {pubsubtest.Fault{Kind: pubsubtest.AnswerLost, Code: codes.Internal}, 1, codes.Internal},
		"stored late": {pubsubtest.Fault{Kind: pubsubtest.Late, Delay: time.Hour}, 1, codes.DeadlineExceeded},
		"slow":        {pubsubtest.Fault{Kind: pubsubtest.Delay, Delay: timeout / 10}, 0, codes.OK},
		"too slow":    {pubsubtest.Fault{Kind: pubsubtest.Delay, Delay: 10 * timeout}, 1, codes.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			s, conn := newServer(t, pubsubtest.Config{Record: true}, 80)
			topic := newTopic(t, s, "faulty")
			test.fault.Method = "Publish"
			s.Inject(test.fault)
			d := start(t, Config{Topic: topic, AttemptTimeout: timeout, BackoffInitial: time.Millisecond}, conn)
			var all published
			for i := range uint64(3) { // the later ones gather behind the first
				if err := d.Publish(t.Context(), all.message("public.t|1"), i, d.call); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the first is sent", func() bool { return d.Stats().Requests > 0 })
			}
			eventually(t, "all is accepted", func() bool { return d.count() == 3 })
			s.Advance(2 * time.Hour) // late is now
			d.once(t, 3)
			eventually(t, "what comes late is stored", func() bool { return len(s.Stored(topic)) >= 3+test.copies })
			stored := s.Stored(topic)
			copies, err := checkStored(stored, all)
			if err != nil || copies != test.copies {
				t.Errorf("%d copies, %v", copies, err)
			}
			if n := d.Stats().Retries[test.retry]; test.retry != codes.OK && n != 1 {
				t.Errorf("%d retries", n)
			}
			sent := make(map[string]bool)
			for _, m := range stored {
				if m.Attributes[schema.AttrPosition] == all[0].position.String() {
					sent[m.Attributes[schema.AttrSent]] = true
				}
			}
			if len(sent) != copies+1 {
				t.Errorf("the first message was sent at %v: each attempt has its own time", sent)
			}
			if err := d.end(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLargestMessage: what Publish takes, the server's limit takes.
func TestLargestMessage(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{}, 80)
	d := start(t, Config{Topic: newTopic(t, s, "large")}, conn)
	if err := d.Publish(t.Context(), largest(t, d.Dispatcher, 0), 0, d.call); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is accepted", func() bool { return d.count() == 1 })
	if err := d.end(t); err != nil {
		t.Error(err)
	}
}

// TestManyCallers publishes from several goroutines while the gate opens and
// shuts, attempts fail and the figures are read.
func TestManyCallers(t *testing.T) {
	var attempts atomic.Int64
	conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error {
		if attempts.Add(1)%7 == 0 {
			return unavailable
		}
		return nil
	}}
	d := start(t, Config{MaxInFlight: 8, BackoffInitial: time.Microsecond, BackoffMax: time.Millisecond, MaxQueuedBytes: 50_000}, conn)
	const callers, each = 8, 500
	var group sync.WaitGroup
	for c := range uint64(callers) {
		group.Go(func() {
			for i := range uint64(each) {
				m := testMessage(fmt.Sprint(c, "-", i%20), fmt.Sprint(i))
				if err := d.Publish(t.Context(), m, c*each+i, d.call); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := 0; d.count() < callers*each; i++ {
		d.SetOpen(i%3 != 0)
		d.Stats()
		time.Sleep(100 * time.Microsecond)
	}
	group.Wait()
	d.once(t, callers*each)
	if err := d.end(t); err != nil {
		t.Error(err)
	}
	conn.check(t)
	last := make(map[string]int)
	for _, entry := range conn.stored {
		key, data, _ := strings.Cut(entry, "=")
		n, _ := strconv.Atoi(data)
		if before, ok := last[key]; ok && n > before+20 || !ok && n >= 20 {
			t.Errorf("%s: %d after %d", key, n, before)
		}
		last[key] = max(last[key], n)
	}
}

// TestStopsOnRealAnswers: the topic is missing; then the stand-in is gone.
func TestStopsOnRealAnswers(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{}, 80)
	d := start(t, Config{Topic: "projects/p/topics/missing"}, conn)
	d.put(t, "public.t|1", "0", 0)
	err := <-d.ended
	if e, ok := errors.AsType[*Error](err); !ok || e.Code() != "publish_topic_not_found" {
		t.Errorf("Run: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d = start(t, Config{Topic: "projects/p/topics/gone", AttemptTimeout: 10 * time.Millisecond, BackoffInitial: time.Millisecond}, conn)
	d.put(t, "public.t|1", "0", 0)
	eventually(t, "it is retried", func() bool { return d.Stats().Retries[codes.DeadlineExceeded] > 3 })
	if err := d.end(t); err != nil {
		t.Errorf("Run without a server: %v", err)
	}
}
