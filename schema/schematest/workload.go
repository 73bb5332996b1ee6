package schematest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"cdc/schema"
)

// Transaction is one committed transaction as the stream shows it.
type Transaction struct {
	XID     uint64
	Commit  schema.LSN // BEGIN's final_lsn, the Position's CommitLSN
	End     schema.LSN // the end of the commit record: what may be confirmed
	Time    schema.Micros
	Changes []*schema.Change
}

// Positions returns the Positions of the changes, for Confirmed.Commit.
func (t *Transaction) Positions() []schema.Position {
	list := make([]schema.Position, len(t.Changes))
	for i, c := range t.Changes {
		list[i] = c.Position
	}
	return list
}

// Workload is a source of random transactions over some tables: inserts,
// updates, deletes, key changes (a Delete and an Insert at one LSN), a key
// deleted and inserted again in one transaction, several changes of one key in
// one transaction, many rows at one LSN as COPY gives them. The same seed gives
// the same transactions.
type Workload struct {
	r      *rand.Rand
	tables []*schema.Table
	rows   []map[string]schema.Row // for each table its rows by key
	keys   [][]string              // the keys of rows, so that a seed decides
	lsn    schema.LSN
	xid    uint64
	time   schema.Micros
	tx     *Transaction
	index  uint32
}

// NewWorkload returns a Workload over the tables, all of which have a key.
func NewWorkload(seed uint64, tables ...*schema.Table) *Workload {
	w := &Workload{
		r: rand.New(rand.NewPCG(seed, 1)), tables: tables, lsn: 0x1000000, xid: 1000, time: 1_767_323_045_000_000,
		rows: make([]map[string]schema.Row, len(tables)), keys: make([][]string, len(tables)),
	}
	for i := range tables {
		w.rows[i] = make(map[string]schema.Row)
	}
	return w
}

// Next returns the next transaction; it has at least one change.
func (w *Workload) Next() *Transaction {
	w.xid++
	w.time += schema.Micros(1 + w.r.IntN(5000))
	w.tx = &Transaction{XID: w.xid, Time: w.time}
	for range 1 + w.r.IntN(6) {
		w.step(w.r.IntN(len(w.tables)))
	}
	w.lsn += schema.LSN(8 * (1 + w.r.IntN(50)))
	w.tx.Commit = w.lsn
	w.lsn += schema.LSN(8 * (4 + w.r.IntN(4)))
	w.tx.End = w.lsn
	for _, c := range w.tx.Changes {
		c.Position.CommitLSN, c.XID, c.CommitTime = w.tx.Commit, w.tx.XID, w.tx.Time
		c.ReadTime = w.tx.Time / 1000 * 1000
	}
	return w.tx
}

// step does one thing to one table.
func (w *Workload) step(i int) {
	if len(w.keys[i]) < 3 {
		w.insert(i, nil, true)
		return
	}
	key := w.keys[i][w.r.IntN(len(w.keys[i]))]
	switch w.r.IntN(10) {
	case 0, 1: // one row, or several at one LSN
		w.insert(i, nil, true)
		for range w.r.IntN(3) {
			w.insert(i, nil, false)
		}
	case 2, 3, 4:
		w.update(i, key)
	case 5:
		w.delete(i, key)
	case 6: // a key change
		previous := w.delete(i, key)
		w.insert(i, previous, false)
	case 7: // the same key again
		old := w.rows[i][key]
		w.delete(i, key)
		w.put(i, w.withKey(i, old), nil, schema.Create, true)
	default: // one key twice
		w.update(i, key)
		w.update(i, key)
	}
}

func (w *Workload) insert(i int, previous schema.Row, newLSN bool) {
	for {
		row := Row(w.r, w.tables[i])
		if _, taken := w.rows[i][w.key(i, row)]; !taken {
			w.put(i, row, previous, schema.Create, newLSN)
			return
		}
	}
}

func (w *Workload) update(i int, key string) {
	w.put(i, w.withKey(i, w.rows[i][key]), nil, schema.Update, true)
}

// withKey returns a random row with the key of old.
func (w *Workload) withKey(i int, old schema.Row) schema.Row {
	row := Row(w.r, w.tables[i])
	for _, k := range w.tables[i].Key {
		row[k] = old[k]
	}
	return row
}

func (w *Workload) put(i int, row, previous schema.Row, op schema.Op, newLSN bool) {
	key := w.key(i, row)
	if _, there := w.rows[i][key]; !there {
		w.keys[i] = append(w.keys[i], key)
	}
	w.rows[i][key] = row
	w.change(&schema.Change{Op: op, Table: w.tables[i], After: row, Key: w.tables[i].KeyOf(nil, row), PreviousKey: previous}, newLSN)
}

func (w *Workload) delete(i int, key string) (old schema.Row) {
	old = w.tables[i].KeyOf(nil, w.rows[i][key])
	delete(w.rows[i], key)
	w.keys[i] = slices.DeleteFunc(w.keys[i], func(k string) bool { return k == key })
	w.change(&schema.Change{Op: schema.Delete, Table: w.tables[i], Key: old}, true)
	return old
}

// change appends c at a new LSN or at the last one.
func (w *Workload) change(c *schema.Change, newLSN bool) {
	w.index++
	if newLSN {
		w.lsn += schema.LSN(8 * (1 + w.r.IntN(30)))
		w.index = 0
	}
	c.Position = schema.Position{Epoch: 1, ChangeLSN: w.lsn, Index: w.index}
	w.tx.Changes = append(w.tx.Changes, c)
}

func (w *Workload) key(i int, row schema.Row) string {
	return Key(w.tables[i], w.tables[i].KeyOf(nil, row))
}

// Source gives the rows as they are now to a Convergence.
func (w *Workload) Source(c *Convergence) {
	for i := range w.rows {
		for key, row := range w.rows[i] {
			c.Source(key, AppendRow(nil, row))
		}
	}
}

// String says which state the workload is in, for a test's log.
func (w *Workload) String() string {
	n := 0
	for _, rows := range w.rows {
		n += len(rows)
	}
	return fmt.Sprintf("%d tables, %d rows, %s", len(w.tables), n, w.lsn)
}
