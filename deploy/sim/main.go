package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv("SEED"), os.Stdout, os.Stderr)) }

// run returns the exit code: 0 nothing found, 1 a finding, 2 wrong use.
func run(args []string, seed string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	seeds := flags.Uint64("seeds", 10_000, "how many seeds to run")
	first := flags.Uint64("first", uint64(time.Now().UnixMilli()), "the first seed; the clock's by default, so that every run looks at new ones")
	flags.StringVar(&seed, "seed", seed, "run this seed alone and print its last steps (also by the environment variable SEED)")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0 || *seeds == 0:
		fmt.Fprintln(stderr, "sim: want flags only, and at least one seed")
		return 2
	}
	if seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			fmt.Fprintf(stderr, "sim: seed %q: want a number\n", seed)
			return 2
		}
		w := repeat(n, nil)
		fmt.Fprint(stdout, story(w))
		return exit(w.finding == "")
	}
	begin := time.Now()
	all, found := runSeeds(*first, *seeds, nil)
	fmt.Fprintf(stdout, "sim: seeds=%d first=%d steps=%d took=%s\n", all.runs, *first, all.total(), time.Since(begin).Round(time.Millisecond))
	fmt.Fprint(stdout, all.String())
	if found != nil {
		fmt.Fprint(stdout, story(repeat(found.seed, nil)))
		return 1
	}
	idle := all.idle()
	if *seeds >= enoughSeeds && len(idle) > 0 {
		fmt.Fprintf(stdout, "sim: never happened: %s\n", strings.Join(idle, ", "))
		return 1
	}
	return 0
}

// enoughSeeds is after how many seeds everything must have happened.
const enoughSeeds = 200

func exit(ok bool) int {
	if ok {
		return 0
	}
	return 1
}

// runSeeds runs the seeds from first on, on all processors, until one finds
// something. It returns what was exercised, and the lowest seed with a finding of
// those that ran, or nil.
func runSeeds(first, seeds uint64, plant func(*decisions)) (all counts, found *world) {
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
		return seed, seed-first < seeds && found == nil
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
	wg.Wait()
	return all, found
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
	fmt.Fprintf(&b, "sim: seed=%d nature=%+v\n", w.seed, w.nature)
	if w.finding == "" {
		fmt.Fprintf(&b, "sim: seed=%d steps=%d: nothing found\n", w.seed, w.step)
	} else {
		fmt.Fprintf(&b, "sim: seed=%d step=%d FOUND %s\nsim: repeat it with SEED=%d make sim\n", w.seed, w.step, w.finding, w.seed)
	}
	return b.String()
}
