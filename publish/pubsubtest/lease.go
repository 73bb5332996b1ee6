package pubsubtest

import "math/bits"

// maxLeaseSeconds is the longest ack deadline that one call may ask for.
const maxLeaseSeconds = 600

// leases holds the outstanding messages of a subscription. A lease is found by
// slot and generation, which are what an ack id says; leases of the same length
// stand in one list in the order of their deadlines, because time only moves
// on, so the next one to expire is the head of at most 601 lists and nothing
// costs more with more leases.
type leases struct {
	slots  []slot
	free   []uint32
	bySecs [maxLeaseSeconds + 1]leaseList
	active [(maxLeaseSeconds + 64) / 64]uint64 // which lists are not empty
	count  int
}

type slot struct {
	e   *entry
	gen uint32 // grows with each use: an old ack id never matches again
}

type leaseList struct{ first, last *entry }

// add leases e until now + secs seconds under a new slot and generation.
func (l *leases) add(e *entry, now int64, secs int32) {
	if n := len(l.free); n > 0 {
		e.slot = l.free[n-1]
		l.free = l.free[:n-1]
	} else {
		e.slot = uint32(len(l.slots))
		l.slots = append(l.slots, slot{})
	}
	l.slots[e.slot].e = e
	l.slots[e.slot].gen++
	l.count++
	l.link(e, now, secs)
}

// remove ends the lease of e; its ack id becomes stale.
func (l *leases) remove(e *entry) {
	l.unlink(e)
	l.slots[e.slot].e = nil
	l.free = append(l.free, e.slot)
	l.count--
}

// extend moves the deadline of e to now + secs seconds.
func (l *leases) extend(e *entry, now int64, secs int32) {
	l.unlink(e)
	l.link(e, now, secs)
}

// find returns the leased entry that the ack id names, or nil if it is stale.
func (l *leases) find(id ackID) *entry {
	if int(id.slot) >= len(l.slots) || l.slots[id.slot].gen != id.gen {
		return nil
	}
	return l.slots[id.slot].e
}

// expired returns a lease whose deadline has passed, or nil.
func (l *leases) expired(now int64) *entry {
	if e := l.earliest(); e != nil && e.deadline <= now {
		return e
	}
	return nil
}

// earliest returns the lease that expires next, or nil.
func (l *leases) earliest() *entry {
	var best *entry
	for w, word := range l.active {
		for ; word != 0; word &= word - 1 {
			e := l.bySecs[w*64+bits.TrailingZeros64(word)].first
			if best == nil || e.deadline < best.deadline {
				best = e
			}
		}
	}
	return best
}

func (l *leases) link(e *entry, now int64, secs int32) {
	e.secs = uint16(secs)
	e.deadline = now + int64(secs)*1e9
	list := &l.bySecs[secs]
	e.leasePrev, e.leaseNext = list.last, nil
	if list.last != nil {
		list.last.leaseNext = e
	} else {
		list.first = e
		l.active[secs/64] |= 1 << (secs % 64)
	}
	list.last = e
}

func (l *leases) unlink(e *entry) {
	list := &l.bySecs[e.secs]
	if e.leasePrev != nil {
		e.leasePrev.leaseNext = e.leaseNext
	} else {
		list.first = e.leaseNext
	}
	if e.leaseNext != nil {
		e.leaseNext.leasePrev = e.leasePrev
	} else {
		list.last = e.leasePrev
	}
	if list.first == nil {
		l.active[e.secs/64] &^= 1 << (e.secs % 64)
	}
	e.leasePrev, e.leaseNext = nil, nil
}
