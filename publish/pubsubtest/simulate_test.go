package pubsubtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// simulation runs random steps against a backlog and its model. Nothing in it
// depends on goroutines or a clock: a seed repeats it.
type simulation struct {
	rng     *rand.Rand
	planted settings // what the backlog works by: the model's, with a bug or none
	b       *backlog
	m       *model
	now     int64
	id      uint64
	streams []*consumer
	kept    []*message // by the topic
	times   map[*message]int32
}

// simulate draws settings from the seed, lets plant put a bug into those of the
// backlog, and returns the first difference from the model.
func simulate(seed uint64, plant func(*settings)) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	set := settings{
		ordered: rng.IntN(4) > 0, onAck: AckPolicy(seed % 2), onEnd: EndedPolicy(seed / 2 % 2), backoff: rng.Int64N(2) * 1e9,
		window: 20e9 + rng.Int64N(400e9), retainAcked: rng.IntN(2) == 0, maxAttempts: rng.IntN(4), copies: 1 + rng.IntN(2),
	}
	if rng.IntN(2) == 0 {
		set.topicWindow = 10e9 + rng.Int64N(600e9)
	}
	s := &simulation{
		rng: rng, planted: set, now: 1e9, times: map[*message]int32{},
		m: &model{settings: set, forwards: true, keys: map[string][]*truth{}, live: map[ackID]*truth{}, bound: map[string]*consumer{}},
	}
	plant(&s.planted)
	s.b = newBacklog(s.planted.ordered, &Counters{})
	s.b.onAck, s.b.onEnd = s.planted.onAck, s.planted.onEnd
	s.b.window = max(s.planted.window, s.planted.topicWindow)
	s.b.maxAttempts, s.b.copies, s.b.retainAcked = s.planted.maxAttempts, s.planted.copies, s.planted.retainAcked
	s.b.canForward = func() bool { return s.m.forwards || s.planted.anyTopic }
	s.b.backoffMin, s.b.backoffMax = s.planted.backoff, 8*s.planted.backoff
	for i := range 300 {
		if err := s.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return s.drain()
}

func (s *simulation) step() error {
	switch s.rng.IntN(11) {
	case 0, 1:
		s.publish()
	case 2, 3, 4:
		if len(s.streams) > 0 {
			if err := s.take(s.streams[s.rng.IntN(len(s.streams))]); err != nil {
				return err
			}
		}
	case 5, 6:
		ids := s.some()
		s.b.ack(ids)
		s.m.ack(ids)
	case 7:
		s.modify()
	case 8:
		s.advance(s.rng.Int64N(15e9))
	case 9:
		s.openOrEnd()
	case 10:
		s.rare()
	}
	if s.rng.IntN(10) == 0 {
		if err := s.takeAll(); err != nil {
			return err
		}
		if err := s.m.stuck(s.streams, s.now); err != nil {
			return err
		}
	}
	for _, k := range s.b.keys {
		if s.planted.forgetsOwner && k.list == nil {
			k.owner = nil
		}
		if e := k.cursor; s.planted.backoffOfKey && e != nil && e.readyAt > 0 && e.next != nil && e.next.readyAt > 0 {
			e.readyAt, k.delayedTo = min(e.readyAt, e.next.readyAt), min(k.delayedTo, e.next.readyAt)
		}
	}
	return s.m.agree(s.b, s.streams)
}

func (s *simulation) publish() {
	key := []string{"", "a", "b", "c"}[s.rng.IntN(4)]
	var msgs []*message
	for range 1 + s.rng.IntN(3) {
		s.id++
		msgs = append(msgs, &message{id: s.id, time: s.now, key: key, body: make([]byte, s.rng.IntN(100))})
		s.m.publish(msgs[len(msgs)-1])
	}
	s.b.publish(msgs)
	if s.m.topicWindow > 0 {
		s.kept = append(s.kept, msgs...)
	}
}

func (s *simulation) take(c *consumer) error {
	for _, d := range s.b.take(c, s.now, 1+s.rng.IntN(5), 1+s.rng.IntN(300), nil) {
		if s.planted.attemptOff {
			s.times[d.msg]++
			d.attempt = s.times[d.msg]
		}
		if err := s.m.deliver(c, d, s.now); err != nil {
			return err
		}
	}
	if c.maxMessages > 0 && c.messages > c.maxMessages {
		return fmt.Errorf("%d messages outstanding, limit %d", c.messages, c.maxMessages)
	}
	return nil
}

