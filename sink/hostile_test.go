package sink_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink/bigquerytest"
	"cdc/sink/tables"
)

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (w *world) logTo() *logBuffer {
	var l logBuffer
	w.log = slog.New(slog.NewJSONHandler(&l, nil))
	return &l
}

// tableOf is a table with the columns, of which the first n are the key, and a
// change of it.
func (w *world) changeOf(name string, n int, columns ...string) *schema.Change {
	w.t.Helper()
	st := schema.Table{Source: w.tables[0].Source, Schema: "public", Name: name, Version: 1}
	row := make(schema.Row, len(columns))
	for i, c := range columns {
		st.Columns = append(st.Columns, schema.Column{Name: c, Type: "text", AttNum: int16(i + 1)})
		row[i] = schema.TextValue("1")
		if i < n {
			st.Key = append(st.Key, i)
		}
	}
	t, err := schema.NewTable(st)
	must(w.t, err)
	return &schema.Change{
		Op: schema.Create, Table: t, Key: row[:n], After: row, XID: 7, CommitTime: schema.MicrosOf(time.Now()),
		Position: schema.Position{Epoch: 1, CommitLSN: 100, ChangeLSN: 100},
	}
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	return names
}

// A table that BigQuery can't have is held with a code and a fix; it is neither
// acked nor dead-lettered, and the others go on.
func TestImpossibleTableIsHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		code   string
		change func(w *world) *schema.Change
	}{
		"name":        {"table_name", func(w *world) *schema.Change { return w.changeOf("x`; DROP TABLE `orders", 1, "id") }},
		"point":       {"table_name", func(w *world) *schema.Change { return w.changeOf(strings.Repeat("é", 31)+".", 1, "id") }},
		"reserved":    {"column_name", func(w *world) *schema.Change { return w.changeOf("t", 1, "id", "_PARTITIONTIME") }},
		"ours":        {"column_name", func(w *world) *schema.Change { return w.changeOf("t", 1, "id", "_cdc_position") }},
		"long column": {"column_name", func(w *world) *schema.Change { return w.changeOf("t", 1, "id", strings.Repeat("漢", 301)) }},
		"case":        {"column_collision", func(w *world) *schema.Change { return w.changeOf("t", 1, "id", "ID") }},
		"key":         {"key_too_wide", func(w *world) *schema.Change { return w.changeOf("t", 17, numbered(17)...) }},
		"wide":        {"table_too_wide", func(w *world) *schema.Change { return w.changeOf("t", 1, numbered(1999)...) }},
		"collision": {"table_collision", func(w *world) *schema.Change {
			w.send(w.order("0", "x", 50, schema.Create))
			w.eventually("orders is there", func() bool { return len(w.bigquery.Rows("p", "shop", "orders")) == 1 })
			return w.changeOf("ORDERS", 1, "id")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
			w.cfg.Pull.MaxBytes = 64 << 20
			log := w.logTo()
			s := w.start()
			w.send(tt.change(w))
			w.eventually("held", func() bool { return strings.Contains(log.String(), `"code":"`+tt.code+`"`) })
			w.send(w.order("1", "x", 100, schema.Create))
			w.eventually("the other is acked", func() bool { return w.pubsub.Counters().Acks == int64(len(w.ids))-1 })
			must(t, s.stop())
			if len(w.dead()) != 0 || w.pubsub.Counters().Acks != int64(len(w.ids))-1 {
				t.Error("it was acked or dead-lettered")
			}
		})
	}
}

// A message of another database is held: its table may have the name of ours.
func TestForeignDatabaseIsHeld(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.Database = "shop"
	log := w.logTo()
	s := w.start()
	c := w.order("1", "foreign", 900, schema.Create)
	st := *c.Table
	st.Source.Database = "other"
	var err error
	c.Table, err = schema.NewTable(st)
	must(t, err)
	w.send(c)
	w.send(w.order("2", "x", 100, schema.Create))
	w.eventually("the other is acked and it is held", func() bool {
		return w.pubsub.Counters().Acks == 1 && strings.Contains(log.String(), `"code":"wrong_database"`)
	})
	must(t, s.stop())
	if got := w.titles(); len(got) != 1 || len(w.dead()) != 0 {
		t.Errorf("%v, %d dead letters", got, len(w.dead()))
	}
}

// A message whose dead letter doesn't fit a message is held; the others go on.
func TestGiantGarbageIsHeld(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	log := w.logTo()
	s := w.start()
	garbage := make([]byte, 9_990_000)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(garbage)
	w.sendRaw("public.orders|9", garbage, map[string]string{"v": "1", "schema": "public", "table": "orders", "op": "c"})
	w.sendRaw("", []byte("x"), map[string]string{"schema": "public", "table": "orders"})
	w.send(w.order("1", "x", 100, schema.Create))
	w.eventually("the others are acked and it is held", func() bool {
		return w.pubsub.Counters().Acks == 2 && strings.Contains(log.String(), `"code":"dead_letter_too_large"`)
	})
	must(t, s.stop())
	if len(w.dead()) != 1 || len(w.titles()) != 1 {
		t.Errorf("%d dead letters, rows %v", len(w.dead()), w.titles())
	}
}

// A row of 8 MB is large, not bad; with others it makes a request of its own.
func TestLargeRowIsWritten(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	s := w.start()
	for i := range 4 {
		w.send(w.order(strconv.Itoa(i), strings.Repeat("x", 1<<20+i*2_300_000), 100+i, schema.Create))
	}
	w.settled(s.Sink)
	must(t, s.stop())
	if n := len(w.dead()); n != 0 || len(w.titles()) != 4 {
		t.Errorf("%d dead letters, %d rows", n, len(w.titles()))
	}
}

