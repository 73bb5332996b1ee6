package schematest

import "cdc/schema"

// Order checks promise 2: the first occurrences of a key's changes are stored in
// commit order, without a gap; copies may follow. The zero value is ready. It
// isn't safe for concurrent use.
//
// Tell it each change that the source committed (Commit, in commit order) and
// each one that was stored (Add, in storing order), in any interleaving in which
// a change is committed before it is stored. Without any Commit it can't see
// gaps, but it still sees a Position that steps back. A key is any text that is
// the same for the same row, such as the ordering key.
type Order struct {
	OrderCounts
	findings
	keys      map[string]*keyOrder
	committed bool
	decoder   schema.Decoder
}

// OrderCounts is what an Order has counted.
type OrderCounts struct {
	Stored     int // first occurrences
	Copies     int
	OutOfOrder int // stored after a later change of its key
	Gaps       int // stored while an earlier change of its key wasn't
	Unknown    int // stored but never committed
	Missing    int // committed but not stored when End was called
}

type keyOrder struct {
	expected []schema.Position        // in commit order
	index    map[schema.Position]int  // of expected
	seen     map[schema.Position]bool // stored
	next     int                      // all of expected before it are stored
	highest  schema.Position          // of the stored ones
}

func (o *Order) key(key string) *keyOrder {
	k := o.keys[key]
	if k == nil {
		if o.keys == nil {
			o.keys = make(map[string]*keyOrder)
		}
		k = &keyOrder{index: make(map[schema.Position]int), seen: make(map[schema.Position]bool)}
		o.keys[key] = k
	}
	return k
}

// Commit says that the source committed a change of the key.
func (o *Order) Commit(key string, p schema.Position) {
	o.committed = true
	k := o.key(key)
	k.index[p] = len(k.expected)
	k.expected = append(k.expected, p)
}

// Add says that a change of the key was stored.
func (o *Order) Add(key string, p schema.Position) {
	k := o.key(key)
	if k.seen[p] {
		o.Copies++
		return
	}
	o.Stored++
	k.seen[p] = true
	if p.Less(k.highest) {
		o.OutOfOrder++
		o.add("out of order: %s at %s stored after %s", KeyName(key), p, k.highest)
	} else {
		k.highest = p
	}
	if !o.committed {
		return
	}
	switch i, ok := k.index[p]; {
	case !ok:
		o.Unknown++
		o.add("unknown: %s at %s was never committed", KeyName(key), p)
	case i > k.next:
		o.Gaps++
		o.add("gap: %s at %s stored before %s", KeyName(key), p, k.expected[k.next])
	}
	for k.next < len(k.expected) && k.seen[k.expected[k.next]] {
		k.next++
	}
}

// Message says that a message was stored: each of its changes under its row's
// Key. Control messages, outbox messages and requests are passed over.
func (o *Order) Message(m *schema.Message) error {
	switch m.Attributes.Op {
	case schema.ControlOp, schema.LogicalOp, schema.RequestOp:
		return nil
	}
	if err := o.decoder.Changes(&m.Attributes, m.Data); err != nil {
		return err
	}
	var c schema.Change
	for o.decoder.Next(&c) {
		o.Add(Key(c.Table, c.Key), c.Position)
	}
	return o.decoder.Err()
}

// End says that nothing more will be stored, counts what is missing, and
// returns all counts.
func (o *Order) End() OrderCounts {
	o.Missing = 0
	for key, k := range o.keys {
		for _, p := range k.expected {
			if !k.seen[p] {
				o.Missing++
				o.add("missing: %s at %s was never stored", KeyName(key), p)
			}
		}
	}
	return o.OrderCounts
}

// OK reports whether the promise was kept so far.
func (c OrderCounts) OK() bool {
	return c.OutOfOrder == 0 && c.Gaps == 0 && c.Unknown == 0 && c.Missing == 0
}
