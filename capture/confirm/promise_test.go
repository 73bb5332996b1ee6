package confirm

import (
	"math/rand/v2"
	"testing"
	"time"

	"cdc/schema"
	"cdc/schema/schematest"
)

// stream sends a workload through w as a server does: it may be in the middle of
// a transaction whose commit is long past, and its keepalives name the WAL end as
// it knows it. The checker that end-to-end tests use watches what is confirmed.
func stream(seed uint64, w window) *schematest.Confirmed {
	rng := rand.New(rand.NewPCG(seed, 7))
	load := schematest.NewWorkload(seed, schematest.TenColumns().Table)
	checker := &schematest.Confirmed{}
	type message struct {
		tag      Tag
		position schema.Position
	}
	var flying []message
	accept := func() {
		i := rng.IntN(len(flying))
		checker.Accept(flying[i].position)
		w.Accepted(flying[i].tag)
		flying = append(flying[:i], flying[i+1:]...)
	}
	for range 60 {
		tx := load.Next()
		checker.Commit(tx.End, tx.Positions()...)
		w.Begin()
		for _, c := range tx.Changes {
			flying = append(flying, message{w.Add(300), c.Position})
			for len(flying) > 0 && rng.IntN(2) == 0 {
				accept()
			}
			if rng.IntN(3) == 0 {
				w.Keepalive(tx.End)
			}
			checker.Add(w.Confirmable())
		}
		w.Commit(tx.End)
		if rng.IntN(2) == 0 {
			w.Keepalive(tx.End)
		}
		checker.Add(w.Confirmable())
	}
	for len(flying) > 0 {
		accept()
		checker.Add(w.Confirmable())
	}
	return checker
}

func TestPromise(t *testing.T) {
	const seeds = 100
	first := uint64(time.Now().UnixNano())
	missed := map[string]int{}
	for seed := first; seed < first+seeds; seed++ {
		if c := stream(seed, New(1<<20, 0)); !c.OK() {
			t.Fatalf("seed %d: %v", seed, c.Findings())
		}
		for name, plant := range map[string]window{
			"confirmed at commit":            &early{Window: New(1<<20, 0)},
			"keepalive inside a transaction": &openKeepalive{New(1<<20, 0)},
			"keepalive while busy":           &busyKeepalive{New(1<<20, 0)},
			"confirmed with one in flight":   &halfway{New(1<<20, 0)},
		} {
			if stream(seed, plant).OK() {
				missed[name]++
			}
		}
	}
	for name, n := range missed {
		if n > seeds/2 {
			t.Errorf("%s: not found with %d of %d seeds from %d", name, n, seeds, first)
		}
	}
}
