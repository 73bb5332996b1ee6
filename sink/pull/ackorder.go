package pull

import "slices"

// Order decides which ack ids go into the next Acknowledge request. A message is
// acked when it is done and every earlier unacked message of the same ordering
// key is done too; ids of one key go out in the order in which Pub/Sub stored
// the messages; nothing holds across keys. One request is in flight at a time,
// so that two requests can't overtake each other. It is a pure state machine:
// no goroutines, no clock, no I/O, not safe for concurrent use. The zero value
// is ready.
//
// Why the order matters: an ack that arrives before an earlier message's of its
// key may be dropped, and a redelivered message drags all later ones of its key
// behind it, acked or not (https://cloud.google.com/pubsub/docs/ordering).
type Order struct {
	byID  map[string]*Delivery
	keys  map[string]*keyOrder
	ready []*keyOrder // keys whose first message is done, in the order they became so
	free  []*Delivery // done messages without a key
}

// Delivery is one outstanding message in an Order.
type Delivery struct {
	id        string
	ackID     string // of the newest delivery
	sent      string // the ack id in the request in flight
	published int64
	key       *keyOrder // nil without ordering key
	state     deliveryState
	message   *Message
	lease     lease
}

type deliveryState uint8

const (
	unknown deliveryState = iota // not received yet
	held
	done
	sending
	gone
)

// keyOrder is the outstanding messages of one key, in publish order. It goes
// away with the last of them.
type keyOrder struct {
	name    string
	waiting []*Delivery
	queued  bool // it is in Order.ready
}

// Received adds d, a message with an ordering key (empty: none), its id and ack
// id, and the time at which Pub/Sub stored it in any unit. If the message is
// outstanding already, its ack id is replaced and the outstanding Delivery is
// returned with again set: d is forgotten, and if that message is done it isn't
// handled twice.
//
// The place in the key's order is by the time of publishing: a first delivery
// comes last, a redelivery takes its old place, so that the later messages of
// the key wait for it; and a message that was acked and comes again, because
// that ack didn't hold, takes the place before those that are outstanding still.
// Messages of one request may have one time: among them the newest delivery
// counts, since Pub/Sub repeats everything behind a message that it repeats.
func (o *Order) Received(d *Delivery, key, id, ackID string, published int64) (outstanding *Delivery, again bool) {
	if old := o.byID[id]; old != nil {
		old.ackID = ackID
		if k := old.key; k != nil {
			i := slices.Index(k.waiting, old)
			if i+1 < len(k.waiting) && k.waiting[i+1].published == published {
				k.waiting = slices.Delete(k.waiting, i, i+1)
				k.insert(old)
				o.queue(old)
			}
		}
		return old, true
	}
	if o.byID == nil {
		o.byID, o.keys = make(map[string]*Delivery), make(map[string]*keyOrder)
	}
	d.id, d.ackID, d.published, d.state = id, ackID, published, held
	o.byID[id] = d
	if key == "" {
		return d, false
	}
	k := o.keys[key]
	if k == nil {
		k = &keyOrder{name: key}
		o.keys[key] = k
	}
	d.key = k
	k.insert(d)
	return d, false
}

// insert puts d behind everything that was published before or with it.
func (k *keyOrder) insert(d *Delivery) {
	at := len(k.waiting)
	for at > 0 && k.waiting[at-1].published > d.published {
		at--
	}
	k.waiting = slices.Insert(k.waiting, at, d)
}

// Done says that everything in d is written or dead-lettered. It does nothing
// if d is done or gone.
func (o *Order) Done(d *Delivery) {
	if d.state != held {
		return
	}
	d.state = done
	o.queue(d)
}

// queue makes d's ack available if its turn has come.
func (o *Order) queue(d *Delivery) {
	k := d.key
	switch {
	case k == nil:
		o.free = append(o.free, d)
	case !k.queued && len(k.waiting) > 0 && k.waiting[0].state == done:
		k.queued = true
		o.ready = append(o.ready, k)
	}
}

// Take returns up to maxIDs messages, with up to maxBytes of ack ids, whose acks
// go into the next request, in order; AckID returns their ids. It must not be
// called again before Acked or Failed has got the batch.
func (o *Order) Take(maxIDs, maxBytes int) (batch []*Delivery) {
	take := func(d *Delivery) bool {
		if len(batch) == maxIDs || len(d.ackID) > maxBytes && len(batch) > 0 {
			return false
		}
		maxBytes -= len(d.ackID)
		d.state, d.sent = sending, d.ackID
		batch = append(batch, d)
		return true
	}
	for len(o.free) > 0 {
		if d := o.free[0]; d.state == done && !take(d) { // else given back meanwhile
			return batch
		}
		o.free = shift(o.free)
	}
	for len(o.ready) > 0 {
		k := o.ready[0]
		for _, d := range k.waiting {
			if d.state != done {
				break
			}
			if !take(d) {
				return batch // the rest of this key stays first in line
			}
		}
		k.queued = false
		o.ready = shift(o.ready)
	}
	return batch
}

// AckID returns the id to be sent for a message that Take returned.
func (d *Delivery) AckID() string { return d.sent }

// Acked says that the request with batch was answered with OK. The messages are
// forgotten, except one that was delivered again meanwhile: the ack of its older
// id may not hold, so its newer id is acked too. It returns how many were forgotten.
func (o *Order) Acked(batch []*Delivery) (forgotten int) {
	for _, d := range batch {
		if d.state != sending {
			continue
		}
		if d.sent == d.ackID {
			o.forget(d)
			forgotten++
		} else {
			d.state = done
		}
	}
	o.requeue(batch)
	return forgotten
}

// Failed says that the request with batch failed or that its answer is unknown:
// the same messages will be acked again.
func (o *Order) Failed(batch []*Delivery) {
	for _, d := range batch {
		if d.state == sending {
			d.state = done
		}
	}
	o.requeue(batch)
}

func (o *Order) requeue(batch []*Delivery) {
	for _, d := range batch {
		if d.key != nil || d.state == done {
			o.queue(d)
		}
	}
}

func (o *Order) forget(d *Delivery) {
	d.state = gone
	delete(o.byID, d.id)
	k := d.key
	if k == nil {
		return
	}
	if i := slices.Index(k.waiting, d); i == 0 {
		k.waiting = shift(k.waiting)
	} else if i > 0 {
		k.waiting = slices.Delete(k.waiting, i, i+1)
	}
	if len(k.waiting) == 0 {
		delete(o.keys, k.name)
	}
}

// GiveBack forgets d and every later message of its key and returns them in
// order: they must be given back to Pub/Sub together. It returns nil if d isn't
// outstanding or its ack is in flight.
func (o *Order) GiveBack(d *Delivery) []*Delivery {
	if d.state != held && d.state != done {
		return nil
	}
	back := []*Delivery{d}
	if k := d.key; k != nil {
		back = slices.Clone(k.waiting[slices.Index(k.waiting, d):])
	}
	back = slices.DeleteFunc(back, func(d *Delivery) bool { return d.state == sending })
	for _, d := range back {
		o.forget(d)
	}
	return back
}

// Outstanding returns the number of messages that aren't acked.
func (o *Order) Outstanding() int { return len(o.byID) }

// All calls f for every outstanding message, in no order.
func (o *Order) All(f func(d *Delivery)) {
	for _, d := range o.byID {
		f(d)
	}
}

// shift takes the first element off and lets the array go when it is empty.
func shift[T any](s []T) []T {
	var zero T
	s[0] = zero
	if len(s) == 1 {
		return s[:0:0]
	}
	return s[1:]
}
