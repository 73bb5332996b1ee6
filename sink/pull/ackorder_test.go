package pull

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// acker is what the model drives: an Order, or one with a planted bug.
type acker interface {
	Received(d *Delivery, key, id, ackID string, published int64) (*Delivery, bool)
	Done(d *Delivery)
	Take(maxIDs, maxBytes int) []*Delivery
	Acked(batch []*Delivery) int
	Failed(batch []*Delivery)
	Outstanding() int
}

// model is a subscription that delivers in order per key, redelivers a message
// with all later ones of its key, and checks every ack that it gets.
type model struct {
	r        *rand.Rand
	order    acker
	keys     map[string][]*stored // unacked, in publish order
	ackIDs   map[string]*stored
	now      int64
	next     int
	held     []*Delivery
	findings []string
}

type stored struct {
	key, id, ackID string
	published      int64
	delivered      bool
	delivery       *Delivery
	done           bool
}

func newModel(seed uint64, o acker) *model {
	return &model{r: rand.New(rand.NewPCG(seed, 7)), order: o, keys: make(map[string][]*stored), ackIDs: make(map[string]*stored)}
}

func (m *model) find(format string, args ...any) {
	if len(m.findings) < 5 {
		m.findings = append(m.findings, fmt.Sprintf(format, args...))
	}
}

// deliver gives s to the Order under a new ack id.
func (m *model) deliver(s *stored) {
	delete(m.ackIDs, s.ackID)
	m.next++
	s.ackID, s.delivered = fmt.Sprintf("ack-%d", m.next), true
	m.ackIDs[s.ackID] = s
	d, again := m.order.Received(new(Delivery), s.key, s.id, s.ackID, s.published)
	if again != (s.delivery == d) {
		m.find("message %s: again %t", s.id, again)
	}
	if !again {
		s.delivery, s.done = d, false
		m.held = append(m.held, d)
	}
}

func (m *model) step() {
	switch m.r.IntN(10) {
	case 0, 1, 2: // publish and deliver
		m.now += m.r.Int64N(2) // several at one time
		m.next++
		s := &stored{key: fmt.Sprintf("k%d", m.r.IntN(6)), id: fmt.Sprintf("m%d", m.next), published: m.now}
		if m.r.IntN(8) == 0 {
			s.key = ""
		}
		m.keys[s.key] = append(m.keys[s.key], s)
		m.deliver(s)
	case 3, 4, 5, 6: // something is done
		if len(m.held) > 0 {
			i := m.r.IntN(len(m.held))
			d := m.held[i]
			m.held = slices.Delete(m.held, i, i+1)
			for _, list := range m.keys {
				for _, s := range list {
					if s.delivery == d {
						s.done = true
					}
				}
			}
			m.order.Done(d)
			m.order.Done(d) // twice is once
		}
	case 7: // a redelivery: with all later ones of the key
		m.redeliver()
	default:
		m.acknowledge()
	}
}

func (m *model) redeliver() {
	key := fmt.Sprintf("k%d", m.r.IntN(6))
	if list := m.keys[key]; len(list) > 0 {
		from := m.r.IntN(len(list))
		for _, s := range list[from:] {
			m.deliver(s)
		}
	}
}

// acknowledge sends one request, whose answer may be lost, before or after a
// redelivery.
func (m *model) acknowledge() {
	batch := m.order.Take(1+m.r.IntN(8), 1000)
	if len(batch) > 8 {
		m.find("%d ids in a request", len(batch))
	}
	ids := make([]string, len(batch))
	for i, d := range batch {
		ids[i] = d.AckID()
	}
	if m.r.IntN(4) == 0 {
		m.redeliver() // the ids may be stale when they arrive
	}
	arrived := m.r.IntN(5) > 0
	if arrived {
		for _, id := range ids {
			m.ack(id)
		}
	}
	if arrived && m.r.IntN(5) > 0 {
		m.order.Acked(batch)
	} else {
		m.order.Failed(batch)
	}
}

func (m *model) ack(id string) {
	s := m.ackIDs[id]
	if s == nil {
		return // stale, or acked already
	}
	if !s.done {
		m.find("message %s of key %s acked before it is done", s.id, s.key)
	}
	list := m.keys[s.key]
	i := slices.Index(list, s)
	if i > 0 && s.key != "" {
		m.find("message %s of key %s acked before %s", s.id, s.key, list[0].id)
	}
	m.keys[s.key] = slices.Delete(list, i, i+1)
	delete(m.ackIDs, id)
}

