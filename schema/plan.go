package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// plan is what a Table's messages have in common, as JSON.
type plan struct {
	serial   uint64 // names the Table within this process
	columns  []columnPlan
	keyFirst []int // the key columns in the order of AttNum

	sourceHead string // "source":{…,"ts_ms":
	sourceTail string // ,"db":…,"schema":…,"table":…
	shape      string // "types":[…],"attnums":[…] of all columns
	keyShape   string // the same of the key columns
	version    string // ,"schema_version":…
}

type columnPlan struct {
	codec
	name   string // "name"
	member string // "name":
	typ    string // "type"
	attnum string
}

func newPlan(t *Table) (*plan, error) {
	p := &plan{serial: serials.Add(1), columns: make([]columnPlan, len(t.Columns)), keyFirst: slices.Sorted(slices.Values(t.Key))}
	all := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		name, err := quote(c.Name)
		if err != nil {
			return nil, fmt.Errorf("table %s.%s: name of column %d: %w", t.Schema, t.Name, i, err)
		}
		typ, err := quote(c.Type)
		if err != nil {
			return nil, fmt.Errorf("table %s.%s: type of column %d: %w", t.Schema, t.Name, i, err)
		}
		p.columns[i] = columnPlan{codecOf(c.Type), name, name + ":", typ, strconv.Itoa(int(c.AttNum))}
		all[i] = i
	}
	p.shape = p.shapeOf(all)
	p.keyShape = p.shapeOf(p.keyFirst)
	p.version = `,"schema_version":` + strconv.FormatInt(t.Version, 10)
	head, tail, err := sourceJSON(t.Source, t.Schema, t.Name)
	if err != nil {
		return nil, fmt.Errorf("table %q.%q: %w", t.Schema, t.Name, err)
	}
	p.sourceHead, p.sourceTail = head+`,"ts_ms":`, tail
	return p, nil
}

// shapeOf returns types and attnums of some columns.
func (p *plan) shapeOf(columns []int) string {
	types, attnums := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		types[i], attnums[i] = p.columns[c].typ, p.columns[c].attnum
	}
	return `"types":[` + strings.Join(types, ",") + `],"attnums":[` + strings.Join(attnums, ",") + `]`
}

// sourceJSON returns the parts of source that don't change: version to name, and
// db to table.
func sourceJSON(s Source, schema, table string) (head, tail string, err error) {
	var quoted [4]string
	for i, text := range [4]string{s.Database, s.DB, schema, table} {
		if quoted[i], err = quote(text); err != nil {
			return "", "", fmt.Errorf("source: %w", err)
		}
	}
	head = `"source":{"version":"` + sourceVersion + `","connector":"` + connector + `","name":` + quoted[0]
	tail = `,"db":` + quoted[1] + `,"schema":` + quoted[2] + `,"table":` + quoted[3]
	return head, tail, nil
}

// The constants of source.
const (
	sourceVersion = "1"
	connector     = "postgresql"
)

func quote(s string) (string, error) {
	b, err := appendString(nil, s)
	return string(b), err
}
