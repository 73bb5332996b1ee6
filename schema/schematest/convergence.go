package schematest

import (
	"crypto/sha256"

	"cdc/schema"
)

// Convergence checks promise 3: whatever is repeated, late or reordered, the
// newest Position of each key wins, and what is left is the source's state. The
// zero value is ready. It isn't safe for concurrent use.
//
// Give it every write in any order (Add, Delete), and the rows of the source
// (Source); then Compare. Rows are compared as bytes, so both sides must write
// them in one form, for example by AppendRow. Only hashes are kept.
type Convergence struct {
	findings
	source map[string]hash
	state  map[string]written
	tie    int
}

type hash = [sha256.Size]byte

type written struct {
	position schema.Position
	deleted  bool
	row      hash
}

// ConvergenceCounts is the result of a comparison.
type ConvergenceCounts struct {
	Rows      int // equal on both sides
	Lost      int // only in the source
	Extra     int // only in the destination
	Different int // in both with another content
	Ties      int // writes of one key at one Position with different contents
}

// OK reports whether the states are equal.
func (c ConvergenceCounts) OK() bool {
	return c.Lost == 0 && c.Extra == 0 && c.Different == 0 && c.Ties == 0
}

// Source says that the source has the row under the key.
func (c *Convergence) Source(key string, row []byte) {
	if c.source == nil {
		c.source = make(map[string]hash)
	}
	c.source[key] = sha256.Sum256(row)
}

// Add says that the row was written under the key at the Position. For a
// destination that has merged already, any Position will do.
func (c *Convergence) Add(key string, p schema.Position, row []byte) {
	c.write(key, written{position: p, row: sha256.Sum256(row)})
}

// Delete says that the key was deleted at the Position.
func (c *Convergence) Delete(key string, p schema.Position) {
	c.write(key, written{position: p, deleted: true})
}

func (c *Convergence) write(key string, w written) {
	if c.state == nil {
		c.state = make(map[string]written)
	}
	old, ok := c.state[key]
	switch {
	case !ok || old.position.Less(w.position):
		c.state[key] = w
	case old.position == w.position && old != w:
		c.tie++
		c.add("tie: %s was written with two contents at %s", KeyName(key), w.position)
	}
}

// Change writes a change of a table with identity: rows by AppendRow, keys by
// AppendOrderingKey's long form without its limit. Changes with unchanged values
// are refused with false, as a sink must refuse them.
func (c *Convergence) Change(ch *schema.Change) bool {
	key := Key(ch.Table, ch.Key)
	if ch.Op == schema.Delete {
		c.Delete(key, ch.Position)
		return true
	}
	for _, v := range ch.After {
		if v.State == schema.Unchanged {
			return false
		}
	}
	c.Add(key, ch.Position, AppendRow(nil, ch.After))
	return true
}

// Compare compares the two states.
func (c *Convergence) Compare() ConvergenceCounts {
	n := ConvergenceCounts{Ties: c.tie}
	for key, row := range c.source {
		w, ok := c.state[key]
		switch {
		case !ok || w.deleted:
			n.Lost++
			c.add("lost: %s is only in the source", KeyName(key))
		case w.row != row:
			n.Different++
			c.add("different: %s, last written at %s", KeyName(key), w.position)
		default:
			n.Rows++
		}
	}
	for key, w := range c.state {
		if _, ok := c.source[key]; !ok && !w.deleted {
			n.Extra++
			c.add("extra: %s, last written at %s, is only in the destination", KeyName(key), w.position)
		}
	}
	return n
}
