package confirm

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cdc/schema"
)

// window is what Window does; the planted bugs are windows too.
type window interface {
	Begin()
	Add(bytes int) Tag
	Commit(end schema.LSN)
	Accepted(tag Tag) bool
	Keepalive(walEnd schema.LSN)
	Confirmable() schema.LSN
	Full() bool
	Bytes() int64
	Messages() int64
	Settled() bool
}

// model says the same the slow way: it keeps everything that ever happened.
type model struct {
	start        schema.LSN
	transactions []modelTransaction
	keepalive    schema.LSN
	bytes        int64
}

type modelTransaction struct {
	end      schema.LSN // 0: open
	accepted []bool
}

func (m *model) inFlight() (n int64) {
	for _, t := range m.transactions {
		for _, a := range t.accepted {
			if !a {
				n++
			}
		}
	}
	return n
}

func (m *model) open() bool {
	n := len(m.transactions)
	return n > 0 && m.transactions[n-1].end == 0
}

func (m *model) confirmable() schema.LSN {
	lsn := m.start
	for _, t := range m.transactions {
		if t.end == 0 {
			break
		}
		for _, a := range t.accepted {
			if !a {
				return max(lsn, m.keepalive)
			}
		}
		lsn = t.end
	}
	return max(lsn, m.keepalive)
}

type inFlight struct {
	tag                  Tag
	transaction, message int
	bytes                int64
}

// simulate drives w and the model through random steps and returns how they
// differ, empty if they don't.
func simulate(seed uint64, steps int, w window) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := &model{start: 100}
	lsn := schema.LSN(100)
	var flying []inFlight
	for step := range steps {
		lsn += schema.LSN(rng.IntN(50))
		switch n := rng.IntN(10); {
		case n < 2 && !m.open():
			w.Begin()
			m.transactions = append(m.transactions, modelTransaction{})
		case n < 5 && m.open():
			last := &m.transactions[len(m.transactions)-1]
			bytes := rng.IntN(2000)
			charged := int64((max(bytes, 1) + 255) / 256 * 256)
			flying = append(flying, inFlight{w.Add(bytes), len(m.transactions) - 1, len(last.accepted), charged})
			last.accepted = append(last.accepted, false)
			m.bytes += charged
		case n == 5 && m.open():
			lsn++
			w.Commit(lsn)
			m.transactions[len(m.transactions)-1].end = lsn
		case n == 6:
			w.Keepalive(lsn)
			if m.inFlight() == 0 && !m.open() {
				m.keepalive = max(m.keepalive, lsn)
			}
		case len(flying) > 0:
			i := rng.IntN(len(flying))
			f := flying[i]
			flying = append(flying[:i], flying[i+1:]...)
			full := w.Full()
			before := w.Confirmable()
			m.transactions[f.transaction].accepted[f.message] = true
			m.bytes -= f.bytes
			if changed := w.Accepted(f.tag); !changed && (w.Confirmable() != before || full && !w.Full()) {
				return fmt.Sprintf("step %d: Accepted moved something and didn't say so", step)
			}
		}
		if got, want := w.Confirmable(), m.confirmable(); got != want {
			return fmt.Sprintf("step %d: confirmable %s, want %s", step, got, want)
		}
		if w.Bytes() != m.bytes || w.Messages() != int64(len(flying)) || w.Full() != (m.bytes >= 8000) {
			return fmt.Sprintf("step %d: %d bytes and %d messages in flight, full %t; want %d, %d", step, w.Bytes(), w.Messages(), w.Full(), m.bytes, len(flying))
		}
		settled := true
		for _, f := range flying {
			settled = settled && m.transactions[f.transaction].end == 0
		}
		if w.Settled() != settled {
			return fmt.Sprintf("step %d: settled %t", step, w.Settled())
		}
	}
	return ""
}

const (
	seeds = 300
	steps = 500
)

