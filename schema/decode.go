package schema

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Decoder decodes messages. The zero value is ready; it isn't safe for
// concurrent use. It keeps the Tables that it has seen (a bounded number), so
// changes of one shape share one *Table, and allocates nothing a row.
//
// It is strict: what isn't exactly version 1 is refused with one of this
// package's errors, and nothing of the message's values is in the error's text.
type Decoder struct {
	strings interner
	shapes  shapeCache

	attrs *Attributes
	rest  []byte // the lines that are left
	count int    // lines read so far
	line  line
	table *Table   // whose columns the lines so far have described
	prev  Position // of the line before
	err   error

	scan    scanner
	members []member
	values  values
	rows    []Value
	plans   snapshots
}

// What a Decoder keeps for the next message; more is left to the collector.
const (
	maxKeptValues    = 1 << 18
	maxKeptTextBytes = 1 << 22
)

// Changes starts the decoding of a message of row changes. Strings of a must
// have been set by Attribute or be constants; a and data stay as they are until
// the last call of Next. It returns an error if the attributes are incomplete or
// don't fit row changes.
//
// A batch whose last lines are broken is found broken only there: read it to the
// end before acting on its changes.
func (d *Decoder) Changes(a *Attributes, data []byte) error {
	d.reset()
	d.attrs, d.rest = a, data
	if err := checkChangesAttributes(a); err != nil {
		d.err = fmt.Errorf("decode changes: %w", err)
	} else if err := checkData(data); err != nil {
		d.err = fmt.Errorf("decode changes: %w", err)
	}
	return d.err
}

func (d *Decoder) reset() {
	if cap(d.rows) > maxKeptValues {
		d.rows = nil
	}
	if cap(d.values.text) > maxKeptTextBytes {
		d.values.text = nil
	}
	d.rows, d.values.text = d.rows[:0], d.values.text[:0]
	d.plans.reset()
	d.count, d.table, d.prev, d.err = 0, nil, Position{}, nil
}

// checkData checks what holds for every body.
func checkData(data []byte) error {
	if len(data) > MaxMessageBytes {
		return ErrTooLarge
	}
	if !utf8.Valid(data) {
		return ErrUTF8
	}
	return nil
}

// Next decodes the next change into c. It returns false at the end and at the
// first error, which Err then returns. The values of c alias data or the
// decoder's own memory: they are valid until the next call of Changes.
func (d *Decoder) Next(c *Change) bool {
	if d.err != nil || d.attrs == nil {
		return false
	}
	if d.count == d.attrs.Count {
		if len(d.rest) > 0 {
			d.err = fmt.Errorf("decode changes: after line %d: %w", d.count, ErrTrailing)
		}
		return false
	}
	line := d.rest
	d.rest = nil
	if d.attrs.Op == BatchOp {
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line, d.rest = line[:i], line[i+1:]
		}
	}
	if err := d.nextLine(c, line); err != nil {
		d.err = fmt.Errorf("decode changes: line %d, near byte %d of it: %w", d.count+1, d.scan.pos, err)
		return false
	}
	d.count++
	return true
}

// Err returns the error that ended Next, nil at the end of the message.
func (d *Decoder) Err() error { return d.err }

func (d *Decoder) nextLine(c *Change, data []byte) error {
	d.scan = scanner{data: data}
	d.members = d.members[:0]
	d.line = line{}
	if err := d.parseLine(); err != nil {
		return err
	}
	shape, err := d.shapes.find(d)
	if err != nil {
		return err
	}
	if err := d.fill(c, shape); err != nil {
		return err
	}
	if err := checkChange(c); err != nil {
		return err
	}
	return d.checkMessage(c)
}

// checkMessage checks a change against the attributes and the lines before it.
func (d *Decoder) checkMessage(c *Change) error {
	a, t := d.attrs, c.Table
	if t.Source.Database != a.Database || t.Schema != a.Schema || t.Name != a.Table {
		return fmt.Errorf("source and attributes name different tables: %w", ErrField)
	}
	if a.Op != BatchOp && a.Op != c.Op {
		return fmt.Errorf("op isn't the attribute's: %w", ErrField)
	}
	if d.line.txID != uint64(uint32(c.XID)) || d.line.tsMS != c.CommitTime.Millis() ||
		d.line.lsn != uint64(sourceLSN(c)) || d.line.incremental != (c.Snapshot != nil) {
		return fmt.Errorf("source contradicts cdc: %w", ErrField)
	}
	if !d.prev.Less(c.Position) {
		return fmt.Errorf("position isn't above that of the line before: %w", ErrField)
	}
	d.prev = c.Position
	if d.count+1 == a.Count && c.Position != a.Position {
		return fmt.Errorf("attribute position isn't the highest of the message: %w", ErrField)
	}
	return nil
}

// fill makes the Change of the parsed line.
func (d *Decoder) fill(c *Change, s *shape) (err error) {
	l := &d.line
	*c = Change{
		Op: l.op, Position: l.position, Table: s.table,
		XID: l.xid, CommitTime: l.commitTime, ReadTime: ofMillis(l.readMS),
		RowGone: l.rowGone, Snapshot: l.snapshot,
	}
	if l.after.present {
		if c.After, err = d.row(s.table, l.after, s.after); err != nil {
			return err
		}
		for _, i := range s.unchanged {
			c.After[i] = Value{State: Unchanged}
		}
	}
	if l.before.present {
		if c.Before, err = d.row(s.table, l.before, s.before); err != nil {
			return err
		}
	}
	if l.key.present {
		if c.Key, err = d.key(s.table, l.key); err != nil {
			return err
		}
	}
	if l.previous.present {
		c.PreviousKey, err = d.key(s.table, l.previous)
	}
	return err
}

// newRow returns a row of n values, all null.
func (d *Decoder) newRow(n int) Row {
	if d.rows == nil {
		d.rows = make([]Value, 0, 64) // so that a row without columns isn't nil
	}
	start := len(d.rows)
	for range n {
		d.rows = append(d.rows, Value{})
	}
	return d.rows[start : start+n : start+n]
}

// row converts the members of an object to a row of t; to names their columns.
func (d *Decoder) row(t *Table, o object, to []int32) (Row, error) {
	row := d.newRow(len(t.Columns))
	for i, column := range to {
		m := &d.members[o.from+int32(i)]
		if column < 0 { // the placeholder of an unchanged value
			if m.value.kind != jsonString {
				return nil, fmt.Errorf("a placeholder isn't a string: %w", ErrField)
			}
			continue
		}
		v, err := d.values.value(t.plan.columns[column].codec, &d.scan, m.value)
		if err != nil {
			return nil, columnError(t, int(column), err)
		}
		row[column] = v
	}
	return row, nil
}

func (d *Decoder) key(t *Table, o object) (Row, error) {
	row := d.newRow(len(t.Key))
	for i, column := range t.Key {
		v, err := d.values.value(t.plan.columns[column].codec, &d.scan, d.members[o.from+int32(i)].value)
		if err != nil {
			return nil, columnError(t, column, err)
		}
		row[i] = v
	}
	return row, nil
}
