package pubsubtest

// modify moves the deadline of each message to now + secs seconds; 0 gives it
// back (a nack).
func (b *backlog) modify(ids []ackID, now int64, secs int32) {
	for _, id := range ids {
		e := b.leases.find(id)
		switch {
		case e == nil:
			b.count.AcksStale++
		case secs == 0:
			b.count.Nacks++
			b.fail(e, now)
		default:
			b.leases.extend(e, now, secs)
		}
	}
}

// expire gives back every message whose deadline has passed, releases what has
// waited long enough and drops what is older than the retention.
func (b *backlog) expire(now int64) {
	for e := b.leases.expired(now); e != nil; e = b.leases.expired(now) {
		b.count.Expired++
		b.fail(e, now)
	}
	for d, ok := b.delayed.due(now); ok; d, ok = b.delayed.due(now) {
		if d.key != nil {
			if d.key.delayedTo == d.at { // else it was delayed anew
				d.key.delayedTo = 0
				b.place(d.key)
			}
			continue
		}
		d.e.readyAt = 0
		if d.e.state == waiting {
			b.loose.push(d.e)
			b.wakeAll()
		}
	}
	b.dropOld(now)
}

// next is when expire has something to do, or 0.
func (b *backlog) next() int64 {
	var at int64
	if e := b.leases.earliest(); e != nil {
		at = e.deadline
	}
	if len(b.delayed) > 0 && (at == 0 || b.delayed[0].at < at) {
		at = b.delayed[0].at
	}
	if old := b.oldestEnd(); old != 0 && (at == 0 || old < at) {
		at = old
	}
	return at
}

// fail ends the lease of a message that was nacked or not acked in time: it is
// forwarded as a dead letter or made deliverable again.
func (b *backlog) fail(e *entry, now int64) {
	k := e.key
	switch {
	case !b.bury(e):
		b.giveBack(e, now)
	case k != nil:
		b.popAcked(k)
	}
}

// giveBack makes a leased message deliverable again, with all later ones of its
// ordering key that were delivered, acked ones too. Of these, the ones whose own
// deadline has passed have failed as well.
func (b *backlog) giveBack(e *entry, now int64) {
	at := now + b.backoff(e.failures)
	if e.key == nil {
		b.unlease(e)
		e.state = waiting
		b.waiting++
		if at > now {
			e.readyAt = at
			b.delayed.add(delay{at: at, e: e})
			return
		}
		b.loose.push(e)
		b.wakeAll()
		return
	}
	k := e.key
	var next *entry
	for x := e; x != k.cursor; x = next {
		next = x.next
		if x.state == leased {
			if x != e && x.deadline <= now {
				b.count.Expired++
				if b.bury(x) {
					continue
				}
				x.readyAt = now + b.backoff(x.failures)
			}
			b.unlease(x)
		}
		x.state = waiting
		b.waiting++
	}
	k.cursor, k.delayedTo = e, 0
	if e.readyAt = at; at > now {
		b.delay(k, at)
	}
	b.settle(k)
}

// delay keeps a key back until its next message may be delivered.
func (b *backlog) delay(k *keyQueue, at int64) {
	if k.list != nil {
		k.list.remove(k)
	}
	if k.head == k.cursor {
		k.owner = nil
	}
	k.delayedTo = at
	b.delayed.add(delay{at: at, key: k})
}

// backoff is the delay before the next delivery of a message that failed that
// many times: exponential between the retry policy's bounds.
func (b *backlog) backoff(failures uint16) int64 {
	if failures == 0 || b.backoffMin == 0 && b.backoffMax == 0 {
		return 0
	}
	d := max(b.backoffMin, 1)
	for ; failures > 1 && d < b.backoffMax; failures-- {
		d *= 2
	}
	return min(d, b.backoffMax)
}

// forgetAttempts counts the attempts of all messages from anew.
func (b *backlog) forgetAttempts() {
	for e := b.log.first; e != nil; e = e.logNext {
		e.attempts = 0
	}
}