// drain does everything that is left and sees that all is acked.
func (m *model) drain() {
	for _, d := range m.held {
		for _, list := range m.keys {
			for _, s := range list {
				if s.delivery == d {
					s.done = true
				}
			}
		}
		m.order.Done(d)
	}
	for range 10_000 {
		batch := m.order.Take(1000, 1<<20)
		if len(batch) == 0 {
			break
		}
		for _, d := range batch {
			m.ack(d.AckID())
		}
		m.order.Acked(batch)
	}
	if n := m.order.Outstanding(); n != 0 {
		m.find("%d messages outstanding at the end", n)
	}
	for key, list := range m.keys {
		if len(list) > 0 {
			m.find("key %s: %d messages never acked", key, len(list))
		}
	}
}

func runModel(seed uint64, steps int, o acker) []string {
	m := newModel(seed, o)
	for range steps {
		m.step()
	}
	m.drain()
	return m.findings
}

func TestOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range uint64(300) {
		var o Order
		if f := runModel(seed+i, 400, &o); len(f) > 0 {
			t.Fatalf("seed %d: %q", seed+i, f)
		}
		if len(o.keys)+len(o.byID)+len(o.ready)+len(o.free) > 0 {
			t.Fatalf("seed %d: something is kept for drained keys: %+v", seed+i, o)
		}
	}
}

// Planted bugs.
type ackEarly struct{ Order }

func (o *ackEarly) Received(d *Delivery, key, id, ackID string, published int64) (*Delivery, bool) {
	d, again := o.Order.Received(d, key, id, ackID, published)
	if len(id)%3 == 0 {
		o.Done(d) // acked before it is done
	}
	return d, again
}

type ackOutOfOrder struct{ Order }

func (o *ackOutOfOrder) Received(d *Delivery, _, id, ackID string, published int64) (*Delivery, bool) {
	return o.Order.Received(d, "", id, ackID, published) // without regard to the key
}

type ackReversed struct{ Order }

func (o *ackReversed) Take(maxIDs, maxBytes int) []*Delivery {
	batch := o.Order.Take(maxIDs, maxBytes)
	slices.Reverse(batch)
	return batch
}

type ackForgets struct{ Order }

func (o *ackForgets) Failed(batch []*Delivery) { o.Acked(batch) } // a lost answer counts as OK

