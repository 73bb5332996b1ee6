package pubsubtest

// messageLog holds the messages that a subscription keeps, in storing order and
// so in the order in which their retention ends: unacked ones, and acked ones if
// they are retained.
type messageLog struct {
	first, last *entry
	count       int
}

func (l *messageLog) push(e *entry) {
	e.logPrev, e.logNext = l.last, nil
	if l.last != nil {
		l.last.logNext = e
	} else {
		l.first = e
	}
	l.last = e
	l.count++
}

func (l *messageLog) remove(e *entry) {
	if e.logPrev != nil {
		e.logPrev.logNext = e.logNext
	} else {
		l.first = e.logNext
	}
	if e.logNext != nil {
		e.logNext.logPrev = e.logPrev
	} else {
		l.last = e.logPrev
	}
	e.logPrev, e.logNext = nil, nil
	l.count--
}

// finish is the end of a message that was acked or forwarded; it is in no queue
// and has no lease.
func (b *backlog) finish(e *entry) {
	e.key = nil
	if b.retainAcked {
		e.state = retained
		return
	}
	b.log.remove(e)
	e.state = gone
}

// detach ends the lease of a message and takes it out of its queue. Its key is to
// be settled afterwards.
func (b *backlog) detach(e *entry) {
	switch e.state {
	case leased:
		b.unlease(e)
	case waiting:
		b.waiting--
	}
	switch {
	case e.key != nil:
		e.key.remove(e)
	case e.state == waiting && e.readyAt == 0:
		b.loose.remove(e)
	}
}

// dropOld forgets the messages whose retention is over, acked or not.
func (b *backlog) dropOld(now int64) {
	for b.window > 0 && b.log.first != nil && b.log.first.msg.time+b.window <= now {
		b.drop(b.log.first)
	}
}

func (b *backlog) drop(e *entry) {
	if k := e.key; e.state != retained {
		if e.state != acked {
			b.count.Dropped++
		}
		b.detach(e)
		if k != nil {
			b.popAcked(k)
		}
	}
	b.log.remove(e)
	e.state, e.key = gone, nil
}

// oldestEnd is when the retention of the oldest message is over, or 0.
func (b *backlog) oldestEnd() int64 {
	if b.window == 0 || b.log.first == nil {
		return 0
	}
	return b.log.first.msg.time + b.window
}

// retain says whether acked messages are kept from now on; if not, those kept so
// far are forgotten.
func (b *backlog) retain(acked bool) {
	forget := b.retainAcked && !acked
	b.retainAcked = acked
	for e := b.log.first; forget && e != nil; {
		next := e.logNext
		if e.state == retained {
			b.drop(e)
		}
		e = next
	}
}
