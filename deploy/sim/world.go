package main

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"cdc/schema/schematest"
)

// world is one run: the parts, the calls between them, the checkers beside them.
// One goroutine owns it; its only clock is now, which a step moves on.
type world struct {
	r       *rand.Rand
	seed    uint64
	decide  decisions
	nature  nature
	steps   []step
	weights []int
	total   int // of weights
	step    int // number of the present step
	now     time.Duration
	healed  bool // no chaos any more, only what brings everything to its end

	source    source
	publisher *publisher   // nil: down
	old       []*publisher // that lost the slot and don't know yet
	topic     topic
	sinks     []*sink // those that are up
	bigquery  bigquery
	calls     [kinds][]*call

	order       schematest.Order
	confirmed   schematest.Confirmed
	convergence schematest.Convergence

	finding string // the first; it ends the run
	stack   []byte // of a panic
	counts  counts
	trace   *trace // nil: off
}

const (
	chaosSteps = 1200
	drainSteps = 150_000 // an honest world needs two thousand, rarely twenty thousand
)

// newWorld returns the world of a seed at its beginning.
func newWorld(seed uint64, plant func(*decisions)) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 0x51)), seed: seed, decide: honest(), steps: allSteps()}
	if plant != nil {
		plant(&w.decide)
	}
	w.nature = newNature(w.r)
	w.weights = w.nature.weigh(w.r, w.steps)
	for _, n := range w.weights {
		w.total += n
	}
	w.counts = newCounts()
	w.source = newSource(seed, w.r)
	w.topic.keys = make(map[string]*keyLog)
	w.bigquery.newest = make(map[string]position)
	return w
}

// run lets chaos reign for some steps, then heals the world, lets it finish and
// compares. It stops at the first finding.
func (w *world) run() {
	defer w.recovered()
	for w.step = 1; w.step <= chaosSteps && w.finding == ""; w.step++ {
		w.next()
	}
	w.heal()
	for limit := w.step + drainSteps; w.finding == "" && !w.quiet(); w.step++ {
		if w.step == limit {
			w.find("stuck", "after %d steps without chaos something is left: %s", drainSteps, w.left())
			return
		}
		w.next()
	}
	if w.finding == "" {
		w.end()
	}
}

// recovered makes a panic of a machine a finding like any other, with its seed.
func (w *world) recovered() {
	if r := recover(); r != nil {
		w.stack = debug.Stack()
		w.find("panic", "%v", r)
	}
}

// next does one step that is possible now.
func (w *world) next() {
	for range 8 { // cheaper than asking every step, and the same choice
		if i := w.pick(); w.possible(i) {
			w.take(i)
			return
		}
	}
	var possible []int
	for i := range w.steps {
		if w.weights[i] > 0 && w.possible(i) {
			possible = append(possible, i)
		}
	}
	if len(possible) > 0 {
		w.take(possible[w.r.IntN(len(possible))])
	}
}

// pick draws a step by its weight.
func (w *world) pick() int {
	n := w.r.IntN(w.total)
	for i, weight := range w.weights {
		if n < weight {
			return i
		}
		n -= weight
	}
	panic("weights don't add up")
}

func (w *world) possible(i int) bool {
	s := &w.steps[i]
	return (!w.healed || !s.chaos) && s.possible(w)
}

func (w *world) take(i int) {
	w.counts.steps[i]++
	w.trace.begin(w.step, w.steps[i].name)
	w.steps[i].do(w)
	w.judge()
}

// heal ends the chaos: what is down starts, what is held is let go, what is
// still on its way arrives in the end.
func (w *world) heal() {
	w.healed = true
	w.trace.begin(w.step, "heal")
	for _, s := range w.sinks {
		clear(s.held)
	}
	for i := range w.weights {
		w.weights[i] = max(w.weights[i], 16)
	}
	w.total = 0
	for _, n := range w.weights {
		w.total += n
	}
}

// quiet reports whether nothing is left to do.
func (w *world) quiet() bool {
	p := w.publisher
	if p == nil || len(w.old) > 0 || p.next < len(w.source.log) || p.queue.Messages() > 0 || w.source.confirmed < w.source.walEnd() {
		return false
	}
	if len(w.sinks) < w.nature.sinks || slices.ContainsFunc(w.sinks, func(s *sink) bool { return s.order.Outstanding() > 0 || s.outstanding() }) {
		return false
	}
	return !slices.ContainsFunc(w.topic.list, (*keyLog).unfinished) &&
		!slices.ContainsFunc(w.calls[:], func(c []*call) bool { return len(c) > 0 })
}

// left says what keeps the world from being quiet.
func (w *world) left() string {
	list := []string{fmt.Sprintf("publisher up %t, old ones %d, sinks up %d, confirmed %s of %s, calls %d/%d/%d", w.publisher != nil, len(w.old),
		len(w.sinks), w.source.confirmed, w.source.walEnd(), len(w.calls[publishing]), len(w.calls[appending]), len(w.calls[acking]))}
	if p := w.publisher; p != nil {
		list = append(list, fmt.Sprintf("%d messages queued, %d transactions to receive", p.queue.Messages(), len(w.source.log)-p.next))
	}
	for _, k := range w.topic.list {
		if k.unfinished() {
			list = append(list, fmt.Sprintf("%s delivered to %d and acked to %d of %d", keyName(k.name), k.next, k.unacked, len(k.messages)))
		}
	}
	for _, s := range w.sinks {
		list = append(list, fmt.Sprintf("%d messages outstanding, the sink has %d", s.order.Outstanding(), len(s.has)))
	}
	return strings.Join(list, ", ")
}