func TestOrderFindsPlantedBugs(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, o := range map[string]func() acker{
		"early": func() acker { return &ackEarly{} }, "out of order": func() acker { return &ackOutOfOrder{} },
		"reversed": func() acker { return &ackReversed{} }, "forgets": func() acker { return &ackForgets{} },
	} {
		found := false
		for i := range uint64(20) {
			found = found || len(runModel(seed+i, 400, o())) > 0
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

func TestOrderGiveBack(t *testing.T) {
	var o Order
	var d [5]Delivery
	for i := range d {
		key := "k"
		if i == 2 {
			key = "other"
		}
		o.Received(&d[i], key, fmt.Sprint("m", i), fmt.Sprint("a", i), int64(i))
	}
	o.Done(&d[4])
	back := o.GiveBack(&d[1])
	if len(back) != 3 || back[0] != &d[1] || back[1] != &d[3] || back[2] != &d[4] {
		t.Fatalf("given back: %v", back)
	}
	if o.GiveBack(&d[1]) != nil {
		t.Error("given back twice")
	}
	o.Done(&d[0])
	o.Done(&d[3]) // too late: nothing
	if batch := o.Take(10, 1000); len(batch) != 1 || batch[0] != &d[0] {
		t.Errorf("batch %v, want the first message alone", batch)
	}
}

// An ack that was accepted but came too late: the message comes again, before
// those of its key that are outstanding still.
func TestOrderRedeliveryOfAcked(t *testing.T) {
	var o Order
	var first, second, again Delivery
	o.Received(&first, "k", "m1", "a1", 1)
	o.Received(&second, "k", "m2", "a2", 2)
	o.Done(&first)
	o.Acked(o.Take(10, 1000))
	o.Received(&again, "k", "m1", "a3", 1)
	o.Done(&second)
	if batch := o.Take(10, 1000); len(batch) != 0 {
		t.Fatalf("acked %s before the earlier message", batch[0].id)
	}
	o.Received(new(Delivery), "k", "m2", "a4", 2)
	o.Done(&again)
	batch := o.Take(10, 1000)
	if len(batch) != 2 || batch[0].AckID() != "a3" || batch[1].AckID() != "a4" {
		t.Fatalf("batch %v, want a3, a4", batch)
	}
}

// The messages of one publish request have one time. An acked one that comes
// again goes before the outstanding ones as soon as they come behind it.
func TestOrderRedeliveryAtOneTime(t *testing.T) {
	var o Order
	var first, again Delivery
	var later [2]Delivery
	o.Received(&first, "k", "m1", "a1", 1)
	o.Received(&later[0], "k", "m2", "a2", 1)
	o.Received(&later[1], "k", "m3", "a3", 1)
	o.Done(&first)
	o.Acked(o.Take(10, 1000))
	o.Received(&again, "k", "m1", "a4", 1)
	o.Received(new(Delivery), "k", "m2", "a5", 1)
	o.Received(new(Delivery), "k", "m3", "a6", 1)
	for _, d := range []*Delivery{&later[1], &later[0]} {
		o.Done(d)
		if batch := o.Take(10, 1000); len(batch) != 0 {
			t.Fatalf("acked %s before the first message", batch[0].id)
		}
	}
	o.Done(&again)
	var ids []string
	for _, d := range o.Take(10, 1000) {
		ids = append(ids, d.AckID())
	}
	if want := []string{"a4", "a5", "a6"}; !slices.Equal(ids, want) {
		t.Errorf("acked %q, want %q", ids, want)
	}
}

// A move can bring a done message to the front of its key.
func TestOrderRedeliveryFreesTheNext(t *testing.T) {
	var o Order
	var held, finished Delivery
	o.Received(&held, "k", "m1", "a1", 1)
	o.Received(&finished, "k", "m2", "a2", 1)
	o.Done(&finished)
	o.Received(new(Delivery), "k", "m1", "a3", 1)
	if batch := o.Take(10, 1000); len(batch) != 1 || batch[0] != &finished {
		t.Errorf("batch %v, want the message that is done", batch)
	}
}

// A request is bounded in ids and in bytes of ids; one id alone may be larger.
// What doesn't fit comes next, and nothing comes twice.
func TestOrderTakeIsBounded(t *testing.T) {
	for _, key := range []string{"k", ""} { // of one key, and without
		var o Order
		var d [4]Delivery
		for i := range d {
			o.Received(&d[i], key, fmt.Sprint("m", i), "12345", int64(i))
			o.Done(&d[i])
			o.Done(&d[i]) // again: nothing
		}
		var sizes []int
		for _, limit := range []struct{ ids, bytes int }{{10, 10}, {1, 1000}, {10, 4}, {10, 1000}} {
			batch := o.Take(limit.ids, limit.bytes)
			sizes = append(sizes, len(batch))
			if n := o.Acked(batch); n != len(batch) {
				t.Errorf("key %q: %d of %d forgotten", key, n, len(batch))
			}
		}
		if want := []int{2, 1, 1, 0}; !slices.Equal(sizes, want) || o.Outstanding() != 0 {
			t.Errorf("key %q: batches of %v, want %v; %d outstanding", key, sizes, want, o.Outstanding())
		}
	}
}

// What was given back is never acked, though it is written later.
func TestOrderDoneAfterGiveBack(t *testing.T) {
	for _, key := range []string{"k", ""} {
		var o Order
		var d Delivery
		o.Received(&d, key, "m", "a", 1)
		if back := o.GiveBack(&d); len(back) != 1 {
			t.Fatalf("key %q: %d given back", key, len(back))
		}
		o.Done(&d)
		if batch := o.Take(10, 1000); len(batch) != 0 {
			t.Errorf("key %q: acked", key)
		}
	}
}

// What is done once more while its ack is in flight is acked once.
func TestOrderDoneWhileSending(t *testing.T) {
	for _, key := range []string{"k", ""} {
		var o Order
		var d Delivery
		o.Received(&d, key, "m", "a", 1)
		o.Done(&d)
		batch := o.Take(10, 1000)
		o.Done(&d)
		if n := o.Acked(batch); n != 1 || o.Outstanding() != 0 {
			t.Errorf("key %q: %d forgotten, %d outstanding", key, n, o.Outstanding())
		}
		if again := o.Take(10, 1000); len(again) != 0 {
			t.Errorf("key %q: acked twice", key)
		}
	}
}
