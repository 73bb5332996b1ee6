package pgoutput

import "cdc/schema"

// What a RowChange's Old is.
const (
	OldNone byte = 0   // no old row was sent
	OldKey  byte = 'K' // only the columns of the replica identity; the others are null, which says nothing
	OldFull byte = 'O' // the complete old row (REPLICA IDENTITY FULL)
)

// RowChange is an INSERT, UPDATE or DELETE message. Parse reuses its rows, whose
// values alias the parsed buffer.
type RowChange struct {
	Letter      byte // InsertByte, UpdateByte or DeleteByte
	RelationOID uint32
	OldKind     byte       // OldNone, OldKey or OldFull
	Old         schema.Row // empty if OldKind is OldNone
	New         schema.Row // empty for a DELETE
}

// Parse parses an INSERT, UPDATE or DELETE message into c.
func (c *RowChange) Parse(b []byte) error {
	r := reader{b: b}
	c.Letter = r.byte()
	c.RelationOID = r.uint32()
	c.OldKind = OldNone
	c.Old, c.New = c.Old[:0], c.New[:0]
	kind := r.byte()
	switch {
	case r.err != nil:
	case c.Letter == InsertByte && kind == 'N':
		c.New = r.tuple(c.New)
	case c.Letter == UpdateByte && kind == 'N':
		c.New = r.tuple(c.New)
	case c.Letter == UpdateByte && (kind == OldKey || kind == OldFull):
		c.OldKind = kind
		c.Old = r.tuple(c.Old)
		if next := r.byte(); r.err == nil && next != 'N' {
			r.fail(ErrValue)
		}
		c.New = r.tuple(c.New)
	case c.Letter == DeleteByte && (kind == OldKey || kind == OldFull):
		c.OldKind = kind
		c.Old = r.tuple(c.Old)
	default:
		r.fail(ErrValue)
	}
	return wrap("row change", r.end())
}

// tuple appends the columns of a TupleData to dst.
func (r *reader) tuple(dst schema.Row) schema.Row {
	n := int(r.uint16())
	for range n {
		switch r.byte() {
		case 'n':
			if r.err == nil {
				dst = append(dst, schema.Value{State: schema.Null})
			}
		case 'u':
			dst = append(dst, schema.Value{State: schema.Unchanged})
		case 't':
			dst = append(dst, schema.Value{State: schema.Text, Text: r.bytes()})
		case 'b':
			r.fail(ErrBinary)
		default:
			r.fail(ErrValue)
		}
		if r.err != nil {
			return dst
		}
	}
	return dst
}
