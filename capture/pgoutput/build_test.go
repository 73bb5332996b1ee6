package pgoutput

import (
	"encoding/binary"

	"cdc/schema"
)

// builder writes messages as the server does.
type builder []byte

func msg(letter byte) builder { return builder{letter} }

func (b builder) u8(n byte) builder    { return append(b, n) }
func (b builder) u16(n uint16) builder { return binary.BigEndian.AppendUint16(b, n) }
func (b builder) u32(n uint32) builder { return binary.BigEndian.AppendUint32(b, n) }
func (b builder) u64(n uint64) builder { return binary.BigEndian.AppendUint64(b, n) }
func (b builder) str(s string) builder { return append(append(b, s...), 0) }

func (b builder) time(m schema.Micros) builder { return b.u64(uint64(m - postgresEpoch)) }

// tuple writes a TupleData.
func (b builder) tuple(row schema.Row) builder {
	b = b.u16(uint16(len(row)))
	for _, v := range row {
		switch v.State {
		case schema.Null:
			b = b.u8('n')
		case schema.Unchanged:
			b = b.u8('u')
		default:
			b = append(b.u8('t').u32(uint32(len(v.Text))), v.Text...)
		}
	}
	return b
}

// rowMessage writes c as the server does.
func rowMessage(c RowChange) []byte {
	b := msg(c.Letter).u32(c.RelationOID)
	if c.OldKind != OldNone {
		b = b.u8(c.OldKind).tuple(c.Old)
	}
	if c.Letter != DeleteByte {
		b = b.u8('N').tuple(c.New)
	}
	return b
}

func tenColumns() schema.Row {
	return schema.Row{
		schema.TextValue("9223372036854775807"), schema.TextValue("Ada Lovelace"), schema.TextValue("ada@example.com"),
		schema.TextValue("1815.12"), schema.TextValue("2026-11-30 22:35:32.123456+00"), schema.TextValue("t"),
		{},
		schema.TextValue("open"), schema.TextValue("17"), schema.TextValue("a note of some length, as people write them"),
	}
}
