package main

import (
	"slices"
	"strconv"
	"strings"
)

// topic is the ordered topic and its subscription.
type topic struct {
	fault bool // what is published is accepted and vanishes
	keys  map[string]*keyLog
	list  []*keyLog // of keys, so that a seed decides
	all   []*message
	clock int64
}

// keyLog is the messages of one ordering key in the order of storing.
type keyLog struct {
	name     string
	keyless  bool // one message without an ordering key: nothing holds it back or drags it
	messages []*message
	next     int   // the first that isn't delivered, or has to be again
	unacked  int   // everything before it is acked
	owner    *sink // whom the last message was delivered to
	orphan   bool  // it died
}

// message is one stored message. Copies are messages of their own.
type message struct {
	change    *change
	key       *keyLog
	number    int // of all
	index     int // in its key
	published int64
	delivery  int // how often it was delivered; part of the ack id
	acked     bool
	deferred  bool // acked, but an earlier one of the key isn't

	at *received // the newest delivery, while its process has it

	given bool // given back and not delivered since: later ones may have been on their way already
}

var topicSteps = []step{
	{"deliver", 50, false, (*world).deliverable, (*world).deliver},
	{"lease expires", 3, true, func(w *world) bool { return anyKey(w, (*keyLog).leased) }, func(w *world) {
		k := choose(w, w.topic.list, (*keyLog).leased)
		w.redeliver(choose(w, k.messages[:k.next], (*message).leased))
	}},
	{"lost lease expires", 10, false, func(w *world) bool { return anyKey(w, (*keyLog).lost) }, func(w *world) {
		k := choose(w, w.topic.list, (*keyLog).lost)
		for _, m := range k.messages[:k.next] {
			if m.lost() {
				w.redeliver(m)
				return
			}
		}
	}},
	{"duplicate", 2, true, func(w *world) bool { return anyKey(w, (*keyLog).duplicable) }, func(w *world) {
		k := choose(w, w.topic.list, (*keyLog).duplicable)
		w.counts.duplicates++
		w.redeliver(k.messages[w.r.IntN(k.next)])
	}},
}

func anyKey(w *world, fits func(*keyLog) bool) bool { return slices.ContainsFunc(w.topic.list, fits) }

func (m *message) leased() bool { return !m.acked }
func (m *message) lost() bool   { return !m.acked && m.at == nil }

// leased reports whether a message is delivered and not acked.
func (k *keyLog) leased() bool { return k.unacked < k.next }

// lost reports whether a message is delivered, not acked and held by nobody.
func (k *keyLog) lost() bool {
	for i := k.unacked; i < k.next; i++ {
		if k.messages[i].lost() {
			return true
		}
	}
	return false
}

func (k *keyLog) duplicable() bool { return k.next > 0 && !k.blocked() }
func (k *keyLog) unfinished() bool { return k.unacked < len(k.messages) || k.next < len(k.messages) }

// store is a publish request that arrives.
func (w *world) store(key string, messages []flight) {
	if w.topic.fault {
		w.counts.vanished += len(messages)
		return
	}
	w.topic.clock++ // one time for all of a request
	for _, f := range messages {
		k := w.keyLog(key)
		m := &message{change: f.change, key: k, number: len(w.topic.all), index: len(k.messages), published: w.topic.clock}
		k.messages = append(k.messages, m)
		w.topic.all = append(w.topic.all, m)
		w.order.Add(f.change.row, f.change.Position)
		w.confirmed.Accept(f.change.Position)
	}
	if w.trace != nil {
		w.trace.note("stored %s of %s", names(messages), keyName(key))
	}
}

// keyLog returns where a message of the key goes: without ordering each one is on
// its own.
func (w *world) keyLog(key string) *keyLog {
	k := w.topic.keys[key]
	if k == nil || k.keyless {
		k = &keyLog{name: key, keyless: w.nature.keyless}
		w.topic.keys[key] = k
		w.topic.list = append(w.topic.list, k)
	}
	return k
}

