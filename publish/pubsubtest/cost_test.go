package pubsubtest

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

// BenchmarkMillionKeys publishes, delivers and acks a million messages, each under
// a key of its own; its metrics say what the server still has of them.
func BenchmarkMillionKeys(b *testing.B) {
	for b.Loop() {
		left := checkDrained(b, 1_000_000)
		b.ReportMetric(float64(left.goroutines), "goroutines-left")
		b.ReportMetric(float64(left.entries), "entries-left")
		b.ReportMetric(left.heapPerKey, "B-left/key")
	}
}

type leftover struct {
	goroutines, entries int
	heapPerKey          float64
}

func checkDrained(tb testing.TB, keys int) leftover {
	tb.Helper()
	r := newRig(tb, Config{}, func(s *pubsubpb.Subscription) { s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{} })
	conns := dialMany(tb, r)
	r.publishKeys(tb, 1_000) // connections and buffers are there already
	drain(tb, conns, 1_000)
	r.settle(tb)
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	r.publishKeys(tb, keys)
	if n := r.Backlog(testSub); n != keys {
		tb.Fatalf("backlog %d, want %d", n, keys)
	}
	drain(tb, conns, keys)
	r.settle(tb)
	r.Advance(time.Second) // the keys' rates are swept
	left := leftover{goroutines: runtime.NumGoroutine() - goroutines, heapPerKey: (heapInUse() - heap) / float64(keys)}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.subs[testSub].backlog
	left.entries = len(b.keys) + b.leases.count + b.log.count + len(b.delayed) + b.waiting + len(b.dead)
	left.entries += len(r.topics[testTopic].rates.keys)
	slots := len(b.leases.slots)
	tb.Logf("%d keys drained: %d goroutines, %d entries, %.1f bytes a key left; %d lease slots for what was outstanding at once", keys, left.goroutines, left.entries, left.heapPerKey, slots)
	if left.goroutines > 0 || left.entries != 0 || r.nextDue() != 0 || left.heapPerKey > 40 {
		tb.Errorf("left: %+v, next timer %d", left, r.nextDue())
	}
	return left
}

// settle waits until the goroutines of ended streams are gone.
func (r *rig) settle(tb testing.TB) {
	tb.Helper()
	r.waitFor(tb, func(c Counters) bool { return c.StreamsOpen == 0 })
	for last, same := 0, 0; same < 20; time.Sleep(time.Millisecond) {
		if n := runtime.NumGoroutine(); n == last {
			same++
		} else {
			last, same = n, 0
		}
	}
}

// publishKeys stores one message under each of n keys, as the Publish handler does.
func (r *rig) publishKeys(tb testing.TB, n int) {
	tb.Helper()
	data := make([]byte, benchMessage)
	for i := range n {
		key := fmt.Sprint("public.orders|", i)
		if _, err := r.publish(tb.Context(), &publishRequest{topic: testTopic, messages: []publishMessage{{body: data, key: []byte(key), data: len(data)}}}); err != nil {
			tb.Fatal(err)
		}
	}
}

func heapInUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkDepth takes a message through publish, delivery, a nack, redelivery
// and ack, with timers in between, while so many others wait and the same number
// are retained. The work doesn't grow with them; what a thousand times as many
// cost more is the processor's caches and the garbage collector.
func BenchmarkDepth(b *testing.B) {
	for _, others := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			bl := newBacklog(true, &Counters{})
			bl.window, bl.retainAcked = 1e18, true
			c := &consumer{leaseSecs: 60, wake: make(chan struct{}, 1)}
			bl.join(c)
			var id uint64
			publish := func(key string) {
				id++
				bl.publish([]*message{{id: id, time: int64(id), key: key}})
			}
			take := func() []ackID {
				var ids []ackID
				for _, d := range bl.take(c, int64(id), 1, 1<<30, nil) {
					ids = append(ids, d.id)
				}
				return ids
			}
			for i := range others {
				publish(fmt.Sprint("acked", i))
				bl.ack(take())
			}
			for range others {
				publish(fmt.Sprint("waits", id))
			}
			for b.Loop() {
				publish(fmt.Sprint("waits", id))
				bl.modify(take(), int64(id), 0)
				bl.expire(int64(id))
				if bl.next() == 0 {
					b.Fatal("nothing is due though messages are kept")
				}
				bl.ack(take())
			}
			if bl.log.count < 2*others || len(bl.keys) < others {
				b.Fatalf("%d kept, %d keys", bl.log.count, len(bl.keys))
			}
		})
	}
}
