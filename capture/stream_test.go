package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"cdc/capture/catalog"
	"cdc/schema"
	"cdc/schema/schematest"
)

// frames writes what the server sends.
type frames []byte

func (b frames) u8(n byte) frames    { return append(b, n) }
func (b frames) u16(n uint16) frames { return binary.BigEndian.AppendUint16(b, n) }
func (b frames) u32(n uint32) frames { return binary.BigEndian.AppendUint32(b, n) }
func (b frames) u64(n uint64) frames { return binary.BigEndian.AppendUint64(b, n) }
func (b frames) str(s string) frames { return append(append(b, s...), 0) }

func wal(lsn uint64) frames { return frames{'w'}.u64(lsn).u64(lsn).u64(0) }

func beginFrame(final uint64) frames  { return wal(1).u8('B').u64(final).u64(0).u32(7) }
func commitFrame(final uint64) frames { return wal(1).u8('C').u8(0).u64(final).u64(final + 8).u64(0) }

func relationFrame(oid uint32, t *schema.Table, identity byte) frames {
	b := wal(0).u8('R').u32(oid).str(t.Schema).str(t.Name).u8(identity).u16(uint16(len(t.Columns)))
	for i, c := range t.Columns {
		flags := byte(0)
		if slices.Contains(t.Key, i) {
			flags = 1
		}
		b = b.u8(flags).str(c.Name).u32(uint32(100 + i)).u32(0xFFFFFFFF)
	}
	return b
}

