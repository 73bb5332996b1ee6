package main

import (
	"slices"
	"strings"

	"cdc/sink/pull"
)

// sink is one process of cdc-sink, of which there may be several: the ack order, and for each table a queue of
// what was received and batches, a simple stand-in for the real ones. What is in
// here dies with it.
type sink struct {
	order  pull.Order
	tables map[string]*sinkTable
	list   []*sinkTable // of tables, so that a seed decides
	all    map[*pull.Delivery]*received
	has    map[*message]*received // likewise
	held   map[*keyLog]bool       // nothing of the key is written
	number int                    // of messages received

	acking  bool // an Acknowledge request is in flight
	ackable bool // there may be something to ack
}

type sinkTable struct {
	queue  []*received
	flying int // batches, those that wait to be sent again included
	again  []*batch
}

// received is a message in the sink, until its ack is answered.
type received struct {
	pull.Delivery
	message *message
	id      string // the newest ack id
	number  int    // in the order of arrival
	sending bool   // in the Acknowledge request in flight
	gone    bool   // given back: it mustn't be written any more
}

// batch is what goes into one append: of each row the newest change.
type batch struct {
	messages []*received
	rows     []*change
}

// flyingAppends is how many appends of a table may be in flight.
const flyingAppends = 2

var sinkSteps = []step{
	{"start sink", 30, false, func(w *world) bool { return len(w.sinks) < w.nature.sinks }, (*world).startSink},
	sinkStep("crash sink", 1, true, func(*sink) bool { return true }, (*world).crashSink),
	sinkStep("age a batch", 40, false, (*sink).cuts, (*world).cut),
	sinkStep("append again", 30, false, (*sink).retries, func(w *world, s *sink) {
		t := choose(w, s.list, (*sinkTable).retries)
		b := t.again[0]
		t.again = t.again[1:]
		w.append(s, t, b)
	}),
	sinkStep("hold a key", 2, true, (*sink).outstanding, func(w *world, s *sink) {
		s.held[choose(w, w.topic.list, func(*keyLog) bool { return true })] = true
	}),
	sinkStep("let keys go", 3, false, func(s *sink) bool { return len(s.held) > 0 }, func(_ *world, s *sink) { clear(s.held) }),
	sinkStep("give back", 1, true, (*sink).outstanding, (*world).giveBack),
}

// sinkStep is a step of any sink that fits.
func sinkStep(name string, weight int, chaos bool, fits func(*sink) bool, do func(*world, *sink)) step {
	return step{
		name, weight, chaos,
		func(w *world) bool { return slices.ContainsFunc(w.sinks, fits) },
		func(w *world) { do(w, choose(w, w.sinks, fits)) },
	}
}

func (w *world) startSink() {
	w.sinks = append(w.sinks, &sink{
		tables: make(map[string]*sinkTable), all: make(map[*pull.Delivery]*received),
		has: make(map[*message]*received), held: make(map[*keyLog]bool),
	})
}

func (t *sinkTable) full() bool    { return len(t.queue) > 0 && t.flying < flyingAppends }
func (t *sinkTable) retries() bool { return len(t.again) > 0 }

func (s *sink) cuts() bool        { return slices.ContainsFunc(s.list, (*sinkTable).full) }
func (s *sink) retries() bool     { return slices.ContainsFunc(s.list, (*sinkTable).retries) }
func (s *sink) outstanding() bool { return len(s.has) > 0 }

// receive is one delivery.
func (s *sink) receive(w *world, m *message) {
	if w.trace != nil {
		w.trace.note("%s: %s of %s", m.ackID(), m.change.Position, keyName(m.key.name))
	}
	id := m.ackID()
	fresh := &received{message: m, id: id}
	d, again := s.order.Received(&fresh.Delivery, m.key.ordering(), m.id(), id, m.published)
	s.ackable = true
	if again {
		s.all[d].id, m.at = id, s.all[d]
		return
	}
	s.all[d], s.has[m], m.at = fresh, fresh, fresh
	s.number++
	fresh.number = s.number
	name := m.change.Table.Name
	t := s.tables[name]
	if t == nil {
		t = &sinkTable{}
		s.tables[name] = t
		s.list = append(s.list, t)
	}
	t.queue = append(t.queue, fresh)
}