func (s *simulation) takeAll() error {
	for again := true; again; {
		before := s.b.waiting
		for _, c := range s.streams {
			if err := s.take(c); err != nil {
				return err
			}
		}
		again = s.b.waiting != before
	}
	return nil
}

// some picks up to 4 outstanding messages.
func (s *simulation) some() (ids []ackID) {
	all := make([]ackID, 0, len(s.m.live))
	for id := range s.m.live {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b ackID) int { return int(a.slot)*1000 + int(a.gen) - int(b.slot)*1000 - int(b.gen) })
	s.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if len(all) == 0 {
		return nil
	}
	return all[:1+s.rng.IntN(min(len(all), 4))]
}

func (s *simulation) modify() {
	for _, id := range s.some() {
		t := s.m.live[id]
		if t == nil {
			continue
		}
		secs := s.rng.Int32N(3) * 10
		s.dragAlong(id, secs)
		s.b.modify([]ackID{id}, s.now, secs)
		if secs == 0 {
			s.m.fail(t, s.now)
		} else {
			t.deadline = s.now + int64(secs)*1e9
		}
	}
}

// dragAlong plants the bug that a nack counts for the later messages of the key.
func (s *simulation) dragAlong(id ackID, secs int32) {
	if !s.planted.failsTogether || secs != 0 {
		return
	}
	e := s.b.leases.find(id)
	for x := e.next; e.key != nil && x != nil && x.state == leased; x = x.next {
		x.attempts++
	}
}

func (s *simulation) advance(d int64) {
	s.now += d
	s.b.expire(s.now)
	s.m.expire(s.now)
	for len(s.kept) > 0 && s.kept[0].time+s.m.topicWindow <= s.now {
		s.kept = s.kept[1:]
	}
}

// openOrEnd opens a stream or ends one, and what that one had may hold others.
func (s *simulation) openOrEnd() {
	if len(s.streams) == 0 || s.rng.IntN(2) == 0 {
		c := &consumer{leaseSecs: 10 + s.rng.Int32N(20), maxMessages: s.rng.Int64N(8), maxBytes: s.rng.Int64N(300), wake: make(chan struct{}, 1)}
		s.b.join(c)
		s.streams = append(s.streams, c)
		return
	}
	i := s.rng.IntN(len(s.streams))
	c := s.streams[i]
	if s.rng.IntN(3) == 0 {
		s.m.hold(c)
		if !s.planted.noHold {
			s.b.hold(c)
		}
		if s.planted.forgetsHeld {
			s.b.holding = min(s.b.holding, 1)
		}
	}
	s.b.leave(c)
	s.streams = slices.Delete(s.streams, i, i+1)
}

// rare does what a subscription sees seldom.
func (s *simulation) rare() {
	switch s.rng.IntN(4) {
	case 0:
		at := s.now + s.rng.Int64N(120e9) - 100e9
		s.b.seek(at+s.planted.seekOff, s.kept)
		s.m.seek(at, s.kept)
	case 1:
		s.m.forwards = !s.m.forwards
	case 2:
		acked := s.rng.IntN(2) == 0
		s.b.retain(acked || s.planted.retainAlways)
		s.m.retain(acked)
	case 3:
		s.advance(60e9)
	}
}

// drain lets all leases end and takes and acks everything: nothing may be stuck
// or left.
func (s *simulation) drain() error {
	for _, c := range s.streams {
		s.b.leave(c)
	}
	last := &consumer{leaseSecs: 600, wake: make(chan struct{}, 1)}
	s.b.join(last)
	s.b.retain(false)
	s.m.retain(false)
	for range 20 {
		s.advance(100e9)
		var ids []ackID
		for _, d := range s.b.take(last, s.now, 1000, 1<<30, nil) {
			if s.planted.attemptOff {
				d.attempt = s.times[d.msg] + 1
			}
			if err := s.m.deliver(last, d, s.now); err != nil {
				return err
			}
			ids = append(ids, d.id)
		}
		s.b.ack(ids)
		s.m.ack(ids)
	}
	b := s.b
	if len(s.m.log) != 0 || len(b.keys) != 0 || b.waiting != 0 || b.leases.count != 0 || len(b.delayed) != 0 ||
		b.log.count != 0 || b.log.first != nil || b.holding != 0 || last.messages != 0 || last.bytes != 0 {
		return fmt.Errorf("left: %d messages, %d keys, %d waiting, %d leases, %d kept, %d holding, %d outstanding",
			len(s.m.log), len(b.keys), b.waiting, b.leases.count, b.log.count, b.holding, last.messages)
	}
	return nil
}
