package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// serials number the tables, so that a signature can name one.
var serials atomic.Uint64

// table returns the Table of a line with the given columns, in the line's order.
func (c *shapeCache) table(d *Decoder, names []string) (*Table, error) {
	t, err := d.newTable(names)
	if err != nil {
		return nil, err
	}
	if d.table != nil && !sameTable(d.table, t) {
		return nil, fmt.Errorf("later line of a batch has another key: %w", ErrField)
	}
	id := tableID(t)
	if known, ok := c.tables[id]; ok {
		return known, nil
	}
	if d.table != nil && tableID(d.table) == id {
		return d.table, nil
	}
	made, err := NewTable(*t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrField, err)
	}
	c.tables[id] = made
	return made, nil
}

// newTable puts together the Table of a line, unchecked.
func (d *Decoder) newTable(names []string) (_ *Table, err error) {
	l, s := &d.line, &d.scan
	t := &Table{Version: l.version}
	if d.table != nil {
		*t = Table{Source: d.table.Source, Schema: d.table.Schema, Name: d.table.Name, Version: d.table.Version}
	} else {
		var text [4]string
		for i, tok := range l.sourceNames {
			text[i] = unescape(s, tok)
		}
		t.Source = Source{Database: text[0], DB: text[1], SystemID: d.attrs.SourceID}
		t.Schema, t.Name = text[2], text[3]
	}
	if l.seen&fTypes != 0 {
		t.Columns, err = d.parseColumns(names)
	} else {
		t.Columns, err = d.describedColumns(names)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(t.Columns, func(a, b Column) int { return cmp.Compare(a.AttNum, b.AttNum) })
	byName, key := columnsByName(t.Columns), d.columnNames(l.key)
	for _, name := range key {
		i, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("key column %q isn't in the row: %w", name, ErrField)
		}
		t.Key = append(t.Key, i)
	}
	if l.previous.present && !slices.Equal(key, d.columnNames(l.previous)) {
		return nil, fmt.Errorf("previous_key has other columns than key: %w", ErrField)
	}
	return t, nil
}

// describedColumns takes the columns from what an earlier line said.
func (d *Decoder) describedColumns(names []string) ([]Column, error) {
	byName := columnsByName(d.table.Columns)
	columns := make([]Column, len(names))
	for i, name := range names {
		j, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("column %q has no type in this message: %w", name, ErrField)
		}
		columns[i] = d.table.Columns[j]
	}
	return columns, nil
}

// parseColumns reads types and attnums.
func (d *Decoder) parseColumns(names []string) ([]Column, error) {
	types, err := arrayTokens(d.scan, d.line.types)
	if err != nil {
		return nil, err
	}
	attnums, err := arrayTokens(d.scan, d.line.attnums)
	if err != nil {
		return nil, err
	}
	if len(names) > MaxColumns {
		return nil, ErrTooManyColumns
	}
	if len(types) != len(names) || len(attnums) != len(names) {
		return nil, fmt.Errorf("types or attnums aren't as many as the columns: %w", ErrField)
	}
	columns := make([]Column, len(names))
	for i, name := range names {
		n, ok := parseInt(d.scan.text(attnums[i]))
		if !ok || n != int64(int16(n)) || attnums[i].kind != jsonInteger || types[i].kind != jsonString {
			return nil, fmt.Errorf("type or attnum of column %q: %w", name, ErrField)
		}
		columns[i] = Column{Name: name, Type: unescape(&d.scan, types[i]), AttNum: int16(n)}
	}
	return columns, nil
}

// arrayTokens returns the values of an array, of which there may be one a
// column at most.
func arrayTokens(s scanner, t token) (tokens []token, err error) {
	s.pos, s.data = int(t.start), s.data[:t.end]
	if err := s.open('['); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		ok, err := s.more(n, ']')
		if err != nil || !ok {
			return tokens, err
		}
		if n == MaxColumns {
			return nil, ErrTooManyColumns
		}
		v, err := s.value(3)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, v)
	}
}

func unescape(s *scanner, t token) string {
	if !t.escaped {
		return string(s.text(t))
	}
	return string(appendUnescaped(nil, s.text(t)))
}

// columnNames returns the names of an object's members.
func (d *Decoder) columnNames(o object) []string {
	names := make([]string, 0, o.to-o.from)
	for _, m := range d.members[o.from:o.to] {
		names = append(names, unescape(&d.scan, m.name))
	}
	return names
}

// tableID returns a text that is equal for equal Tables.
func tableID(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q %q %q %d %d", t.Source.Database, t.Source.DB, t.Source.SystemID, t.Schema, t.Name, t.Version, t.Key)
	for _, c := range t.Columns {
		fmt.Fprintf(&b, " %q %q %d", c.Name, c.Type, c.AttNum)
	}
	return b.String()
}
