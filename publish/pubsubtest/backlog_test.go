package pubsubtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// model is the plain truth that the backlog is compared with: for each key all
// its messages, looked through one by one.
type model struct {
	ordered bool
	onAck   AckPolicy
	onEnd   EndedPolicy
	keys    map[string][]*truth
	live    map[ackID]*truth
}

type truth struct {
	m        *message
	state    entryState
	owner    *consumer
	deadline int64
}

func (m *model) publish(msg *message) { m.keys[msg.key] = append(m.keys[msg.key], &truth{m: msg}) }

// deliver checks one delivery to c.
func (m *model) deliver(c *consumer, d delivery, now int64) error {
	list := m.keys[d.msg.key]
	i := slices.IndexFunc(list, func(t *truth) bool { return t.m == d.msg })
	if i < 0 {
		return fmt.Errorf("message %d delivered after it was acked", d.msg.id)
	}
	t := list[i]
	if t.state != waiting {
		return fmt.Errorf("message %d delivered in state %d", d.msg.id, t.state)
	}
	if d.msg.key != "" && m.ordered {
		for _, before := range list[:i] {
			if before.state == waiting {
				return fmt.Errorf("message %d delivered before %d", d.msg.id, before.m.id)
			}
			if before.state == leased && before.owner != c && !before.owner.ended {
				return fmt.Errorf("message %d delivered to another stream than %d", d.msg.id, before.m.id)
			}
			if before.state == leased && before.owner != c && m.onEnd == KeyHeld {
				return fmt.Errorf("message %d delivered though its key is held", d.msg.id)
			}
		}
	}
	if _, again := m.live[d.id]; again {
		return fmt.Errorf("ack id %v used twice", d.id)
	}
	t.state, t.owner, t.deadline = leased, c, now+int64(c.leaseSecs)*1e9
	m.live[d.id] = t
	return nil
}

func (m *model) ack(ids []ackID) {
	var batch []*truth
	for _, id := range ids {
		if t := m.live[id]; t != nil && t.state == leased {
			t.state = acking
			batch = append(batch, t)
		}
		delete(m.live, id)
	}
	for _, t := range batch {
		list := m.keys[t.m.key]
		if !m.ordered || t.m.key == "" {
			t.state = gone
			m.keys[t.m.key] = slices.DeleteFunc(list, func(o *truth) bool { return o == t })
			continue
		}
		for len(list) > 0 && (list[0].state == acking || list[0].state == acked) {
			list[0].state = gone
			list = list[1:]
		}
		m.keys[t.m.key] = list
	}
	for i, t := range batch {
		if t.state != acking {
			continue
		}
		if m.onAck == AckDropped {
			t.state = leased
			m.live[ids[i]] = t
		} else {
			t.state = acked
		}
	}
}

func (m *model) giveBack(t *truth) {
	if !m.ordered || t.m.key == "" {
		t.state = waiting
	} else {
		list := m.keys[t.m.key]
		for _, later := range list[slices.Index(list, t):] {
			later.state = waiting
		}
	}
	for id, t := range m.live {
		if t.state != leased {
			delete(m.live, id)
		}
	}
}

func (m *model) expire(now int64) {
	for _, list := range m.keys {
		for _, t := range list {
			if t.state == leased && t.deadline <= now {
				m.giveBack(t)
			}
		}
	}
}

// stuck finds a message that waits though a stream could have it.
func (m *model) stuck(streams []*consumer) error {
	room := slices.ContainsFunc(streams, (*consumer).hasRoom)
	for key, list := range m.keys {
		var owner *consumer
		held := false
		for _, t := range list {
			alone := key == "" || !m.ordered
			if t.state == leased && !alone {
				if !t.owner.ended {
					owner = t.owner
				} else if m.onEnd == KeyHeld {
					held = true
				}
			}
			if t.state == waiting && !held && (owner == nil && room || owner != nil && owner.hasRoom()) {
				return fmt.Errorf("message %d of key %q is stuck", t.m.id, key)
			}
			if t.state == waiting && !alone {
				break
			}
		}
	}
	return nil
}

func (m *model) left() (n int) {
	for _, list := range m.keys {
		n += len(list)
	}
	return n
}