func TestWindowIsTheModel(t *testing.T) {
	first := uint64(time.Now().UnixNano())
	for seed := first; seed < first+seeds; seed++ {
		if diff := simulate(seed, steps, New(8000, 100)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
	t.Logf("seeds from %d", first)
}

// early confirms a transaction when it is committed on the stream.
type early struct {
	*Window
	committed schema.LSN
}

func (e *early) Commit(end schema.LSN)   { e.Window.Commit(end); e.committed = end }
func (e *early) Confirmable() schema.LSN { return max(e.committed, e.Window.Confirmable()) }

// lastCallback confirms the newest transaction that is accepted, whatever is
// before it.
type lastCallback struct{ *Window }

func (l *lastCallback) Confirmable() schema.LSN {
	lsn := l.Window.Confirmable()
	for i := range l.n {
		if t := l.at(i); t.outstanding == 0 {
			lsn = max(lsn, t.end)
		}
	}
	return lsn
}

// openKeepalive takes a keepalive's WAL end inside a transaction of which
// nothing is in flight at the moment.
type openKeepalive struct{ *Window }

func (o *openKeepalive) Keepalive(lsn schema.LSN) {
	if o.messages == 0 {
		o.keepalive = max(o.keepalive, lsn)
	}
}

// busyKeepalive takes a keepalive's WAL end while messages are in flight.
type busyKeepalive struct{ *Window }

func (b *busyKeepalive) Keepalive(lsn schema.LSN) {
	if !b.open {
		b.keepalive = max(b.keepalive, lsn)
	}
}

// halfway confirms a transaction of which one message is still in flight.
type halfway struct{ *Window }

func (h *halfway) Confirmable() schema.LSN {
	lsn := h.Window.Confirmable()
	if h.n > 0 && h.at(0).outstanding <= 1 {
		lsn = max(lsn, h.at(0).end)
	}
	return lsn
}

func TestModelFindsPlantedBugs(t *testing.T) {
	first := uint64(time.Now().UnixNano())
	for name, plant := range map[string]func() window{
		"confirmed at commit":              func() window { return &early{Window: New(8000, 100)} },
		"confirmed by the last acceptance": func() window { return &lastCallback{New(8000, 100)} },
		"keepalive inside a transaction":   func() window { return &openKeepalive{New(8000, 100)} },
		"keepalive while busy":             func() window { return &busyKeepalive{New(8000, 100)} },
		"confirmed with one in flight":     func() window { return &halfway{New(8000, 100)} },
	} {
		found := 0
		for seed := first; seed < first+seeds; seed++ {
			if simulate(seed, steps, plant()) != "" {
				found++
			}
		}
		if found < seeds*9/10 {
			t.Errorf("%s: found with %d of %d seeds from %d", name, found, seeds, first)
		}
	}
}

// Accepting what isn't in flight is a broken publisher: going on would confirm
// what isn't published.
func TestAcceptedTwicePanics(t *testing.T) {
	for name, f := range map[string]func(w *Window, tag Tag){
		"twice":                  func(w *Window, tag Tag) { w.Accepted(tag); w.Accepted(tag) },
		"twice after the commit": func(w *Window, tag Tag) { w.Accepted(tag); w.Commit(10); w.Accepted(tag) },
		"never sent":             func(w *Window, tag Tag) { w.Accepted(tag + 1<<sizeBits) },
		"add outside":            func(w *Window, _ Tag) { w.Commit(10); w.Add(1) },
		"begin inside":           func(w *Window, _ Tag) { w.Begin() },
		"commit outside":         func(w *Window, _ Tag) { w.Commit(10); w.Commit(11) },
	} {
		t.Run(name, func(t *testing.T) {
			w := New(1000, 1)
			w.Begin()
			tag := w.Add(10)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(w, tag)
		})
	}
}

// A slow message lets a bounded number of transactions wait behind it, and
// transactions without a change none.
func TestTransactionsAreBounded(t *testing.T) {
	w := New(1<<40, 0)
	w.Begin()
	slow := w.Add(1)
	w.Commit(1)
	for i := range 1000 {
		w.Begin()
		w.Commit(schema.LSN(2 + i))
	}
	if w.Transactions() != 1 {
		t.Errorf("%d transactions wait, want 1", w.Transactions())
	}
	lsn := schema.LSN(2000)
	for !w.Full() {
		w.Begin()
		tag := w.Add(1)
		lsn++
		w.Commit(lsn)
		w.Accepted(tag)
	}
	if w.Transactions() != MaxTransactions || w.Messages() != 1 {
		t.Errorf("full with %d transactions, %d messages", w.Transactions(), w.Messages())
	}
	if w.Accepted(slow); w.Confirmable() != lsn || w.Full() {
		t.Errorf("confirmable %s, want %s", w.Confirmable(), lsn)
	}
}

// What is confirmable never falls: neither by a keepalive that says less than one
// before it, nor by transactions below the start, which a server sends again after
// a crash.
func TestConfirmableNeverFalls(t *testing.T) {
	w := New(1000, 100)
	for _, step := range []struct {
		commit, keepalive, want schema.LSN
	}{{commit: 50, want: 100}, {keepalive: 500, want: 500}, {keepalive: 400, want: 500}, {commit: 300, want: 500}, {commit: 200, want: 500}, {commit: 600, want: 600}} {
		if step.commit > 0 {
			w.Begin()
			tag := w.Add(1)
			w.Commit(step.commit)
			w.Accepted(tag)
		} else {
			w.Keepalive(step.keepalive)
		}
		if w.Confirmable() != step.want {
			t.Errorf("%+v: confirmable %s", step, w.Confirmable())
		}
	}
	if w.Published() != 600 {
		t.Errorf("published %s", w.Published())
	}
}

// The window is full when its limit is reached, not when it is passed.
func TestFullAtTheLimit(t *testing.T) {
	w := New(2*unitBytes, 0)
	w.Begin()
	w.Add(1)
	if w.Full() {
		t.Error("full with half of the limit")
	}
	w.Add(1)
	if !w.Full() {
		t.Error("not full at the limit")
	}
}

// The largest message fits into a tag's size.
func TestLargestMessage(t *testing.T) {
	w := New(1, 0)
	w.Begin()
	tag := w.Add(schema.MaxMessageBytes)
	if w.Bytes() < schema.MaxMessageBytes {
		t.Errorf("%d bytes charged", w.Bytes())
	}
	if w.Accepted(tag); w.Bytes() != 0 {
		t.Errorf("%d bytes left", w.Bytes())
	}
}

func TestAllocatesNothing(t *testing.T) {
	w := New(1<<20, 0)
	lsn := schema.LSN(0)
	if n := testing.AllocsPerRun(1000, func() {
		w.Begin()
		a, b := w.Add(100), w.Add(300)
		lsn++
		w.Commit(lsn)
		w.Accepted(b)
		w.Accepted(a)
	}); n != 0 {
		t.Errorf("%v allocations a transaction", n)
	}
}

func BenchmarkTransaction(b *testing.B) {
	w := New(1<<30, 0)
	lsn := schema.LSN(0)
	b.ReportAllocs()
	for b.Loop() {
		w.Begin()
		tag := w.Add(600)
		lsn++
		w.Commit(lsn)
		w.Accepted(tag)
	}
}

// TestGrowsAnywhere: the ring is moved as a whole, wherever its first transaction
// lies in it.
func TestGrowsAnywhere(t *testing.T) {
	for gone := range 64 {
		w := New(1<<40, 0)
		var tags []Tag
		for i := range gone + 200 {
			w.Begin()
			tags = append(tags, w.Add(1))
			w.Commit(schema.LSN(i + 1))
			if i < gone {
				w.Accepted(tags[i])
			}
		}
		for i := gone; i < len(tags); i++ {
			if lsn := w.Confirmable(); lsn != schema.LSN(i) {
				t.Fatalf("%d gone before it grew: confirmable %s after %d", gone, lsn, i)
			}
			w.Accepted(tags[i])
		}
		if w.Transactions() != 0 || w.Confirmable() != schema.LSN(gone+200) {
			t.Fatalf("%d gone before it grew: %d left, confirmable %s", gone, w.Transactions(), w.Confirmable())
		}
	}
}
