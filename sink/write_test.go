package sink

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/googleapis/gax-go/v2"

	"cdc/schema"
	"cdc/sink/storagewrite"
)

// appends is an appender that keeps what it gets and answers with errs, then
// with nil.
type appends struct {
	rows [][]string
	errs []error
	then func(n int) // called with the number of the append that was answered
}

func (a *appends) Append(_ context.Context, rows [][]byte) error {
	var texts []string
	for _, r := range rows {
		texts = append(texts, string(r))
	}
	a.rows = append(a.rows, texts)
	if a.then != nil {
		a.then(len(a.rows))
	}
	if len(a.rows) > len(a.errs) {
		return nil
	}
	return a.errs[len(a.rows)-1]
}

func (a *appends) Close() {}

// writing is a table without a sink, of which a test says what was given back
// and sees what is settled.
type writing struct {
	*table
	mu             sync.Mutex
	given, settled map[*inbound]bool
}

func newWriting() *writing {
	w := &writing{given: make(map[*inbound]bool), settled: make(map[*inbound]bool)}
	w.table = newTable(&host{
		log: slog.New(slog.DiscardHandler), stats: &stats{}, now: time.Now,
		backoff: gax.Backoff{Initial: time.Millisecond, Max: time.Millisecond},
		done: func(in *inbound) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.settled[in] = true
		},
		givenBack: func(in *inbound) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.given[in]
		},
	}, "public.orders")
	return w
}

// row takes a change of the key into b, as a message of its own. Its wire bytes
// are its name.
func (w *writing) row(b *batch, key, name string, lsn schema.LSN) *inbound {
	in := &inbound{}
	in.left.Store(1)
	from := len(b.arena)
	b.arena = append(b.arena, name...)
	b.add(change{in: in}, &schema.Change{
		Key: schema.Row{schema.TextValue(key)}, Position: schema.Position{Epoch: 1, CommitLSN: lsn},
	}, from)
	return in
}

func (w *writing) run(t *testing.T, b *batch, to *appends) {
	t.Helper()
	if err := (&write{table: w.table, batch: b, target: &target{stream: to}}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What was given back before an attempt, the first or a later one, isn't sent in
// it, and hides nothing.
func TestGivenBackIsNotWritten(t *testing.T) {
	w := newWriting()
	b := newBatch(nil)
	older := w.row(b, "1", "1 older", 1)
	newer := w.row(b, "1", "1 newer", 2)
	alone := w.row(b, "2", "2", 3)
	other := w.row(b, "3", "3", 4)
	w.given[alone] = true
	to := &appends{
		errs: []error{&storagewrite.AppendError{Verdict: storagewrite.Retry}},
		then: func(int) { w.given[newer] = true },
	}
	w.run(t, b, to)
	if want := [][]string{{"1 newer", "3"}, {"1 older", "3"}}; !slices.EqualFunc(to.rows, want, slices.Equal) {
		t.Errorf("sent %q, want %q", to.rows, want)
	}
	// What was given back is settled too, so that a stop doesn't wait for it; its
	// ack has nothing to hold on to any more (pull.Order.Done).
	if len(w.settled) != 4 || !w.settled[older] || !w.settled[other] || !w.settled[newer] || !w.settled[alone] {
		t.Errorf("settled %v", w.settled)
	}

	in := &inbound{}
	w.given[in] = true
	b = newBatch(nil)
	var none *target
	full, err := w.add(t.Context(), b, &none, change{in: in}, &schema.Change{Op: schema.Create})
	if full || err != nil || b.count() != 0 {
		t.Errorf("a change that was given back got into a batch: %v, %v", full, err)
	}
}

// The bytes of a request without an answer are never used again: the library may
// still be sending them.
func TestArenaIsKeptFromUnanswered(t *testing.T) {
	for want, errs := range map[int][]error{
		1: nil,
		0: {&storagewrite.AppendError{Verdict: storagewrite.Retry}},
	} {
		w := newWriting()
		b := newBatch(nil)
		w.row(b, "1", "1", 1)
		w.run(t, b, &appends{errs: errs})
		if got := len(w.arenas); got != want {
			t.Errorf("after %v: %d arenas to be used again, want %d", errs, got, want)
		}
	}
}
