package publish

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
)

// TestNothingIsKeptOfKeys publishes 200,000 keys once each: afterwards there is
// no more memory and no more goroutines than before.
func TestNothingIsKeptOfKeys(t *testing.T) {
	d := start(t, Config{MaxInFlight: 160, MaxQueuedBytes: 16 << 20}, nullConn{})
	var accepted atomic.Int64
	m := testMessage("", strings.Repeat("x", 200))
	publish := func(from, to int) {
		for i := from; i < to; i++ {
			m.OrderingKey = strconv.AppendInt(m.OrderingKey[:0], int64(i), 10)
			if err := d.Publish(t.Context(), m, 0, func(uint64) { accepted.Add(1) }); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "all is accepted", func() bool { return accepted.Load() == int64(to) })
		eventually(t, "the queue is empty", func() bool {
			d.Dispatcher.mu.Lock()
			defer d.Dispatcher.mu.Unlock()
			return d.queue.Keys() == 0 && d.looking == 0
		})
	}
	publish(0, 10_000)
	goroutines, heap := runtime.NumGoroutine(), heapBytes()
	publish(10_000, 210_000)
	eventually(t, "the workers are gone", func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	eventually(t, "nothing rests", func() bool { return d.Stats().Resting == 0 })
	if grown := int64(heapBytes()) - int64(heap); grown > 4<<20 {
		t.Errorf("heap has grown by %d bytes", grown)
	}
	if err := d.end(t); err != nil {
		t.Error(err)
	}
}

// nullConn accepts everything at once.
type nullConn struct{ grpc.ClientConnInterface }

func (nullConn) Invoke(_ context.Context, _ string, args, reply any, _ ...grpc.CallOption) error {
	for range len(args.(*wireRequest).pieces) / 2 {
		reply.(*wireResponse).bytes = append(reply.(*wireResponse).bytes, 0x0a, 1, '7')
	}
	return nil
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