// ordering is the key as the sink sees it.
func (k *keyLog) ordering() string {
	if k.keyless {
		return ""
	}
	return k.name
}

func (w *world) deliverable() bool {
	return slices.ContainsFunc(w.topic.list, w.goesOut)
}

// goesOut reports whether there is something to deliver and somebody to take it.
func (w *world) goesOut(k *keyLog) bool {
	return k.waiting() && slices.ContainsFunc(w.sinks, func(s *sink) bool { return w.takes(s, k) })
}

// takes reports whether s may get messages of k: while one process has some that
// aren't acked, nobody else does.
func (w *world) takes(s *sink, k *keyLog) bool {
	return s.order.Outstanding() < w.nature.outlet && (k.owner == s || k.owner == nil || k.orphan || !k.leased())
}

// waiting reports whether there is something to deliver.
func (k *keyLog) waiting() bool { return k.next < len(k.messages) && !k.blocked() }

// blocked: while a dead process has leases, nobody gets messages of the key.
func (k *keyLog) blocked() bool { return k.orphan && k.lost() }

// deliver gives a sink some messages of a key, in order.
func (w *world) deliver() {
	k := choose(w, w.topic.list, w.goesOut)
	s := choose(w, w.sinks, func(s *sink) bool { return w.takes(s, k) })
	if k.owner != nil && k.owner != s && !k.orphan {
		w.counts.moved++
	}
	k.owner, k.orphan = s, false
	for range 1 + w.r.IntN(w.nature.burst) {
		if k.next == len(k.messages) || s.order.Outstanding() >= w.nature.outlet {
			return
		}
		m := k.messages[k.next]
		k.next++
		m.delivery++
		if m.delivery > 1 {
			w.counts.redelivered++
			if m.acked {
				w.counts.dragged++
			}
		}
		m.acked, m.deferred, m.given = false, false, false
		k.unacked = min(k.unacked, m.index)
		s.receive(w, m)
	}
}

// redeliver lets m come again, and all later messages of its key with it,
// whether they are acked or not.
func (w *world) redeliver(m *message) {
	m.key.next = min(m.key.next, m.index)
	if w.trace != nil {
		w.trace.note("%s and what follows of %s", m.id(), keyName(m.key.name))
	}
}

func (m *message) id() string { return strconv.Itoa(m.number) }

// ackID is the id of the newest delivery.
func (m *message) ackID() string { return strconv.Itoa(m.number) + "." + strconv.Itoa(m.delivery) }

// acknowledge is an Acknowledge request that arrives. An id of an earlier
// delivery, or of one that is to be repeated, is stale.
func (w *world) acknowledge(ids []string) {
	for _, id := range ids {
		number, delivery, _ := strings.Cut(id, ".")
		n, err := strconv.Atoi(number)
		d, err2 := strconv.Atoi(delivery)
		if err != nil || err2 != nil || n >= len(w.topic.all) {
			w.find("ack", "an ack id that never was")
			return
		}
		m := w.topic.all[n]
		stale := d != m.delivery || m.index >= m.key.next
		if stale {
			w.counts.stale++
			if !w.nature.staleAcks {
				continue
			}
		}
		w.ack(m, stale)
	}
}

// ack is one valid id. If an earlier message of the key isn't acked, the ack is
// dropped or waits for it.
func (w *world) ack(m *message, stale bool) {
	k := m.key
	if m.index > k.unacked && !stale && !k.messages[k.unacked].given {
		w.find("ack order", "message %s of %s is acked before %s", m.id(), keyName(k.name), k.messages[k.unacked].id())
	}
	if m.index > k.unacked {
		w.counts.overtaken++
		m.deferred = w.nature.deferAcks
		return
	}
	m.acked = true
	for k.unacked < len(k.messages) && (k.messages[k.unacked].acked || k.messages[k.unacked].deferred) {
		k.messages[k.unacked].acked = true
		k.unacked++
	}
}
