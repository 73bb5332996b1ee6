package main

// bigquery is one table for each source table: the newest write of a row wins.
type bigquery struct {
	newest  map[string]position // by row; the Positions that the source gave
	arrived int
}

// apply is an append that arrives.
func (b *bigquery) apply(w *world, rows []*change) {
	for _, c := range rows {
		b.arrived++
		stamped := *c.Change
		stamped.Position = w.decide.position(c, b.arrived)
		w.convergence.Change(&stamped)
		if b.newest[c.row].Less(c.Position) {
			b.newest[c.row] = c.Position
		}
	}
	if w.trace != nil {
		w.trace.note("applied %d rows", len(rows))
	}
}
