package main

import (
	"strings"

	"cdc/sink/pull"
)

var ackSteps = []step{
	sinkStep("ack", 40, false, func(s *sink) bool { return s.ackable && !s.acking }, (*world).sendAcks),
}

// sendAcks sends an Acknowledge request with what the order gives.
func (w *world) sendAcks(s *sink) {
	taken := s.order.Take(w.nature.ackIDs, w.nature.ackBytes)
	if len(taken) == 0 {
		s.ackable = false
		return
	}
	ids := make([]string, len(taken))
	for i, d := range taken {
		ids[i] = d.AckID()
		s.all[d].sending = true
	}
	if bytes := len(strings.Join(ids, "")); len(ids) > w.nature.ackIDs || len(ids) > 1 && bytes > w.nature.ackBytes {
		w.find("ack", "%d ids of %d bytes go into one request", len(ids), bytes)
	}
	w.checkAcks(s, taken)
	s.acking = true
	w.send(acking, &call{
		caller: s,
		arrive: func() { w.acknowledge(ids) },
		answer: func(ok bool) {
			s.acking, s.ackable = false, true
			for _, d := range taken {
				s.all[d].sending = false
			}
			if ok {
				w.acked(s, taken)
			} else {
				w.decide.ackFailed(w, s, taken)
			}
		},
	})
	if w.trace != nil {
		w.trace.note("%s", strings.Join(ids, " "))
	}
}

// acked is the positive answer: the order forgets what wasn't delivered anew.
func (w *world) acked(s *sink, taken []*pull.Delivery) {
	for _, d := range taken {
		if x := s.all[d]; x.id == d.AckID() {
			s.forget(x)
		}
	}
	s.order.Acked(taken)
}

// checkAcks looks at a request before it is sent: everything in it is written,
// and of each key nothing is passed over that this process has and that isn't
// acked, unless the message is about to come again and its id is stale anyway.
func (w *world) checkAcks(s *sink, taken []*pull.Delivery) {
	in := make(map[*message]bool, len(taken))
	for _, d := range taken {
		m := s.all[d].message
		if !m.change.written || w.bigquery.newest[m.change.row].Less(m.change.Position) {
			w.find("ack", "%s of %s is acked and isn't written", m.change.Position, keyName(m.change.row))
		}
		newest := m.index < m.key.next && d.AckID() == m.ackID()
		for _, earlier := range m.key.messages[:m.index] {
			if newest && s.has[earlier] != nil && !earlier.acked && !in[earlier] {
				w.find("ack order", "message %s of %s is acked before %s", m.id(), keyName(m.key.name), earlier.id())
			}
		}
		in[m] = true
	}
}