// cut makes a batch of what a table has gathered.
func (w *world) cut(s *sink) {
	t := choose(w, s.list, (*sinkTable).full)
	b := &batch{}
	heads := make(map[string]int)
	numbers := make(map[string]int)
	most := 1 + w.r.IntN(w.nature.batchRows)
	var stay []*received
	for _, x := range t.queue {
		switch {
		case x.gone:
			continue
		case s.held[x.message.key] || len(b.messages) == most:
			stay = append(stay, x)
			continue
		}
		b.messages = append(b.messages, x)
		c := x.message.change
		i, there := heads[c.row]
		switch {
		case !there:
			heads[c.row], numbers[c.row] = len(b.rows), x.number
			b.rows = append(b.rows, c)
		case w.decide.position(b.rows[i], numbers[c.row]).Less(w.decide.position(c, x.number)):
			b.rows[i], numbers[c.row] = c, x.number
			w.counts.hidden++
		default:
			w.counts.hidden++
		}
	}
	t.queue = stay
	if len(b.messages) == 0 {
		return
	}
	t.flying++
	w.decide.sent(s, b)
	w.append(s, t, b)
}

// append sends a batch.
func (w *world) append(s *sink, t *sinkTable, b *batch) {
	w.send(appending, &call{
		caller: s,
		arrive: func() {
			w.bigquery.apply(w, b.rows)
			for _, x := range b.messages {
				x.message.change.written = true
			}
		},
		answer: func(ok bool) {
			if !ok {
				t.again = append(t.again, b)
				return
			}
			t.flying--
			s.written(b)
		},
	})
	if w.trace != nil {
		var ids []string
		for _, x := range b.messages {
			ids = append(ids, x.message.id())
		}
		w.trace.note("messages %s, %d rows", strings.Join(ids, " "), len(b.rows))
	}
}

func (s *sink) written(b *batch) {
	for _, x := range b.messages {
		s.order.Done(&x.Delivery)
	}
	s.ackable = true
}

// giveBack gives a message back that was held for too long, with all later ones
// of its key. The request may be lost: then their leases expire. For a message
// that somebody else has by now it does nothing.
func (w *world) giveBack(s *sink) {
	has := func(m *message) bool { return s.has[m] != nil }
	k := choose(w, w.topic.list, func(k *keyLog) bool { return slices.ContainsFunc(k.messages, has) })
	m := choose(w, k.messages, has)
	ours := m.at == s.has[m]
	back := w.decide.giveBack(s, s.has[m])
	for _, d := range back {
		x := s.all[d]
		x.gone = true
		s.forget(x)
		x.message.given = true
	}
	w.counts.givenBack += len(back)
	if len(back) > 0 {
		w.checkGivenBack(s, m)
		if ours && !m.acked && w.r.IntN(2) == 0 {
			w.redeliver(m)
		}
	}
	if w.trace != nil {
		w.trace.note("%d messages of %s from %s on", len(back), keyName(k.name), m.change.Position)
	}
}

// checkGivenBack: nothing later of the key stays, except what is in the
// Acknowledge request in flight and what is about to come again.
func (w *world) checkGivenBack(s *sink, m *message) {
	for _, later := range m.key.messages[m.index:max(m.index, m.key.next)] {
		if x := s.has[later]; x != nil && x.id == later.ackID() && !x.sending {
			w.find("give back", "%s of %s stays while %s is given back", later.change.Position, keyName(m.key.name), m.change.Position)
		}
	}
}

// forget lets go of a message.
func (s *sink) forget(x *received) {
	delete(s.all, &x.Delivery)
	delete(s.has, x.message)
	if x.message.at == x {
		x.message.at = nil
	}
}

// crashSink loses what a sink has. Its leases run on for a while.
func (w *world) crashSink(s *sink) {
	w.abandon(s)
	w.sinks = slices.DeleteFunc(w.sinks, func(other *sink) bool { return other == s })
	for m, x := range s.has {
		if m.at == x {
			m.at = nil
		}
	}
	for _, k := range w.topic.list {
		k.orphan = k.orphan || k.owner == s
	}
}
