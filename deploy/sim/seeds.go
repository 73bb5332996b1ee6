package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"
)

// enoughSeeds is after how many seeds everything must have happened.
const enoughSeeds = 200

// progressEvery is the time between two lines that say how far it is.
const progressEvery = 5 * time.Second

// runSeeds runs the seeds from first on, on all processors, until one finds
// something or ctx is done. It returns what was exercised, and the lowest seed with
// a finding of those that ran, or nil. How far it is goes to progress.
func runSeeds(ctx context.Context, first, seeds uint64, plant func(*decisions), progress io.Writer) (all counts, found *world) {
	var (
		mu   sync.Mutex
		next = first
		wg   sync.WaitGroup
	)
	take := func() (seed uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		seed = next
		next++
		return seed, seed-first < seeds && found == nil && ctx.Err() == nil
	}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				w := newWorld(seed, plant)
				w.run()
				mu.Lock()
				all.add(&w.counts)
				if w.finding != "" && (found == nil || seed < found.seed) {
					found = w
				}
				mu.Unlock()
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		wg.Wait()
		close(finished)
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-finished:
			return all, found
		case <-tick.C:
			mu.Lock()
			fmt.Fprintf(progress, "sim: %d of %d seeds\n", all.runs, seeds)
			mu.Unlock()
		}
	}
}

// repeat runs a seed once more with a trace.
func repeat(seed uint64, plant func(*decisions)) *world {
	w := newWorld(seed, plant)
	w.trace = new(trace)
	w.run()
	return w
}

// story is a run in words: its last steps and the verdict.
func story(w *world) string {
	var b strings.Builder
	for _, line := range w.trace.last() {
		fmt.Fprintln(&b, line)
	}
	b.Write(w.stack)
	fmt.Fprintf(&b, "sim: seed=%d nature=%+v\n", w.seed, w.nature)
	if w.finding == "" {
		fmt.Fprintf(&b, "sim: seed=%d steps=%d: nothing found\n", w.seed, w.step)
	} else {
		fmt.Fprintf(&b, "sim: seed=%d step=%d FOUND %s\nsim: repeat it with SEED=%d make sim\n", w.seed, w.step, w.finding, w.seed)
	}
	return b.String()
}
