package sink

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cdc/sink/deadletter"
	"cdc/sink/pull"
)

type sentLetters struct{ n atomic.Int64 }

func (s *sentLetters) Send(_ context.Context, l []deadletter.Letter) error {
	s.n.Add(int64(len(l)))
	return nil
}

// Changes that wait for the brake don't keep appends from working: these release
// it, and then what waits is sent, bit by bit.
func TestBrakedLettersWaitAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriting()
		var sent sentLetters
		w.letters = &sent
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		bad := func(n int) (of []*inbound) {
			b := newBatch(nil)
			for range n {
				in := &inbound{message: &pull.Message{}}
				in.left.Store(1)
				of = append(of, in)
				b.refused = append(b.refused, refusal{change: change{in, wholeMessage}, code: "undecodable"})
			}
			began := time.Now()
			if err := (&write{table: w.table, batch: b}).run(ctx); err != nil || time.Since(began) > 0 {
				t.Fatalf("a batch of refused changes kept its place among the appends: %v after %s", err, time.Since(began))
			}
			return of
		}
		good := func() {
			b := newBatch(nil)
			w.row(b, "1", "1", 1)
			w.run(t, b, &appends{})
			time.Sleep(2 * heldRetry) // the bubble's clock
		}
		bad(150)
		back := bad(120)
		time.Sleep(10 * heldRetry)
		if !w.brake.isHeld() || sent.n.Load() != 0 {
			t.Fatalf("held %v, %d letters", w.brake.isHeld(), sent.n.Load())
		}
		w.mu.Lock()
		w.given[back[0]] = true // comes again
		w.mu.Unlock()
		for _, want := range []int64{100, 200, 269, 269} {
			good()
			if sent.n.Load() != want {
				t.Errorf("%d letters, want %d", sent.n.Load(), want)
			}
		}
		w.table.appends.Wait()
		if w.brake.isHeld() || len(w.settled) != 270+4 {
			t.Errorf("held %v, %d settled", w.brake.isHeld(), len(w.settled))
		}
	})
}
