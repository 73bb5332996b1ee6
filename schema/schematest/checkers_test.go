package schematest_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// run is a short correct history: what a source committed.
func run(t *testing.T, n int) (*schematest.Workload, []*schematest.Transaction) {
	t.Helper()
	const seed = 7
	t.Logf("seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	w := schematest.NewWorkload(seed, named(t, "a", schematest.Table(r)), named(t, "b", schematest.Table(r)))
	txs := make([]*schematest.Transaction, n)
	for i := range txs {
		txs[i] = w.Next()
	}
	return w, txs
}

func named(t *testing.T, name string, table *schema.Table) *schema.Table {
	t.Helper()
	n := *table
	n.Name = name
	made, err := schema.NewTable(n)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func changes(txs []*schematest.Transaction) (all []*schema.Change) {
	for _, tx := range txs {
		all = append(all, tx.Changes...)
	}
	return all
}

func keyOf(c *schema.Change) string { return schematest.Key(c.Table, c.Key) }

// order feeds one history and what was stored of it to an Order.
func order(committed, stored []*schema.Change) *schematest.Order {
	var o schematest.Order
	for _, c := range committed {
		o.Commit(keyOf(c), c.Position)
	}
	for _, c := range stored {
		o.Add(keyOf(c), c.Position)
	}
	o.End()
	return &o
}

// pair returns the indexes of two changes of one key.
func pair(t *testing.T, list []*schema.Change) (i, j int) {
	t.Helper()
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			if keyOf(list[i]) == keyOf(list[j]) {
				return i, j
			}
		}
	}
	t.Fatal("no key with two changes")
	return 0, 0
}

func TestOrder(t *testing.T) {
	_, txs := run(t, 200)
	all := changes(txs)
	i, j := pair(t, all)
	swapped := slices.Clone(all)
	swapped[i], swapped[j] = swapped[j], swapped[i]
	dropped := slices.Delete(slices.Clone(all), i, i+1)
	late := append(slices.Clone(all), all[:50]...)

	for _, test := range []struct {
		name   string
		stored []*schema.Change
		want   func(schematest.OrderCounts) bool
	}{
		{"correct", all, func(n schematest.OrderCounts) bool { return n.OK() && n.Stored == len(all) && n.Copies == 0 }},
		{"late copies", late, func(n schematest.OrderCounts) bool { return n.OK() && n.Copies == 50 }},
		{"swap", swapped, func(n schematest.OrderCounts) bool { return n.OutOfOrder > 0 && n.Gaps > 0 && n.Missing == 0 }},
		{"drop", dropped, func(n schematest.OrderCounts) bool { return n.Gaps > 0 && n.Missing == 1 && n.OutOfOrder == 0 }},
		{"drop the last", all[:len(all)-1], func(n schematest.OrderCounts) bool { return n.Missing == 1 }},
		{"never committed", append(slices.Clone(all), &schema.Change{
			Table: all[0].Table, Key: all[0].Key, Position: schema.MaxPosition,
		}), func(n schematest.OrderCounts) bool { return n.Unknown == 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := order(all, test.stored)
			if !test.want(o.OrderCounts) {
				t.Errorf("%+v\n%s", o.OrderCounts, strings.Join(o.Findings(), "\n"))
			}
		})
	}
	t.Run("swap without commits", func(t *testing.T) {
		if o := order(nil, swapped); o.OutOfOrder == 0 {
			t.Error("not found")
		}
		if o := order(nil, late); !o.OK() || o.Copies != 50 {
			t.Errorf("%+v", o.OrderCounts)
		}
	})
}

func TestConfirmed(t *testing.T) {
	_, txs := run(t, 50)
	feed := func(lost schema.Position, early int) *schematest.Confirmed {
		var c schematest.Confirmed
		for i, tx := range txs {
			c.Commit(tx.End, tx.Positions()...)
			if i == early {
				c.Add(tx.End)
			}
			for _, p := range tx.Positions() {
				if p != lost {
					c.Accept(p)
				}
			}
			if i%3 == 0 {
				c.Add(tx.End)
			}
			c.Add(txs[0].End) // a lower one changes nothing
		}
		return &c
	}
	if c := feed(schema.Position{}, -1); !c.OK() || c.Confirmations == 0 {
		t.Errorf("correct history: %v", c.Findings())
	}
	if c := feed(txs[20].Changes[0].Position, -1); c.Missing != 1 {
		t.Errorf("a lost change: %d found", c.Missing)
	}
	if c := feed(schema.Position{}, 20); c.Missing != len(txs[20].Changes) {
		t.Errorf("confirmed too early: %d found, want %d", c.Missing, len(txs[20].Changes))
	}
	var c schematest.Confirmed
	c.Add(txs[5].End)
	c.Commit(txs[5].End, txs[5].Positions()...)
	if c.OK() {
		t.Error("confirmed before it was known: not found")
	}
	var mid schematest.Confirmed
	mid.Commit(txs[5].End, txs[5].Positions()...)
	if mid.Add(txs[5].End - 1); !mid.OK() {
		t.Error("confirming below the end is allowed")
	}
}

