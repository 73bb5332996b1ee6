package pubsubtest

import (
	"cmp"
	"fmt"
	"slices"
)

// settings are what a simulated subscription works by.
type settings struct {
	ordered       bool
	onAck         AckPolicy
	onEnd         EndedPolicy
	backoff       int64 // ns, the least; 0: redeliver at once
	window        int64 // ns
	topicWindow   int64 // ns; 0: the topic keeps nothing
	retainAcked   bool
	maxAttempts   int
	copies        int
	retainAlways  bool
	anyTopic      bool // forwards though there is no dead-letter topic
	noHold        bool // others are never held back
	seekOff       int64
	attemptOff    bool // delivery_attempt counts every delivery
	forgetsHeld   bool // a hold ends with the first message
	failsTogether bool // messages that are dragged along fail too
	forgetsOwner  bool // a key moves though messages of it are outstanding
	backoffOfKey  bool // a key's back-off is the first that one of its messages had
}

// model is the plain truth that the backlog is compared with: for each key all
// its messages, looked through one by one.
type model struct {
	settings
	forwards bool
	keys     map[string][]*truth
	log      []*truth
	live     map[ackID]*truth
	bound    map[string]*consumer // who had a key's last delivery
	dead     []deadLetter
}

type truth struct {
	m        *message
	state    entryState
	owner    *consumer
	deadline int64
	attempts int
	failures int
	readyAt  int64 // end of its back-off
	holds    bool
}

func (m *model) publish(msg *message) {
	t := &truth{m: msg}
	m.log = append(m.log, t)
	m.wait(t)
}

func (m *model) wait(t *truth) {
	t.state, t.holds, t.readyAt = waiting, false, 0
	m.keys[t.m.key] = append(m.keys[t.m.key], t)
}

func (m *model) alone(key string) bool { return key == "" || !m.ordered }

func (m *model) holding() bool {
	return slices.ContainsFunc(m.log, func(t *truth) bool { return t.holds })
}

// deliver checks one delivery to c.
func (m *model) deliver(c *consumer, d delivery, now int64) error {
	list := m.keys[d.msg.key]
	i := slices.IndexFunc(list, func(t *truth) bool { return t.m == d.msg })
	if i < 0 {
		return fmt.Errorf("message %d delivered after its end", d.msg.id)
	}
	t := list[i]
	if t.state != waiting {
		return fmt.Errorf("message %d delivered in state %d", d.msg.id, t.state)
	}
	if t.readyAt > now {
		return fmt.Errorf("message %d delivered %d ns before its back-off is over", d.msg.id, t.readyAt-now)
	}
	if int(d.attempt) != t.attempts+1 {
		return fmt.Errorf("message %d has attempt %d, want %d", d.msg.id, d.attempt, t.attempts+1)
	}
	if !m.alone(d.msg.key) {
		if err := m.inOrder(c, t, list[:i]); err != nil {
			return err
		}
	}
	if _, again := m.live[d.id]; again {
		return fmt.Errorf("ack id %v used twice", d.id)
	}
	t.state, t.owner, t.deadline, t.readyAt = leased, c, now+int64(c.leaseSecs)*1e9, 0
	m.live[d.id] = t
	return nil
}

// inOrder checks that a message of a key may go to c, given those before it.
func (m *model) inOrder(c *consumer, t *truth, earlier []*truth) error {
	if m.holding() {
		return fmt.Errorf("message %d delivered though another key holds", t.m.id)
	}
	for _, before := range earlier {
		switch {
		case before.state == waiting:
			return fmt.Errorf("message %d delivered before %d", t.m.id, before.m.id)
		case before.state == leased && before.owner != c && before.owner.ended && m.onEnd == KeyHeld:
			return fmt.Errorf("message %d delivered though its key is held", t.m.id)
		}
	}
	if owner := m.owner(t.m.key); owner != nil && owner != c {
		return fmt.Errorf("message %d delivered to another stream than those before it", t.m.id)
	}
	m.bound[t.m.key] = c
	return nil
}

// owner is the open stream that a key is bound to: the one that had its last
// delivery, while anything of the key is outstanding on any stream.
func (m *model) owner(key string) *consumer {
	c := m.bound[key]
	if c == nil || c.ended || !slices.ContainsFunc(m.keys[key], func(t *truth) bool { return t.state == leased || t.state == acked }) {
		return nil
	}
	return c
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
		if m.alone(t.m.key) {
			m.unqueue(t)
			m.finish(t)
		} else {
			m.popAcked(t.m.key)
		}
	}
	for i, t := range batch {
		if t.state != acking {
			continue
		}
		if m.onAck == AckDropped {
			t.state = leased
			m.live[ids[i]] = t
		} else {
			t.state, t.holds = acked, false
		}
	}
}

func (m *model) popAcked(key string) {
	for list := m.keys[key]; !m.alone(key) && len(list) > 0 && (list[0].state == acking || list[0].state == acked); list = m.keys[key] {
		first := list[0]
		m.unqueue(first)
		m.finish(first)
	}
}

func (m *model) unqueue(t *truth) {
	m.keys[t.m.key] = without(m.keys[t.m.key], t)
}

// finish is the end of a message: it is retained or gone.
func (m *model) finish(t *truth) {
	t.holds = false
	if t.state = retained; !m.retainAcked {
		t.state = gone
		m.log = without(m.log, t)
	}
}