// simulate runs random steps against a backlog and the model and returns the
// first difference.
func simulate(seed uint64, onAck, modelOnAck AckPolicy, onEnd, modelOnEnd EndedPolicy) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	ordered := rng.IntN(4) > 0
	b := newBacklog(ordered, &Counters{})
	b.onAck, b.onEnd = onAck, onEnd
	if rng.IntN(2) == 0 {
		b.backoffMin, b.backoffMax = 1e9, 8e9
	}
	m := &model{ordered: ordered, onAck: modelOnAck, onEnd: modelOnEnd, keys: map[string][]*truth{}, live: map[ackID]*truth{}}
	var now int64 = 1e9
	var id uint64
	var streams []*consumer
	take := func(c *consumer) error {
		for _, d := range b.take(c, now, 1+rng.IntN(5), 1+rng.IntN(300), nil) {
			if err := m.deliver(c, d, now); err != nil {
				return err
			}
		}
		if c.maxMessages > 0 && c.messages > c.maxMessages {
			return fmt.Errorf("%d messages outstanding, limit %d", c.messages, c.maxMessages)
		}
		return nil
	}
	some := func() (ids []ackID) {
		all := make([]ackID, 0, len(m.live))
		for id := range m.live {
			all = append(all, id)
		}
		slices.SortFunc(all, func(a, b ackID) int { return int(a.slot)*1000 + int(a.gen) - int(b.slot)*1000 - int(b.gen) })
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if len(all) == 0 {
			return nil
		}
		return all[:1+rng.IntN(min(len(all), 4))]
	}
	for range 300 {
		switch rng.IntN(8) {
		case 0, 1:
			key := []string{"", "a", "b", "c"}[rng.IntN(4)]
			var msgs []*message
			for range 1 + rng.IntN(3) {
				id++
				msgs = append(msgs, &message{id: id, key: key, body: make([]byte, rng.IntN(100))})
				m.publish(msgs[len(msgs)-1])
			}
			b.publish(msgs)
		case 2, 3:
			if len(streams) == 0 {
				continue
			}
			if err := take(streams[rng.IntN(len(streams))]); err != nil {
				return err
			}
		case 4:
			ids := some()
			b.ack(ids)
			m.ack(ids)
		case 5:
			for _, id := range some() {
				if t := m.live[id]; t != nil {
					secs := rng.Int32N(3) * 10
					b.modify([]ackID{id}, now, secs)
					if secs == 0 {
						m.giveBack(t)
					} else {
						t.deadline = now + int64(secs)*1e9
					}
				}
			}
		case 6:
			now += rng.Int64N(15e9)
			b.expire(now)
			m.expire(now)
		case 7:
			if len(streams) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(streams))
				b.leave(streams[i])
				streams = slices.Delete(streams, i, i+1)
				continue
			}
			c := &consumer{leaseSecs: 10 + rng.Int32N(20), maxMessages: rng.Int64N(8), maxBytes: rng.Int64N(300), wake: make(chan struct{}, 1)}
			b.join(c)
			streams = append(streams, c)
		}
		if rng.IntN(10) == 0 && b.backoffMax == 0 {
			for again := true; again; {
				before := b.waiting
				for _, c := range streams {
					if err := take(c); err != nil {
						return err
					}
				}
				again = b.waiting != before
			}
			if err := m.stuck(streams); err != nil {
				return err
			}
		}
		if b.leases.count != len(m.live) {
			return fmt.Errorf("%d leases, want %d", b.leases.count, len(m.live))
		}
	}
	return drainAll(b, m, streams, now)
}

// drainAll lets all leases end and takes and acks everything: nothing may be
// stuck.
func drainAll(b *backlog, m *model, streams []*consumer, now int64) error {
	for _, c := range streams {
		b.leave(c)
	}
	last := &consumer{leaseSecs: 600, wake: make(chan struct{}, 1)}
	b.join(last)
	for range 100 {
		now += 100e9
		b.expire(now)
		m.expire(now)
		var ids []ackID
		for _, d := range b.take(last, now, 1000, 1<<30, nil) {
			if err := m.deliver(last, d, now); err != nil {
				return err
			}
			ids = append(ids, d.id)
		}
		b.ack(ids)
		m.ack(ids)
	}
	if m.left() != 0 || len(b.keys) != 0 || b.waiting != 0 || b.leases.count != 0 || len(b.delayed) != 0 || last.messages != 0 || last.bytes != 0 {
		return fmt.Errorf("left: %d messages, %d keys, %d waiting, %d leases, %d outstanding", m.left(), len(b.keys), b.waiting, b.leases.count, last.messages)
	}
	return nil
}

func TestBacklogAgainstModel(t *testing.T) {
	for seed := range uint64(3_000) {
		onAck, onEnd := AckPolicy(seed%2), EndedPolicy(seed/2%2)
		if err := simulate(seed, onAck, onAck, onEnd, onEnd); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestModelFindsPlantedBugs: a backlog that works by another rule is found.
func TestModelFindsPlantedBugs(t *testing.T) {
	found := func(run func(seed uint64) error) bool {
		for seed := range uint64(200) {
			if run(seed) != nil {
				return true
			}
		}
		return false
	}
	if !found(func(seed uint64) error { return simulate(seed, AckDeferred, AckDropped, KeyReleased, KeyReleased) }) {
		t.Error("acks that hold where they should be dropped are not found")
	}
	if !found(func(seed uint64) error { return simulate(seed, AckDropped, AckDeferred, KeyReleased, KeyReleased) }) {
		t.Error("acks that are dropped where they should hold are not found")
	}
	if !found(func(seed uint64) error { return simulate(seed, AckDeferred, AckDeferred, KeyReleased, KeyHeld) }) {
		t.Error("keys that are released where they should be held are not found")
	}
}

// TestDrainedKeysCostNothing: after many keys nothing of them is left.
func TestDrainedKeysCostNothing(t *testing.T) {
	b := newBacklog(true, &Counters{})
	c := &consumer{leaseSecs: 60, wake: make(chan struct{}, 1)}
	b.join(c)
	const keys = 200_000
	for i := range keys {
		b.publish([]*message{{id: uint64(i), key: fmt.Sprint(i)}})
		if i%100 != 99 {
			continue
		}
		var ids []ackID
		for _, d := range b.take(c, int64(i), 1000, 1<<30, nil) {
			ids = append(ids, d.id)
		}
		b.ack(ids)
	}
	if len(b.keys) != 0 || b.leases.count != 0 || b.next() != 0 || len(b.leases.slots) > 100 || b.count.Acks != keys {
		t.Errorf("left: %d keys, %d leases, %d slots; %d acks", len(b.keys), b.leases.count, len(b.leases.slots), b.count.Acks)
	}
}
