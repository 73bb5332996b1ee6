package pubsubtest

import "fmt"

// SabotageKind is a damage that the real service never does, so that a checker
// can show that it notices.
type SabotageKind string

const (
	// Drop makes one accepted message vanish: it is neither stored nor
	// delivered, although the publisher was told that it is.
	Drop SabotageKind = "drop"
	// Swap stores two consecutive messages of one ordering key in the wrong
	// order. A message of a key that has had swapSeen before is kept back until
	// the key's next message comes (at most swapPatience messages of the topic;
	// then it is stored and another key is tried), so publish more after it.
	Swap SabotageKind = "swap"
)

const (
	swapPatience = 1_000
	// swapSeen is what makes it likely that a key has another message soon: where
	// many rows are inserted and updated once, most keys that come a second time
	// never come a third.
	swapSeen = 3
)

type sabotage struct {
	kind    SabotageKind
	after   int
	seen    int
	keys    map[string]int // messages of each ordering key, from the call of Sabotage on
	topic   *topic
	held    *message
	heldFor int
	done    bool
}

// Sabotage damages one message (Drop) or two of one key (Swap) that are
// published with an ordering key after the next n such messages. It works once; Counters.Sabotaged
// says whether it has.
func (s *Server) Sabotage(kind SabotageKind, n int) error {
	if kind != Drop && kind != Swap {
		return fmt.Errorf("sabotage %q: not %q or %q", kind, Drop, Swap)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sabotage = &sabotage{kind: kind, after: n, keys: map[string]int{}}
	return nil
}

// store returns what is stored of the messages, and in which order.
func (b *sabotage) store(t *topic, msgs []*message, count *Counters) (stored []*message) {
	if b.done || msgs[0].key == "" {
		return msgs
	}
	for _, m := range msgs {
		b.seen++
		switch {
		case b.done || b.seen <= b.after:
			stored = append(stored, m)
		case b.kind == Drop:
			b.done = true
			count.Sabotaged++
		default:
			stored = append(stored, b.swap(t, m, count)...)
		}
		b.keys[m.key]++
	}
	if b.done {
		b.keys = nil
	}
	return stored
}

func (b *sabotage) swap(t *topic, m *message, count *Counters) []*message {
	if b.held == nil {
		if b.keys[m.key] < swapSeen {
			return []*message{m}
		}
		b.topic, b.held, b.heldFor = t, m, 0
		return nil
	}
	if t != b.topic {
		return []*message{m}
	}
	held := b.held
	if m.key == held.key {
		b.held, b.done = nil, true
		count.Sabotaged += 2
		return []*message{m, held}
	}
	if b.heldFor++; b.heldFor > swapPatience {
		b.held = nil
		return []*message{held, m}
	}
	return []*message{m}
}
