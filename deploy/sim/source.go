package main

import (
	"math/rand/v2"
	"strconv"

	"cdc/schema"
	"cdc/schema/schematest"
)

// source is a Postgres with one slot: a log of transactions that is streamed
// again from what was confirmed.
type source struct {
	load       *schematest.Workload
	log        []transaction
	confirmed  schema.LSN // the slot's confirmed_flush_lsn
	saved      schema.LSN // what of it survives a crash of the server
	checkpoint schema.LSN // the publisher's state, durable when written
	owner      *publisher // of the state: the process that was started last
	foreign    schema.LSN // WAL of others that follows the last transaction, in bytes
	empty      int        // transactions without a change of ours in a row
}

type position = schema.Position

type transaction struct {
	end     schema.LSN
	changes []*change
}

// change is one row change on its whole way.
type change struct {
	*schema.Change
	row      string // names the row
	ordering string // ordering key
	bytes    int    // as a message
	written  bool   // it is in BigQuery, or a newer one of its row that hid it
}

func newSource(seed uint64, r *rand.Rand) source {
	return source{load: schematest.NewWorkload(seed, tables()...)}
}

// tables are two small ones: the machines look at keys and Positions only.
func tables() []*schema.Table {
	var list []*schema.Table
	for i, name := range []string{"account", "entry"} {
		t, err := schema.NewTable(schema.Table{
			Schema: "public", Name: name, Version: 1, Key: []int{0},
			Columns: []schema.Column{{Name: "id", Type: "integer", AttNum: 1}, {Name: "state" + strconv.Itoa(i), Type: "text", AttNum: 2}},
		})
		if err != nil {
			panic(err)
		}
		list = append(list, t)
	}
	return list
}

var sourceSteps = []step{
	{"commit", 10, false, func(w *world) bool { return !w.healed && len(w.source.log) < w.nature.transactions }, (*world).commit},
	{
		"commit without a change", 3, false,
		func(w *world) bool {
			return !w.healed && len(w.source.log) > 0 && w.source.empty < 2 && w.source.foreign == 0
		},
		func(w *world) {
			w.source.empty++
			w.source.log = append(w.source.log, transaction{end: w.source.end() + 2})
		},
	},
	{
		"others write WAL", 2, false,
		func(w *world) bool { return !w.healed && len(w.source.log) > 0 && w.source.foreign == 0 },
		func(w *world) { w.source.foreign = 2 },
	},
	{"slot saved", 2, false, func(w *world) bool { return w.source.saved < w.source.confirmed }, func(w *world) { w.source.saved = w.source.confirmed }},
	{"crash source", 1, true, func(w *world) bool { return w.publisher != nil }, (*world).crashSource},
}

// commit lets the application commit a transaction.
func (w *world) commit() {
	tx := w.source.load.Next()
	t := transaction{end: tx.End}
	for _, c := range tx.Changes {
		x := &change{Change: c, row: schematest.Key(c.Table, c.Key), bytes: 100 + w.r.IntN(500)}
		x.ordering = x.row
		if w.nature.buckets > 0 {
			x.ordering = c.Table.Name + "|" + strconv.Itoa(len(x.row)%w.nature.buckets)
			if n, err := strconv.Atoi(string(c.Key[0].Text)); err == nil {
				x.ordering = c.Table.Name + "|" + strconv.Itoa((n%w.nature.buckets+w.nature.buckets)%w.nature.buckets)
			}
		}
		t.changes = append(t.changes, x)
		w.order.Commit(x.row, c.Position)
	}
	w.source.log = append(w.source.log, t)
	w.source.foreign, w.source.empty = 0, 0
	w.confirmed.Commit(tx.End, tx.Positions()...)
	if w.trace != nil {
		w.trace.note("%d changes, end %s", len(t.changes), tx.End)
	}
}

// walEnd is where the WAL ends. The next commit record starts 8 bytes after the
// last one with a change at the earliest.
func (s *source) walEnd() schema.LSN { return s.end() + s.foreign }

// end is the end of the log's last transaction.
func (s *source) end() schema.LSN {
	if len(s.log) == 0 {
		return 0
	}
	return s.log[len(s.log)-1].end
}

// crashSource loses what of the slot wasn't saved, and the connection: the
// publisher ends.
func (w *world) crashSource() {
	w.source.confirmed = w.source.saved
	w.trace.note("confirmed is %s again", w.source.confirmed)
	w.publisherEnds()
}