// 20,000 deletes in one message that came before their table: each is written,
// in appends of the usual size, and decoding them again isn't quadratic.
func TestManyDeletesBeforeTheirTable(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.BatchRows = 1000
	var deletes []*schema.Change
	for i := range 20_000 {
		deletes = append(deletes, w.order(strconv.Itoa(i), "", 1000+i, schema.Delete))
	}
	w.send(deletes...)
	s := w.start()
	w.eventually("received", func() bool { return s.Stats().Messages == 1 })
	w.send(w.order("77777", "x", 100, schema.Create))
	w.settled(s.Sink)
	must(t, s.stop())
	if st := s.Stats(); st.Changes != 20_001 || st.Batches < 20 || st.DeadLetters != 0 {
		t.Errorf("%+v, want 20,001 changes in at least 20 batches", st)
	}
}

// A sink whose first change is a delete writes deletes and complete rows with
// one stream: it doesn't cut its batches at each change from one to the other.
func TestDeleteFirstCutsNoBatches(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1, RoundTrip: 5 * time.Millisecond})
	s := w.start()
	w.send(w.order("0", "x", 100, schema.Create))
	w.settled(s.Sink)
	must(t, s.stop())
	w.eventually("the stream is closed", func() bool { return w.pubsub.Counters().StreamsOpen == 0 })
	s = w.start()
	w.send(w.order("0", "", 101, schema.Delete))
	w.settled(s.Sink)
	var changes []*schema.Change
	for i := range 400 {
		changes = append(changes, w.order(strconv.Itoa(i), "x", 200+2*i, schema.Create), w.order(strconv.Itoa(1000+i), "", 201+2*i, schema.Delete))
	}
	w.send(changes...)
	w.settled(s.Sink)
	must(t, s.stop())
	if st := s.Stats(); st.Batches > 10 {
		t.Errorf("%d appends for %d changes", st.Batches, st.Changes)
	}
}

// A table that somebody made again without its key refuses every row and names
// none: that is said, and no good row becomes a dead letter.
func TestTableChangedByHandIsNoBadRow(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1, SchemaDelay: -1})
	s := w.start()
	w.send(w.order("1", "x", 100, schema.Create))
	w.settled(s.Sink)
	client, err := bigquery.NewClient(t.Context(), "p", w.connections().BigQuery...)
	must(t, err)
	defer func() { must(t, client.Close()) }()
	table := client.Dataset("shop").Table("orders")
	md, err := table.Metadata(t.Context())
	must(t, err)
	must(t, table.Delete(t.Context()))
	must(t, table.Create(t.Context(), &bigquery.TableMetadata{Schema: md.Schema}))
	w.send(w.order("2", "x", 101, schema.Create), w.order("3", "x", 102, schema.Create))
	w.eventually("Run ended", func() bool { return len(s.ended) == 1 })
	err = <-s.ended
	must(t, s.Close())
	if e, ok := errors.AsType[*tables.Error](err); !ok || e.Code() != "key_changed" {
		t.Errorf("Run = %v, want key_changed", err)
	}
	if n := len(w.dead()); n != 0 {
		t.Errorf("%d dead letters of good rows", n)
	}
}

// Messages that were given back don't hold a later stop up.
func TestStopAfterGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.Pull.MaxLease = w.cfg.Pull.Lease
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultUnavailable, Count: -1})
	s := w.start()
	w.send(w.order("1", "x", 100, schema.Create))
	w.eventually("given back", func() bool { return w.pubsub.Counters().Nacks > 0 })
	w.bigquery.ClearFaults()
	w.settled(s.Sink)
	w.eventually("nothing is left to wait for", func() bool { return s.Waited() == 0 })
	must(t, s.stop())
}

// A good message with a broken byte, cut, doubled, or without an attribute: it is
// written, dead or held, the sink lives, and no value of it is in the log.
func TestMangledMessages(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	log := w.logTo()
	r := rand.New(rand.NewPCG(newSeed(t), 1))
	good := w.order("1", "SECRETVALUE", 100, schema.Create)
	m, err := schematest.Message(good)
	must(t, err)
	attributes := make(map[string]string)
	m.Attributes.Each(func(name string, value []byte) { attributes[name] = string(value) })
	for i := range 90 { // fewer than the brake takes
		data, a := bytes.Clone(m.Data), maps.Clone(attributes)
		switch at := r.IntN(len(data)); i % 5 {
		case 0:
			data[at] = 0xff
		case 1:
			data = data[:at]
		case 2:
			data = append(data[:at:at], data...)
		case 3:
			for name := range a {
				delete(a, name)
				break
			}
		default:
			data = bytes.Repeat([]byte("["), 5000)
		}
		a["schema"], a["table"] = "public", "orders"
		w.sendRaw("", data, a)
	}
	w.send(w.order("2", "x", 200, schema.Create))
	s := w.start()
	w.eventually("all acked but what is held", func() bool {
		return strings.Contains(log.String(), `"message held"`) && w.pubsub.Counters().Acks > int64(len(w.ids))-20 || w.pubsub.Counters().Acks == int64(len(w.ids))
	})
	must(t, s.stop())
	if w.titles()["2"] != "x" {
		t.Error("the good row isn't there")
	}
	if strings.Contains(log.String(), "SECRETVALUE") {
		t.Error("a row's value in the log")
	}
	for _, letter := range w.dead() {
		if strings.Contains(letter.Attributes["error"], "SECRETVALUE") {
			t.Error("a row's value in a dead letter's reason")
		}
	}
}