func TestConvergence(t *testing.T) {
	w, txs := run(t, 200)
	all := changes(txs)
	r := rand.New(rand.NewPCG(9, 9))
	compare := func(skip func(*schema.Change) bool, more ...*schema.Change) (schematest.ConvergenceCounts, []string) {
		var c schematest.Convergence
		list := append(slices.Clone(all), all...) // everything comes twice, in any order
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, ch := range append(list, more...) {
			if !skip(ch) && !c.Change(ch) {
				t.Fatal("unchanged values in a workload without them")
			}
		}
		w.Source(&c)
		return c.Compare(), c.Findings()
	}
	none := func(*schema.Change) bool { return false }
	last := map[string]*schema.Change{}
	for _, c := range all {
		last[keyOf(c)] = c
	}
	byOp := func(op schema.Op) *schema.Change {
		for _, c := range all {
			if last[keyOf(c)] == c && c.Op == op {
				return c
			}
		}
		t.Fatalf("no key ends with %s", op)
		return nil
	}

	if n, list := compare(none); !n.OK() || n.Rows == 0 {
		t.Errorf("correct history: %+v %v", n, list)
	}
	update := byOp(schema.Update)
	if n, _ := compare(func(c *schema.Change) bool { return c == update }); n.Different != 1 || n.Lost+n.Extra != 0 {
		t.Errorf("a dropped update: %+v", n)
	}
	gone := byOp(schema.Delete)
	if n, _ := compare(func(c *schema.Change) bool { return c == gone }); n.Extra != 1 {
		t.Errorf("a dropped delete: %+v", n)
	}
	key := keyOf(byOp(schema.Create))
	if n, _ := compare(func(c *schema.Change) bool { return keyOf(c) == key }); n.Lost != 1 {
		t.Errorf("a dropped insert: %+v", n)
	}
	stale := schematest.Clone(update)
	stale.Position = schema.MaxPosition
	stale.Op, stale.After = schema.Delete, nil
	if n, _ := compare(none, stale); n.Lost != 1 {
		t.Errorf("a delete with a Position of its own: %+v", n)
	}
	tie := schematest.Clone(update)
	tie.After = schematest.Row(r, tie.Table)
	if n, _ := compare(none, tie); n.Ties == 0 {
		t.Errorf("two contents at one Position: %+v", n)
	}
	var c schematest.Convergence
	if c.Change(&schema.Change{Op: schema.Update, Table: update.Table, Key: update.Key, After: schema.Row{{State: schema.Unchanged}}}) {
		t.Error("a change with unchanged values was written")
	}
}

// The same rules, fed with messages of one or several changes.
func TestOrderOfMessages(t *testing.T) {
	_, txs := run(t, 50)
	perTable := map[*schema.Table][]*schema.Change{}
	for _, c := range changes(txs) {
		perTable[c.Table] = append(perTable[c.Table], c)
	}
	var o schematest.Order
	for _, list := range perTable {
		for chunk := range slices.Chunk(list, 3) {
			m, err := schematest.Message(chunk...)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Message(m); err != nil {
				t.Fatal(err)
			}
			if err := o.Message(&schema.Message{Attributes: schema.Attributes{Op: schema.ControlOp}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := o.End(); !n.OK() || n.Stored != len(changes(txs)) {
		t.Errorf("%+v", n)
	}
	m, err := schematest.Message(perTable[txs[0].Changes[0].Table][0])
	if err != nil {
		t.Fatal(err)
	}
	if m.Data[0] = 'x'; o.Message(m) == nil {
		t.Error("a message that can't be decoded was accepted")
	}
}

func TestFindingsHideValues(t *testing.T) {
	var o schematest.Order
	o.Add("public.people|jane@example.com", schema.Position{Epoch: 2})
	o.Add("public.people|jane@example.com", schema.Position{Epoch: 1})
	list := o.Findings()
	if len(list) != 1 || strings.Contains(list[0], "jane") || !strings.Contains(list[0], "public.people") {
		t.Error(list)
	}
}

func TestWorkload(t *testing.T) {
	w, txs := run(t, 300)
	_, again := run(t, 300)
	seen := map[string]int{}
	var prev schema.Position
	for i, tx := range txs {
		if tx.Commit != again[i].Commit || len(tx.Changes) != len(again[i].Changes) {
			t.Fatal("the same seed gave another transaction")
		}
		keys := map[string]schema.Op{}
		for j, c := range tx.Changes {
			if !prev.Less(c.Position) || c.Position.CommitLSN != tx.Commit {
				t.Fatalf("position %s after %s", c.Position, prev)
			}
			if j > 0 && c.Position.ChangeLSN == prev.ChangeLSN {
				seen["same LSN"]++
			}
			prev = c.Position
			if c.PreviousKey != nil {
				seen["key change"]++
			}
			if keys[keyOf(c)] == schema.Delete && c.Op == schema.Create {
				seen["insert again"]++
			}
			if keys[keyOf(c)] == schema.Update && c.Op == schema.Update {
				seen["key twice"]++
			}
			keys[keyOf(c)] = c.Op
			seen[c.Op.String()]++
		}
	}
	for _, what := range []string{"c", "u", "d", "key change", "insert again", "key twice", "same LSN"} {
		if seen[what] == 0 {
			t.Errorf("300 transactions have no %s", what)
		}
	}
	t.Log(w, seen)
}
