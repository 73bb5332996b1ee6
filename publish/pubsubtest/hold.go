package pubsubtest

// hold keeps all ordering keys of the subscription back until the messages with
// a key that the consumer has outstanding are acked, given back or expired. It
// looks at every lease: it serves a fault only.
func (b *backlog) hold(c *consumer) {
	for _, slot := range b.leases.slots {
		if e := slot.e; e != nil && e.owner == c && e.key != nil && !e.holds {
			e.holds = true
			b.holding++
		}
	}
}

// release ends the hold of a message whose lease is over.
func (b *backlog) release(e *entry) {
	e.holds = false
	if b.holding--; b.holding == 0 {
		b.wakeAll()
	}
}
