package pgoutput

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pglogrepl"

	"cdc/schema"
)

var when = schema.MicrosOf(time.Date(2026, 11, 30, 22, 35, 32, 123456000, time.UTC))

func check[T any](t *testing.T, parse func([]byte) (T, error), in []byte, want T) {
	t.Helper()
	got, err := parse(in)
	if err != nil {
		t.Fatalf("%T: %v", want, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%T (-want +got):\n%s", want, diff)
	}
	// Whatever is cut off or added is noticed.
	for n := range in {
		if _, err := parse(in[:n]); err == nil {
			t.Errorf("%T cut to %d bytes of %d is accepted", want, n, len(in))
		}
	}
	if _, err := parse(append(in[:len(in):len(in)], 0)); !errors.Is(err, ErrTrailing) && !errors.Is(err, ErrShort) {
		t.Errorf("%T with a byte more: %v", want, err)
	}
}

func TestMessages(t *testing.T) {
	check(t, ParseBegin, msg('B').u64(0x16B374D848).time(when).u32(7), Begin{0x16B374D848, when, 7})
	check(t, ParseCommit, msg('C').u8(0).u64(5).u64(9).time(when), Commit{5, 9, when})
	check(t, ParseOrigin, msg('O').u64(5).str("other"), Origin{5, "other"})
	check(t, ParseType, msg('Y').u32(16832).str("public").str("mood"), Type{16832, "public", "mood"})
	check(t, ParseTruncate, msg('T').u32(2).u8(3).u32(10).u32(11), Truncate{true, true, []uint32{10, 11}})
	check(t, ParseMessage, append(msg('M').u8(1).u64(5).str("outbox").u32(3), "abc"...), Message{true, 5, "outbox", []byte("abc")})
	check(t, ParseRelation,
		msg('R').u32(10).str("public").str("t").u8('d').u16(2).u8(1).str("id").u32(23).u32(0xFFFFFFFF).u8(0).str("v").u32(25).u32(14),
		Relation{10, "public", "t", 'd', []RelationColumn{{true, "id", 23, -1}, {false, "v", 25, 14}}})
	check(t, ParseKeepalive, msg('k').u64(5).time(when).u8(1), Keepalive{5, when, true})
}

func TestRowChanges(t *testing.T) {
	row := schema.Row{schema.TextValue("1"), {}, {State: schema.Unchanged}, schema.TextValue("")}
	key := schema.Row{schema.TextValue("0"), {}, {}, {}}
	for _, want := range []RowChange{
		{Letter: 'I', RelationOID: 7, New: row},
		{Letter: 'U', RelationOID: 7, New: row},
		{Letter: 'U', RelationOID: 7, OldKind: OldKey, Old: key, New: row},
		{Letter: 'U', RelationOID: 7, OldKind: OldFull, Old: row, New: row},
		{Letter: 'D', RelationOID: 7, OldKind: OldKey, Old: key},
		{Letter: 'D', RelationOID: 7, OldKind: OldFull, Old: row},
		{Letter: 'I', RelationOID: 7, New: schema.Row{}},
	} {
		reused := RowChange{New: make(schema.Row, 3, 9), Old: make(schema.Row, 5)}
		check(t, func(b []byte) (RowChange, error) {
			err := reused.Parse(b)
			got := reused
			got.Old, got.New = clip(got.Old, want.Old), clip(got.New, want.New)
			return got, err
		}, rowMessage(want), want)
	}
}

// clip makes an empty row of any kind equal to the wanted one.
func clip(got, want schema.Row) schema.Row {
	if len(got) == 0 && len(want) == 0 {
		return want
	}
	return got
}

func TestRefused(t *testing.T) {
	var c RowChange
	for name, test := range map[string]struct {
		in   []byte
		want error
	}{
		"binary column":          {append(msg('I').u32(7).u8('N').u16(1).u8('b').u32(1), 'x'), ErrBinary},
		"unknown column kind":    {msg('I').u32(7).u8('N').u16(1).u8('z'), ErrValue},
		"insert with an old row": {rowMessage(RowChange{Letter: 'I', OldKind: OldKey}), ErrValue},
		"delete without one":     {msg('D').u32(7).u8('N').u16(0), ErrValue},
		"another letter":         {msg('X').u32(7).u8('N').u16(0), ErrValue},
		"two old rows":           {msg('U').u32(7).u8('K').u16(0).u8('O').u16(0), ErrValue},
		"length beyond the end":  {msg('I').u32(7).u8('N').u16(1).u8('t').u32(0xFFFFFFFF), ErrShort},
		"more columns than sent": {msg('I').u32(7).u8('N').u16(0xFFFF).u8('n'), ErrShort},
	} {
		if err := c.Parse(test.in); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if _, err := ParseTruncate(msg('T').u32(0xFFFFFFFF).u8(0)); !errors.Is(err, ErrShort) {
		t.Errorf("truncate of four billion tables: %v", err)
	}
	if _, err := ParseCommit(msg('C').u8(1).u64(5).u64(9).time(when)); !errors.Is(err, ErrValue) {
		t.Errorf("commit with flags: %v", err)
	}
	// The letters of streamed and prepared transactions name themselves.
	for _, letter := range []byte("SEcAbPKrp0\x00") {
		_, err := Letter([]byte{letter})
		if unknown, ok := errors.AsType[*UnknownError](err); !ok || unknown.Letter != letter {
			t.Errorf("letter %q: %v", letter, err)
		}
	}
	if _, err := Letter(nil); !errors.Is(err, ErrShort) {
		t.Errorf("no letter: %v", err)
	}
}

// pglogrepl, which others wrote, reads the same messages the same way.
func TestSameAsReference(t *testing.T) {
	row := tenColumns()
	in := rowMessage(RowChange{Letter: 'U', RelationOID: 7, OldKind: OldFull, Old: row, New: row})
	m, err := pglogrepl.ParseV2(in, false)
	if err != nil {
		t.Fatal(err)
	}
	var c RowChange
	if err := c.Parse(in); err != nil {
		t.Fatal(err)
	}
	reference := m.(*pglogrepl.UpdateMessageV2)
	var want schema.Row
	for _, col := range reference.NewTuple.Columns {
		v := schema.Value{}
		if col.DataType == 't' {
			v = schema.Value{State: schema.Text, Text: col.Data}
		}
		want = append(want, v)
	}
	if diff := cmp.Diff(want, c.New, cmpopts.EquateEmpty()); diff != "" || reference.RelationID != c.RelationOID || reference.OldTupleType != c.OldKind {
		t.Errorf("(-pglogrepl +ours):\n%s", diff)
	}
	x, err := ParseXLogData(append(msg('w').u64(1).u64(2).time(when), in...))
	reference2, err2 := pglogrepl.ParseXLogData(append(builder{}.u64(1).u64(2).time(when), in...))
	if err != nil || err2 != nil || uint64(x.Start) != uint64(reference2.WALStart) || !x.SendTime.Time().Equal(reference2.ServerTime.UTC()) || string(x.Data) != string(in) {
		t.Errorf("XLogData %+v (%v), reference %+v (%v)", x, err, reference2, err2)
	}
}

// Write, flush and apply are all the confirmed LSN, zero too: the library that
// turns a flush of zero into the write position confirms what nobody published.
func TestStatusUpdate(t *testing.T) {
	for _, lsn := range []schema.LSN{0, 0x1_0000_0002} {
		got := AppendStatusUpdate([]byte("x"), lsn, when, true)
		want := append([]byte("xd"), builder{}.u32(38).u8('r').u64(uint64(lsn)).u64(uint64(lsn)).u64(uint64(lsn)).time(when).u8(1)...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(got)-1-1 != 38 {
			t.Errorf("length says 38, is %d", len(got)-2)
		}
	}
}

func TestRowAllocatesNothing(t *testing.T) {
	in := rowMessage(RowChange{Letter: 'U', RelationOID: 7, OldKind: OldFull, Old: tenColumns(), New: tenColumns()})
	frame := append(msg('w').u64(1).u64(2).time(when), in...)
	var c RowChange
	status := make([]byte, 0, 64)
	n := testing.AllocsPerRun(1000, func() {
		x, err := ParseXLogData(frame)
		if err == nil {
			err = c.Parse(x.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
		status = AppendStatusUpdate(status[:0], x.End, when, false)
	})
	if n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(msg('B').u64(1).time(when).u32(7)))
	f.Add([]byte(msg('R').u32(10).str("public").str("t").u8('d').u16(1).u8(1).str("id").u32(23).u32(0)))
	f.Add(rowMessage(RowChange{Letter: 'U', RelationOID: 7, OldKind: OldFull, Old: tenColumns(), New: tenColumns()}))
	f.Add([]byte(msg('T').u32(1).u8(0).u32(7)))
	f.Add(append([]byte(msg('M').u8(1).u64(5).str("p").u32(1)), 'x'))
	f.Add([]byte(append(msg('w').u64(1).u64(2).time(when), 'I')))
	f.Fuzz(func(t *testing.T, in []byte) {
		var c RowChange
		if c.Parse(in) == nil {
			// What was understood is what was sent.
			if out := rowMessage(c); string(out) != string(in) {
				t.Fatalf("parsed %x, written %x", in, out)
			}
		}
		_, _ = Letter(in)
		_, _ = ParseBegin(in)
		_, _ = ParseCommit(in)
		_, _ = ParseOrigin(in)
		_, _ = ParseType(in)
		_, _ = ParseMessage(in)
		_, _ = ParseXLogData(in)
		_, _ = ParseKeepalive(in)
		if m, err := ParseTruncate(in); err == nil && len(m.RelationOIDs)*4 > len(in) {
			t.Fatal("more tables than bytes")
		}
		if m, err := ParseRelation(in); err == nil && len(m.Columns)*10 > len(in) {
			t.Fatal("more columns than bytes")
		}
	})
}

func BenchmarkParseRow(b *testing.B) {
	in := rowMessage(RowChange{Letter: 'I', RelationOID: 7, New: tenColumns()})
	frame := append(msg('w').u64(1).u64(2).time(when), in...)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(frame)))
		b.ReportAllocs()
		var c RowChange
		for b.Loop() {
			x, err := ParseXLogData(frame)
			if err != nil || c.Parse(x.Data) != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reference=pglogrepl.ParseV2", func(b *testing.B) {
		b.SetBytes(int64(len(frame)))
		b.ReportAllocs()
		for b.Loop() {
			x, err := pglogrepl.ParseXLogData(frame[1:])
			if err != nil {
				b.Fatal(err)
			}
			if _, err := pglogrepl.ParseV2(x.WALData, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}