func without(list []*truth, t *truth) []*truth {
	return slices.DeleteFunc(list, func(o *truth) bool { return o == t })
}

// fail is a nack or a deadline that passed.
func (m *model) fail(t *truth, now int64) {
	if !m.bury(t) {
		m.giveBack(t, now)
	}
	m.popAcked(t.m.key)
	for id, t := range m.live {
		if t.state != leased {
			delete(m.live, id)
		}
	}
}

// bury counts a failure and reports whether the message has left as a dead letter.
func (m *model) bury(t *truth) bool {
	t.failures++
	if m.maxAttempts == 0 || !m.forwards {
		return false
	}
	if t.attempts++; t.attempts < m.maxAttempts {
		return false
	}
	m.dead = append(m.dead, deadLetter{t.m, t.attempts})
	if t.attempts < m.maxAttempts+m.copies-1 {
		return false
	}
	m.unqueue(t)
	m.finish(t)
	return true
}

func (m *model) giveBack(t *truth, now int64) {
	again := []*truth{t}
	if !m.alone(t.m.key) {
		list := m.keys[t.m.key]
		again = slices.Clone(list[slices.Index(list, t):])
	}
	for _, x := range again {
		failed := x == t || x.state == leased && x.deadline <= now
		if x != t && failed && m.bury(x) {
			continue
		}
		if failed {
			x.readyAt = now + m.wantBackoff(x.failures)
		}
		x.state, x.holds = waiting, false
	}
}

// wantBackoff doubles up to eight times the least.
func (m *model) wantBackoff(failures int) int64 { return m.backoff << min(failures-1, 3) }

func (m *model) expire(now int64) {
	for _, t := range slices.Clone(m.log) {
		if t.state == leased && t.deadline <= now {
			m.fail(t, now)
		}
	}
	for len(m.log) > 0 && m.log[0].m.time+max(m.window, m.topicWindow) <= now {
		m.drop(m.log[0])
	}
}

func (m *model) drop(t *truth) {
	queued := t.state != retained
	t.state, t.holds = gone, false
	m.log = without(m.log, t)
	if queued {
		m.unqueue(t)
		m.popAcked(t.m.key)
	}
	for id, l := range m.live {
		if l == t {
			delete(m.live, id)
		}
	}
}

func (m *model) retain(acked bool) {
	m.retainAcked = acked
	for _, t := range slices.Clone(m.log) {
		if !acked && t.state == retained {
			m.drop(t)
		}
	}
}

// seek sorts all messages that there are into acked and unacked ones.
func (m *model) seek(at int64, kept []*message) {
	clear(m.live)
	clear(m.keys)
	for _, msg := range kept {
		if !slices.ContainsFunc(m.log, func(t *truth) bool { return t.m == msg }) {
			m.log = append(m.log, &truth{m: msg})
		}
	}
	slices.SortFunc(m.log, func(a, b *truth) int { return cmp.Compare(a.m.id, b.m.id) })
	for _, t := range slices.Clone(m.log) {
		if t.m.time >= at {
			m.wait(t)
		} else {
			m.finish(t)
		}
	}
}

func (m *model) hold(c *consumer) {
	for _, t := range m.live {
		if t.owner == c && !m.alone(t.m.key) {
			t.holds = true
		}
	}
}

// stuck finds a message that waits though a stream could have it.
func (m *model) stuck(streams []*consumer, now int64) error {
	room := slices.ContainsFunc(streams, (*consumer).hasRoom)
	holding := m.holding()
	for key, list := range m.keys {
		if holding && !m.alone(key) {
			continue
		}
		owner, held := m.owner(key), false
		for _, t := range list {
			if t.state == leased && t.owner.ended && m.onEnd == KeyHeld && !m.alone(key) {
				held = true
			}
			if t.state == waiting && !held && t.readyAt <= now && (owner == nil && room || owner != nil && owner.hasRoom()) {
				return fmt.Errorf("message %d of key %q is stuck", t.m.id, key)
			}
			if t.state == waiting && !m.alone(key) {
				break
			}
		}
	}
	return nil
}

// agree compares what both sides hold after a step.
func (m *model) agree(b *backlog, streams []*consumer) error {
	wait := 0
	outstanding := map[*consumer]int64{}
	for _, t := range m.log {
		switch t.state {
		case waiting:
			wait++
		case leased:
			outstanding[t.owner]++
		}
	}
	if b.leases.count != len(m.live) || b.waiting != wait || b.log.count != len(m.log) {
		return fmt.Errorf("%d leases, %d waiting, %d in all; want %d, %d, %d", b.leases.count, b.waiting, b.log.count, len(m.live), wait, len(m.log))
	}
	for i, c := range streams {
		if c.messages != outstanding[c] {
			return fmt.Errorf("stream %d has %d outstanding, want %d", i, c.messages, outstanding[c])
		}
	}
	order := func(x, y deadLetter) int { return cmp.Compare(x.msg.id, y.msg.id) }
	slices.SortStableFunc(b.dead, order)
	slices.SortStableFunc(m.dead, order)
	if !slices.Equal(b.dead, m.dead) {
		return fmt.Errorf("dead letters %v, want %v", b.dead, m.dead)
	}
	b.dead, m.dead = nil, nil
	return nil
}