func (b frames) tuple(row schema.Row) frames {
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

const testOID = 7

// offline returns a stream without a server that knows one table.
func offline(tb testing.TB, t *schema.Table, p Publisher) *stream {
	tb.Helper()
	cfg, err := (&database{name: "x"}).config().withDefaults()
	if err != nil {
		tb.Fatal(err)
	}
	cfg.WindowBytes = 1 << 40 // the fuzzer's publisher accepts nothing
	live := &catalog.Table{OID: testOID, Schema: t.Schema, Name: t.Name, ReplicaIdentity: "d", Key: t.Key}
	for i, c := range t.Columns {
		live.Columns = append(live.Columns, catalog.Column{Name: c.Name, Type: c.Type, TypeOID: uint32(100 + i), TypeMod: -1, AttNum: c.AttNum})
	}
	f := newFlight(cfg.WindowBytes, 0)
	return &stream{
		ctx: context.Background(), cfg: &cfg, publisher: p, flight: f, phase: &phase{}, counters: &counters{}, accepted: f.accepted,
		check: func(context.Context, uint32, uint64) error { return nil }, reference: &atomic.Uint64{}, reply: func() {},
		epoch: 1, tables: map[uint32]*known{testOID: {live: live, table: t}}, relations: map[uint32]*relation{},
	}
}

func feed(tb testing.TB, s *stream, frames ...frames) {
	tb.Helper()
	for _, f := range frames {
		if err := s.frame(f); err != nil {
			tb.Fatal(err)
		}
	}
}

// From the bytes that were received to the publisher nothing is allocated a row.
func TestRowAllocatesNothing(t *testing.T) {
	for name, c := range map[string]*schema.Change{"ten columns": schematest.TenColumns(), "every type": schematest.EveryType()} {
		s := offline(t, c.Table, null{})
		full := slices.Clone(c.After)
		for i := range full {
			if full[i].State == schema.Unchanged {
				full[i] = schema.Value{}
			}
		}
		feed(t, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'))
		insert := wal(90).u8('I').u32(testOID).u8('N').tuple(full)
		moved := slices.Clone(full)
		moved[c.Table.Key[0]] = schema.TextValue("0")
		update := wal(95).u8('U').u32(testOID).u8('K').tuple(moved).u8('N').tuple(full)
		if n := testing.AllocsPerRun(200, func() { feed(t, s, insert, update) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// What can't be in a stream is an error and confirms nothing.
func TestProtocolErrors(t *testing.T) {
	c := schematest.TenColumns()
	relation, row := relationFrame(testOID, c.Table, 'd'), wal(90).u8('I').u32(testOID).u8('N').tuple(c.After)
	for name, sequence := range map[string][]frames{
		"row outside of a transaction":    {row},
		"relation outside of one":         {relation},
		"row without its relation":        {beginFrame(100), row},
		"transaction inside of another":   {beginFrame(100), beginFrame(200)},
		"commit without begin":            {commitFrame(100)},
		"commit of another transaction":   {beginFrame(100), commitFrame(200)},
		"row of another width":            {beginFrame(100), relation, wal(90).u8('I').u32(testOID).u8('N').tuple(c.After[1:])},
		"null in a key":                   {beginFrame(100), relation, wal(90).u8('I').u32(testOID).u8('N').tuple(make(schema.Row, len(c.After)))},
		"empty frame":                     {{}},
		"unknown frame":                   {{'z'}},
		"frame that ends early":           {{'w', 0}},
		"keepalive that ends early":       {{'k', 0}},
		"message of a streamed block":     {wal(0).u8('S')},
		"message of a prepared one":       {wal(0).u8('b')},
		"empty message":                   {wal(0)},
		"logical message that ends early": {wal(0).u8('M')},
	} {
		s := offline(t, c.Table, null{})
		var err error
		for i, f := range sequence {
			if err = s.frame(f); err != nil && i < len(sequence)-1 {
				t.Fatalf("%s: too early: %v", name, err)
			}
		}
		if codeOf(t, err) != "protocol" {
			t.Errorf("%s: %v", name, err)
		}
		if lsn, _ := s.flight.confirmable(); lsn != 0 {
			t.Errorf("%s: confirmable %s", name, lsn)
		}
	}
}

// A keepalive inside a transaction confirms nothing; messages that aren't rows
// are passed over; one with reply asks for a status update.
func TestFramesBesideRows(t *testing.T) {
	c := schematest.TenColumns()
	s := offline(t, c.Table, null{})
	asked := 0
	s.reply = func() { asked++ }
	keepalive := func(lsn uint64, reply byte) frames { return frames{'k'}.u64(lsn).u64(0).u8(reply) }
	confirmable := func(want schema.LSN) {
		t.Helper()
		if lsn, _ := s.flight.confirmable(); lsn != want {
			t.Errorf("confirmable %s, want %s", lsn, want)
		}
	}
	feed(t, s, keepalive(50, 0))
	confirmable(50)
	feed(t, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'), wal(0).u8('Y').u32(9).str("public").str("mood"),
		wal(0).u8('O').u64(3).str("origin"), append(wal(70).u8('M').u8(1).u64(70).str("p").u32(1), 'x'),
		wal(90).u8('I').u32(testOID).u8('N').tuple(c.After), keepalive(500, 1))
	confirmable(50)
	feed(t, s, commitFrame(100))
	confirmable(108)
	feed(t, s, keepalive(500, 0))
	confirmable(500)
	if asked != 1 {
		t.Errorf("asked for a reply %d times", asked)
	}
}

// Index counts row changes within one LSN and nothing else: an ordinal of the
// transaction would shift when the published set changes before a re-send.
func TestIndexCountsWithinAnLSN(t *testing.T) {
	c := schematest.TenColumns()
	r := newRecorder(t, 0)
	s := offline(t, c.Table, r)
	insert := func(lsn uint64) frames { return wal(lsn).u8('I').u32(testOID).u8('N').tuple(c.After) }
	feed(t, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'), insert(90), insert(90), insert(91), insert(95), insert(95), insert(95), commitFrame(100),
		beginFrame(200), insert(150), insert(150), commitFrame(200))
	var got []schema.Position
	for _, m := range r.snapshot() {
		got = append(got, m.attrs.Position)
	}
	at := func(commit, change schema.LSN, index uint32) schema.Position {
		return schema.Position{Epoch: 1, CommitLSN: commit, ChangeLSN: change, Index: index}
	}
	want := []schema.Position{
		at(100, 90, 0), at(100, 90, 1), at(100, 91, 0), at(100, 95, 0), at(100, 95, 1), at(100, 95, 2), at(200, 150, 0), at(200, 150, 1),
	}
	if !slices.Equal(got, want) {
		t.Errorf("positions %v, want %v", got, want)
	}
}

// An old key that was sent has nulls for all other columns, which say nothing: an
// unchanged value beside it stops the stream and never becomes a null.
func TestOldKeyFillsNothingElse(t *testing.T) {
	c := schematest.TenColumns()
	old, row := make(schema.Row, len(c.After)), slices.Clone(c.After)
	old[0] = schema.TextValue("0")
	row[6] = schema.Value{State: schema.Unchanged}
	r := newRecorder(t, 0)
	s := offline(t, c.Table, r)
	feed(t, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'))
	err := s.frame(wal(90).u8('U').u32(testOID).u8('K').tuple(old).u8('N').tuple(row))
	if codeOf(t, err) != "unchanged_toast" || r.len() != 0 {
		t.Errorf("got %v, %d messages", err, r.len())
	}
}

// Messages larger than Pub/Sub takes, and a publisher that fails, stop the stream.
func TestEmitErrors(t *testing.T) {
	c := schematest.TenColumns()
	row := slices.Clone(c.After)
	row[slices.IndexFunc(c.Table.Columns, func(c schema.Column) bool { return c.Type == "text" })] = schema.Value{State: schema.Text, Text: make([]byte, 10_000_000)}
	for i := range row {
		for j := range row[i].Text {
			if row[i].Text[j] == 0 {
				row[i].Text[j] = 'x'
			}
		}
	}
	s := offline(t, c.Table, null{})
	feed(t, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'))
	if err := s.frame(wal(90).u8('I').u32(testOID).u8('N').tuple(row)); codeOf(t, err) != "message_too_large" {
		t.Errorf("got %v", err)
	}
	s = offline(t, c.Table, failing{})
	feed(t, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'))
	if err := s.frame(wal(90).u8('I').u32(testOID).u8('N').tuple(c.After)); !errors.Is(err, errFailing) {
		t.Errorf("got %v", err)
	}
}

var errFailing = errors.New("no more")

type failing struct{}

func (failing) Publish(context.Context, *schema.Message, uint64, func(uint64)) error {
	return errFailing
}

// ignoring takes messages and never accepts one.
type ignoring struct{}

func (ignoring) Publish(context.Context, *schema.Message, uint64, func(uint64)) error { return nil }

// Whatever comes, nothing panics, and nothing above what was committed with
// nothing in flight becomes confirmable.
func FuzzFrames(f *testing.F) {
	c := schematest.TenColumns()
	relation, row := relationFrame(testOID, c.Table, 'd'), wal(90).u8('I').u32(testOID).u8('N').tuple(c.After)
	update := wal(95).u8('U').u32(testOID).u8('K').tuple(c.After).u8('N').tuple(c.After)
	for _, sequence := range [][]frames{
		{beginFrame(100), relation, row, update, commitFrame(100)},
		{beginFrame(100), commitFrame(100), frames{'k'}.u64(500).u64(0).u8(1)},
		{beginFrame(100), relation, wal(90).u8('D').u32(testOID).u8('K').tuple(c.After), wal(91).u8('T').u32(1).u8(0).u32(testOID)},
	} {
		var in frames
		for _, one := range sequence {
			in = append(in.u16(uint16(len(one))), one...)
		}
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := offline(t, c.Table, ignoring{})
		for len(in) >= 2 {
			n := min(int(binary.BigEndian.Uint16(in)), len(in)-2)
			if s.frame(in[2:2+n]) != nil {
				break
			}
			in = in[2+n:]
		}
		if _, messages := s.flight.load(); messages > 0 {
			before, _ := s.flight.confirmable()
			s.flight.keepalive(schema.LSN(1 << 62))
			if after, _ := s.flight.confirmable(); after != before {
				t.Fatalf("confirmable %s with messages in flight", after)
			}
		}
	})
}

// BenchmarkFrame is the way of one row from the received bytes to the publisher.
func BenchmarkFrame(b *testing.B) {
	c := schematest.TenColumns()
	s := offline(b, c.Table, null{})
	feed(b, s, beginFrame(100), relationFrame(testOID, c.Table, 'd'))
	insert := wal(90).u8('I').u32(testOID).u8('N').tuple(c.After)
	b.SetBytes(int64(len(insert)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.frame(insert); err != nil {
			b.Fatal(err)
		}
	}
}
