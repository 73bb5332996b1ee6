package capture

import (
	"slices"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

// verdict holds what came through against the source, with the checkers that all
// tests of the pipeline share.
type verdict struct {
	rows  schematest.ConvergenceCounts
	order schematest.OrderCounts
	why   []string
}

func (v verdict) ok() bool { return v.rows.OK() && v.order.OK() }

// judge compares messages with what the tables hold. Every Position that came
// through counts as committed: first occurrences have to be in their order, and
// the newest of each key has to be the source's row.
func (d *database) judge(messages []recorded, tables ...string) verdict {
	d.tb.Helper()
	var state schematest.Convergence
	var order schematest.Order
	shapes := map[string]*schema.Table{}
	positions := map[string][]schema.Position{}
	for _, m := range messages {
		changes, err := schematest.Decode(&schema.Message{OrderingKey: []byte(m.key), Attributes: m.attrs, Data: m.data})
		if err != nil {
			d.tb.Fatal(err)
		}
		for _, c := range changes {
			shapes[c.Table.String()] = c.Table
			if !state.Change(c) {
				d.tb.Fatalf("%s has unchanged values", c.Position)
			}
			positions[m.key] = append(positions[m.key], c.Position)
		}
	}
	for key, all := range positions {
		for _, p := range slices.Compact(slices.SortedFunc(slices.Values(all), schema.Position.Compare)) {
			order.Commit(key, p)
		}
	}
	for _, m := range messages {
		order.Add(m.key, m.attrs.Position)
	}
	for _, name := range tables {
		t := shapes[name]
		if t == nil {
			d.tb.Fatalf("nothing of table %s came through", name)
		}
		for _, row := range d.readRows(t) {
			state.Source(schematest.Key(t, t.KeyOf(nil, row)), schematest.AppendRow(nil, row))
		}
	}
	v := verdict{rows: state.Compare(), order: order.End()}
	v.why = append(state.Findings(), order.Findings()...)
	return v
}

// readRows reads a table's rows in the text of the stream.
func (d *database) readRows(t *schema.Table) []schema.Row {
	d.tb.Helper()
	cfg := d.config()
	conn, err := cfg.connect(d.tb.Context(), false)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer closeConn(conn)
	rows, err := conn.Query(d.tb.Context(), `SELECT * FROM "`+t.Schema+`"."`+t.Name+`"`)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer rows.Close()
	var all []schema.Row
	for rows.Next() {
		var row schema.Row
		for _, v := range rows.RawValues() {
			if v == nil {
				row = append(row, schema.Value{})
			} else {
				row = append(row, schema.Value{State: schema.Text, Text: slices.Clone(v)})
			}
		}
		all = append(all, row)
	}
	if rows.Err() != nil {
		d.tb.Fatal(rows.Err())
	}
	return all
}

func (d *database) mustAgree(messages []recorded, tables ...string) {
	d.tb.Helper()
	if v := d.judge(messages, tables...); !v.ok() {
		d.tb.Errorf("rows %+v, order %+v: %v", v.rows, v.order, v.why)
	}
}

// The verdict finds what it has to find.
func TestVerdictFindsPlantedBugs(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY, v int)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1, 1), (2, 1)`, `UPDATE t SET v = 2`, `UPDATE t SET v = 3 WHERE id = 1`, `DELETE FROM t WHERE id = 2`)
	eventually(t, "six messages", func() bool { return r.len() == 6 })
	run.stop()
	good := r.snapshot()
	d.mustAgree(good, "public.t")
	d.mustAgree(slices.Concat(good, good[2:4]), "public.t") // copies are harmless
	for name, bad := range map[string][]recorded{
		"last update lost": slices.Concat(good[:4], good[5:]),
		"delete lost":      good[:5],
		"swapped":          {good[0], good[1], good[4], good[3], good[2], good[5]},
		"insert lost":      {good[1], good[3], good[5]},
		"gap closed later": {good[0], good[4], good[2], good[1], good[3], good[5]},
	} {
		if d.judge(bad, "public.t").ok() {
			t.Errorf("%s: not found", name)
		}
	}
}
