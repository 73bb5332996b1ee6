package sink

import (
	"cdc/schema"
)

// batch is rows of one table for one append. Of each key only the newest change
// by Position is sent; the older ones are hidden behind it and are sent only if
// it isn't, newest first. It is a pure state machine: no goroutines, clock or I/O.
type batch struct {
	arena  []byte // the rows' wire bytes
	rows   []batchRow
	heads  map[string]int // canonical key → its newest row
	order  []string       // the keys in the order they came
	keyBuf []byte
	// refused are changes that couldn't be encoded: they hide nothing.
	refused []refusal
}

// batchRow is one change of a batch.
type batchRow struct {
	change
	from, to int // in the arena
	position schema.Position
	commit   schema.Micros
	hidden   int // the next older row of the key; -1 if there is none
}

// change names one change of a message, by its number in it.
type change struct {
	in    *inbound
	index int
}

// refusal is a change that goes to the dead letter, and why.
type refusal struct {
	change
	code   string
	reason string
}

func newBatch(arena []byte) *batch {
	return &batch{arena: arena[:0], heads: make(map[string]int)}
}

// add takes in the row that was appended to the arena from from on.
func (b *batch) add(of change, c *schema.Change, from int) {
	n := len(b.rows)
	b.rows = append(b.rows, batchRow{change: of, from: from, to: len(b.arena), position: c.Position, commit: c.CommitTime, hidden: -1})
	b.keyBuf = schema.AppendKey(b.keyBuf[:0], c.Key)
	head, ok := b.heads[string(b.keyBuf)]
	switch {
	case !ok:
		key := string(b.keyBuf)
		b.heads[key] = n
		b.order = append(b.order, key)
	case b.rows[head].position.Less(c.Position):
		b.rows[n].hidden = head
		b.heads[string(b.keyBuf)] = n
	default: // it is older, or the same again: it goes behind the newer ones
		at := head
		for next := b.rows[at].hidden; next >= 0 && !b.rows[next].position.Less(c.Position); next = b.rows[at].hidden {
			at = next
		}
		b.rows[n].hidden = b.rows[at].hidden
		b.rows[at].hidden = n
	}
}

// newest returns the rows that are to be sent, one a key.
func (b *batch) newest() []int {
	rows := make([]int, len(b.order))
	for i, key := range b.order {
		rows[i] = b.heads[key]
	}
	return rows
}

// behind calls f for row and for every row that it hides.
func (b *batch) behind(row int, f func(r *batchRow)) {
	for ; row >= 0; row = b.rows[row].hidden {
		f(&b.rows[row])
	}
}

// wire appends the rows' bytes to dst.
func (b *batch) wire(dst [][]byte, rows []int) [][]byte {
	for _, r := range rows {
		dst = append(dst, b.arena[b.rows[r].from:b.rows[r].to:b.rows[r].to])
	}
	return dst
}

// count returns the number of changes in it.
func (b *batch) count() int { return len(b.rows) + len(b.refused) }
