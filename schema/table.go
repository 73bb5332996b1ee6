package schema

import (
	"errors"
	"fmt"
	"slices"
)

// MaxColumns is the most columns that a Table may have; Postgres itself stops
// at 1,600 (https://www.postgresql.org/docs/current/limits.html).
const MaxColumns = 10_000

// Source says where a table lives. It is constant for a connection.
type Source struct {
	Database string // the configuration's name of the database
	DB       string // the Postgres database's own name
	SystemID string // the cluster's system identifier, in decimal
}

// Column is one column of a Table.
type Column struct {
	Name   string
	Type   string // format_type(oid, typmod), a domain as its base type
	AttNum int16  // pg_attribute.attnum; stays with a column through renames
}

// Table is columns, types and key of one relation as one RELATION message
// describes it. It is immutable once made by NewTable and safe for concurrent use.
type Table struct {
	Source  Source
	Schema  string
	Name    string
	Columns []Column // in the order of AttNum
	Key     []int    // indexes into Columns, in the order of the index; empty without usable identity
	Version int64    // schema_version: grows per table; compared as (Position.Epoch, Version)

	plan *plan // what the codec precomputes
}

// NewTable checks t and prepares it for encoding. It returns an error if there
// are more than MaxColumns columns, a name is empty or there twice, AttNums
// don't rise, a name isn't UTF-8, or the key names a column that isn't there.
func NewTable(t Table) (*Table, error) {
	if len(t.Columns) > MaxColumns {
		return nil, fmt.Errorf("table %s.%s: %d columns: %w", t.Schema, t.Name, len(t.Columns), ErrTooManyColumns)
	}
	seen := make(map[string]bool, len(t.Columns))
	for i, c := range t.Columns {
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("table %s.%s: column %d: name %q is empty or there twice", t.Schema, t.Name, i, c.Name)
		}
		if i > 0 && c.AttNum <= t.Columns[i-1].AttNum {
			return nil, fmt.Errorf("table %s.%s: column %q: attnum %d doesn't rise", t.Schema, t.Name, c.Name, c.AttNum)
		}
		seen[c.Name] = true
	}
	for i, k := range t.Key {
		if k < 0 || k >= len(t.Columns) || slices.Contains(t.Key[:i], k) {
			return nil, fmt.Errorf("table %s.%s: key column %d: no such column, or there twice", t.Schema, t.Name, k)
		}
	}
	p, err := newPlan(&t)
	if err != nil {
		return nil, err
	}
	t.plan = p
	return &t, nil
}

// ErrTooManyColumns says that a table or message has more than MaxColumns columns.
var ErrTooManyColumns = errors.New("too many columns: at most 10,000")

// KeyOf returns the values of row's key columns in key order, appended to dst.
func (t *Table) KeyOf(dst, row Row) Row {
	for _, k := range t.Key {
		dst = append(dst, row[k])
	}
	return dst
}

// String returns schema.name, for logs.
func (t *Table) String() string { return t.Schema + "." + t.Name }
