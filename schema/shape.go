package schema

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// shape is what lines with the same names and types have in common: their
// Table, and which column each member of their objects is.
type shape struct {
	signature []byte
	types     []byte // as the line had them; empty if it had none
	attnums   []byte
	table     *Table
	after     []int32 // for each member of after its column, -1 for a placeholder
	before    []int32
	unchanged []int32 // columns
}

// shapeCache finds the shape of a line by its signature: the bytes of
// everything that the shape depends on. It forgets everything when it is full.
type shapeCache struct {
	shapes    map[string]*shape
	tables    map[string]*Table
	last      *shape
	columns   int // in all shapes
	bytes     int // of all signatures
	signature []byte
}

// The limits of a shapeCache.
const (
	maxShapes       = 4096
	maxShapeColumns = 200_000
	maxShapeBytes   = 16 << 20
)

// find returns the shape of the decoder's line. A line with types then describes
// the columns of the lines that follow.
func (c *shapeCache) find(d *Decoder) (*shape, error) {
	c.sign(d)
	s := c.last
	if s == nil || !bytes.Equal(s.signature, c.signature) {
		var ok bool
		if s, ok = c.shapes[string(c.signature)]; !ok {
			var err error
			if s, err = c.build(d); err != nil {
				return nil, err
			}
		}
		c.last = s
	}
	if d.line.seen&fTypes != 0 {
		d.table = s.table
	}
	return s, nil
}

// sign writes the signature of the decoder's line. Raw names hold neither
// quotes nor control characters, so these separate them.
func (c *shapeCache) sign(d *Decoder) {
	l, s := &d.line, &d.scan
	b := append(c.signature[:0], byte(l.op))
	for _, o := range [...]object{l.before, l.after, l.unchanged, l.key, l.previous} {
		if o.present {
			b = append(b, '{')
		}
		for i := o.from; i < o.to; i++ {
			b = append(b, s.text(d.members[i].name)...)
			b = append(b, '"')
		}
		b = append(b, '\n')
	}
	if d.table != nil {
		b = append(b, 'L')
		b = binary.LittleEndian.AppendUint64(b, d.table.plan.serial)
	} else {
		b = append(b, 'F')
		for _, t := range l.sourceNames {
			b = append(b, s.text(t)...)
			b = append(b, '"')
		}
		b = append(b, d.attrs.SourceID...)
		b = append(b, '\n')
		b = binary.LittleEndian.AppendUint64(b, uint64(l.version))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(l.types.end-l.types.start))
	b = append(b, s.text(l.types)...)
	c.signature = append(b, s.text(l.attnums)...)
}

func (c *shapeCache) build(d *Decoder) (*shape, error) {
	if c.shapes == nil || len(c.shapes) >= maxShapes || c.columns > maxShapeColumns || c.bytes > maxShapeBytes {
		c.shapes, c.tables, c.columns, c.bytes = make(map[string]*shape), make(map[string]*Table), 0, 0
	}
	l := &d.line
	rows := l.after
	if l.op == Delete {
		rows = l.before
	}
	if !rows.present || l.op == Delete && l.unchanged.present {
		return nil, fmt.Errorf("before, after or unchanged doesn't go with op: %w", ErrField)
	}
	names, before, unchanged := d.columnNames(rows), d.columnNames(l.before), d.columnNames(l.unchanged)
	if hasTwice(names) || hasTwice(before) || hasTwice(unchanged) || hasTwice(d.columnNames(l.key)) {
		return nil, fmt.Errorf("a column is there twice: %w", ErrDuplicate)
	}
	all, absent := names, missing(names, unchanged)
	all = append(all[:len(all):len(all)], absent...)
	t, err := c.table(d, all)
	if err != nil {
		return nil, err
	}
	byName := columnsByName(t.Columns)
	s := &shape{
		signature: bytes.Clone(c.signature), types: bytes.Clone(d.scan.text(l.types)), attnums: bytes.Clone(d.scan.text(l.attnums)),
		table: t, before: indexes(byName, before), unchanged: indexes(byName, unchanged),
	}
	if l.op != Delete {
		s.after = indexes(byName, names)
		for i, column := range s.after {
			if slices.Contains(s.unchanged, column) {
				s.after[i] = -1
			}
		}
		if l.before.present && (len(before) != len(t.Columns) || slices.Contains(s.before, -1)) {
			return nil, fmt.Errorf("before and after have different columns: %w", ErrField)
		}
	}
	c.columns += len(t.Columns)
	c.bytes += len(s.signature)
	c.shapes[string(s.signature)] = s
	return s, nil
}

func columnsByName(columns []Column) map[string]int {
	byName := make(map[string]int, len(columns))
	for i, c := range columns {
		byName[c.Name] = i
	}
	return byName
}

// indexes returns the column of each name, -1 for one that isn't there.
func indexes(byName map[string]int, names []string) []int32 {
	to := make([]int32, len(names))
	for i, n := range names {
		column, ok := byName[n]
		if !ok {
			column = -1
		}
		to[i] = int32(column)
	}
	return to
}

// missing returns those of want that aren't in names.
func missing(names, want []string) (absent []string) {
	there := make(map[string]bool, len(names))
	for _, n := range names {
		there[n] = true
	}
	for _, n := range want {
		if !there[n] {
			absent = append(absent, n)
		}
	}
	return absent
}

func hasTwice(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted)) != len(names)
}
