package sink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cdc/schema"
)

// Of each key the newest is sent, whatever the order of arrival, and behind it
// hang all others, newest first.
func TestBatchChains(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		b := newBatch(nil)
		want := make(map[string][]uint32)
		for i := range r.IntN(40) {
			key, index := fmt.Sprint("k", r.IntN(5)), r.Uint32N(12)
			want[key] = append(want[key], index)
			b.add(change{index: i}, &schema.Change{
				Position: schema.Position{Epoch: 1, Index: index}, Key: schema.Row{schema.TextValue(key)},
			}, len(b.arena))
		}
		heads := b.newest()
		if len(heads) != len(want) {
			t.Fatalf("%d heads, want %d", len(heads), len(want))
		}
		seen := 0
		for i, key := range b.order {
			var got []uint32
			b.behind(heads[i], func(r *batchRow) { got = append(got, r.position.Index) })
			slices.SortFunc(want[key], func(a, b uint32) int { return int(b) - int(a) })
			if !slices.Equal(got, want[key]) {
				t.Fatalf("key %s: %v, want %v", key, got, want[key])
			}
			seen += len(got)
		}
		if seen != len(b.rows) {
			t.Fatalf("%d rows in chains, %d in the batch", seen, len(b.rows))
		}
	}
}

func TestBrake(t *testing.T) {
	now := time.Unix(1767323045, 0)
	var b brake
	b.written(now, 20_000)
	if !b.refuse(now, 200) {
		t.Error("1 % of many rows tripped it")
	}
	if b.refuse(now, 10) {
		t.Error("more than 1 % and more than 100 didn't trip it")
	}
	if !b.isHeld() || b.refuse(now.Add(2*time.Minute), 1) {
		t.Error("a minute released it")
	}
	if !b.written(now.Add(3*time.Minute), 10) || b.isHeld() {
		t.Error("an append without a refused row didn't release it")
	}
	b = brake{}
	for range 100 {
		if !b.refuse(now, 1) {
			t.Fatal("100 refused rows tripped it")
		}
	}
	if b.refuse(now, 1) {
		t.Error("101 of 101 didn't trip it")
	}
	b = brake{}
	for i := range 1000 {
		if !b.refuse(now.Add(time.Duration(i)*2*time.Second), 1) {
			t.Fatal("30 a minute tripped it")
		}
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0.50: 500 * time.Millisecond, 0.99: 990 * time.Millisecond} {
		if got := h.quantile(q); got < want || got > want*9/8+1 {
			t.Errorf("quantile %g is %s, want %s to an eighth more", q, got, want)
		}
	}
	h.add(-time.Second)
	h.add(1<<63 - 1)
}
