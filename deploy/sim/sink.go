package main

import (
	"slices"
	"strings"

	"cdc/sink/pull"
)

// sink is one process of cdc-sink: the ack order, and for each table a queue of
// what was received and batches, a simple stand-in for the real ones. What is in
// here dies with it.
type sink struct {
	order  pull.Order
	tables map[string]*sinkTable
	list   []*sinkTable // of tables, so that a seed decides
	all    map[*pull.Delivery]*received
	held   map[*keyLog]bool // nothing of the key is written
	number int              // of messages received

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
	{"start sink", 30, false, func(w *world) bool { return w.sink == nil }, func(w *world) {
		w.sink = &sink{tables: make(map[string]*sinkTable), all: make(map[*pull.Delivery]*received), held: make(map[*keyLog]bool)}
	}},
	{"crash sink", 1, true, func(w *world) bool { return w.sink != nil }, (*world).crashSink},
	{"age a batch", 40, false, func(w *world) bool { return anyTable(w, (*sinkTable).full) }, (*world).cut},
	{"append again", 30, false, func(w *world) bool { return anyTable(w, (*sinkTable).retries) }, func(w *world) {
		t := choose(w, w.sink.list, (*sinkTable).retries)
		b := t.again[0]
		t.again = t.again[1:]
		w.append(t, b)
	}},
	{"hold a key", 2, true, func(w *world) bool { return w.sink != nil && len(w.topic.list) > 0 }, func(w *world) {
		w.sink.held[choose(w, w.topic.list, func(*keyLog) bool { return true })] = true
	}},
	{"let keys go", 3, false, func(w *world) bool { return w.sink != nil && len(w.sink.held) > 0 }, func(w *world) { clear(w.sink.held) }},
	{"give back", 1, true, func(w *world) bool { return w.sink != nil && anyKey(w, (*keyLog).outstanding) }, (*world).giveBack},
}

func (t *sinkTable) full() bool    { return len(t.queue) > 0 && t.flying < flyingAppends }
func (t *sinkTable) retries() bool { return len(t.again) > 0 }

// anyTable reports whether there is a table that fits.
func anyTable(w *world, fits func(*sinkTable) bool) bool {
	return w.sink != nil && slices.ContainsFunc(w.sink.list, fits)
}

// receive is one delivery.
func (s *sink) receive(w *world, m *message) {
	if w.trace != nil {
		w.trace.note("%s: %s of %s", m.ackID(), m.change.Position, keyName(m.key.name))
	}
	id := m.ackID()
	fresh := &received{message: m, id: id}
	d, again := s.order.Received(&fresh.Delivery, m.key.name, m.id(), id, m.published)
	s.ackable = true
	m.by = s
	if again {
		s.all[d].id = id
		return
	}
	s.all[d], m.at = fresh, fresh
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
func (w *world) cut() {
	s := w.sink
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
	w.append(t, b)
}

// append sends a batch.
func (w *world) append(t *sinkTable, b *batch) {
	s := w.sink
	w.send(appending, &call{
		caller: s,
		arrive: func() { w.bigquery.apply(w, b.rows) },
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

func (k *keyLog) outstanding() bool {
	return slices.ContainsFunc(k.messages, (*message).isOutstanding)
}
func (m *message) isOutstanding() bool { return m.at != nil }

// giveBack gives a message back that was held for too long, with all later ones
// of its key. The request may be lost: then their leases expire.
func (w *world) giveBack() {
	k := choose(w, w.topic.list, (*keyLog).outstanding)
	m := choose(w, k.messages, (*message).isOutstanding)
	back := w.decide.giveBack(w.sink, m.at)
	for _, d := range back {
		x := w.sink.all[d]
		x.gone, x.message.at, x.message.given = true, nil, true
		delete(w.sink.all, d)
	}
	w.counts.givenBack += len(back)
	if len(back) > 0 {
		w.checkGivenBack(m)
		if !m.acked && w.r.IntN(2) == 0 {
			w.redeliver(m)
		}
	}
	if w.trace != nil {
		w.trace.note("%d messages of %s from %s on", len(back), keyName(k.name), m.change.Position)
	}
}

// checkGivenBack: nothing later of the key stays, except what is in the
// Acknowledge request in flight and what is about to come again.
func (w *world) checkGivenBack(m *message) {
	for _, later := range m.key.messages[m.index:max(m.index, m.key.next)] {
		if later.at != nil && !later.at.sending {
			w.find("give back", "%s of %s stays while %s is given back", later.change.Position, keyName(m.key.name), m.change.Position)
		}
	}
}

// crashSink loses what the sink has. Its leases run on for a while.
func (w *world) crashSink() {
	w.abandon(w.sink)
	w.sink = nil
	for _, k := range w.topic.list {
		for _, m := range k.messages[:k.next] {
			m.at = nil
		}
		for _, m := range k.messages[k.next:] {
			m.at = nil // it is to be delivered again
		}
		k.orphan = true
	}
}
