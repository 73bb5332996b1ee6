package schematest

import "cdc/schema"

// Confirmed checks promise 1: no change of a transaction whose commit ends at or
// below the confirmed LSN is missing from what Pub/Sub has accepted. The zero
// value is ready. It isn't safe for concurrent use.
//
// Tell it each transaction in commit order (Commit), each change that was
// accepted (Accept) and each LSN that was confirmed (Add), as they happen.
type Confirmed struct {
	findings
	// Missing counts changes that were confirmed without having been accepted.
	Missing int
	// Confirmations counts the calls of Add.
	Confirmations int

	pending  []commit // not confirmed yet, in commit order
	accepted map[schema.Position]bool
	highest  schema.LSN // confirmed
}

type commit struct {
	end     schema.LSN
	changes []schema.Position
}

// Commit says that a transaction with these changes was committed; end is its
// COMMIT message's end LSN.
func (c *Confirmed) Commit(end schema.LSN, changes ...schema.Position) {
	c.pending = append(c.pending, commit{end, changes})
	// A commit can't be new below what was confirmed: that LSN was too high.
	c.check()
}

// Accept says that Pub/Sub accepted the change.
func (c *Confirmed) Accept(p schema.Position) {
	if c.accepted == nil {
		c.accepted = make(map[schema.Position]bool)
	}
	c.accepted[p] = true
}

// Add says that lsn was confirmed to Postgres. A lower one than before changes
// nothing: Postgres doesn't go back.
func (c *Confirmed) Add(lsn schema.LSN) {
	c.Confirmations++
	c.highest = max(c.highest, lsn)
	c.check()
}

func (c *Confirmed) check() {
	n := 0
	for n < len(c.pending) && c.pending[n].end <= c.highest {
		for _, p := range c.pending[n].changes {
			if !c.accepted[p] {
				c.Missing++
				c.add("lost: %s was confirmed with a change at %s that wasn't accepted", c.highest, p)
			}
		}
		n++
	}
	c.pending = c.pending[n:]
}

// OK reports whether the promise was kept so far.
func (c *Confirmed) OK() bool { return c.Missing == 0 }
