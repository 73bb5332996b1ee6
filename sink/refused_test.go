package sink_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink/bigquerytest"
)

// order makes a change of the first table with the key.
func (w *world) order(key, title string, lsn int, op schema.Op) *schema.Change {
	t := w.tables[0]
	row := schema.Row{schema.TextValue(key), schema.TextValue(title), {}, {}, {}}
	c := &schema.Change{
		Op: op, Table: t, Key: row[:1], XID: 7, CommitTime: schema.MicrosOf(time.Now()),
		Position: schema.Position{Epoch: 1, CommitLSN: schema.LSN(lsn), ChangeLSN: schema.LSN(lsn)},
	}
	if op != schema.Delete {
		c.After = row
	}
	return c
}

// dead returns the dead letters; each must decode as a message of its own.
func (w *world) dead() []pubsubtest.StoredMessage {
	w.t.Helper()
	stored := w.pubsub.Stored(deadTopic)
	for _, m := range stored {
		for _, name := range []string{"error_code", "error", "source_subscription", "message_id", "delivery_attempt", "failed_at", "ordering_key"} {
			if _, ok := m.Attributes[name]; !ok {
				w.t.Errorf("dead letter without %s", name)
			}
		}
		if m.OrderingKey != "" {
			w.t.Error("a dead letter with an ordering key")
		}
	}
	return stored
}

func (w *world) decodeLetter(m pubsubtest.StoredMessage) *schema.Change {
	w.t.Helper()
	var d schema.Decoder
	var a schema.Attributes
	for name, value := range m.Attributes {
		must(w.t, d.Attribute(&a, []byte(name), []byte(value)))
	}
	changes, err := schematest.Decode(&schema.Message{Attributes: a, Data: m.Data})
	must(w.t, err)
	if len(changes) != 1 {
		w.t.Fatalf("%d changes in a dead letter", len(changes))
	}
	return changes[0]
}

func (w *world) titles() map[string]string {
	titles := make(map[string]string)
	for _, row := range w.bigquery.Rows("p", "shop", "orders") {
		titles[row["id"].(string)] = row["title"].(string)
	}
	return titles
}

// One row that BigQuery refuses, among 150 of one request: it alone goes to the
// dead letter, cut out of its message.
func TestRefusedRowAmongGoodOnes(t *testing.T) {
	for _, kind := range []bigquerytest.FaultKind{bigquerytest.FaultRefuseRow, bigquerytest.FaultRefuseRequest} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
			w.bigquery.Inject(bigquerytest.Fault{Kind: kind, Key: "77", Count: -1})
			var changes []*schema.Change
			for i := range 150 {
				changes = append(changes, w.order(strconv.Itoa(i), "title", 100+i, schema.Create))
			}
			w.send(changes...) // one message, so one request
			s := w.start()
			w.settled(s.Sink)
			must(t, s.stop())
			if n := len(w.titles()); n != 149 {
				t.Errorf("%d rows, want 149", n)
			}
			dead := w.dead()
			if len(dead) != 1 {
				t.Fatalf("%d dead letters, want 1", len(dead))
			}
			c := w.decodeLetter(dead[0])
			if string(c.Key[0].Text) != "77" || c.Position != changes[77].Position || dead[0].Attributes["op"] != "c" || dead[0].Attributes["count"] != "1" {
				t.Errorf("dead letter %v of %v", c.Key, dead[0].Attributes)
			}
			if st := s.Stats(); st.DeadLetters != 1 || st.Changes != 149 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// What a refused change hid is sent in its place.
func TestRefusedRowUncoversOlder(t *testing.T) {
	w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	// Refused by the sink itself, it hides nothing; refused by BigQuery, what it
	// hid is sent. The first refusal of key 1 is the newest change.
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultRefuseRow, Key: "1", Count: 1})
	w.send(
		w.order("1", "old", 100, schema.Create),
		w.order("2", "good", 101, schema.Create),
		w.order("1", "newer", 102, schema.Update),
		w.order("1", "newest", 103, schema.Update),
	)
	s := w.start()
	w.settled(s.Sink)
	must(t, s.stop())
	if got := w.titles(); got["1"] != "newer" || got["2"] != "good" {
		t.Errorf("%v, want newer and good", got)
	}
	if dead := w.dead(); len(dead) != 1 || dead[0].Attributes["position"] != "00000001/0000000000000067/0000000000000067/00000000" {
		t.Errorf("dead letters %v", dead)
	}
}

// Values that BigQuery would change silently are dead letters; a change with
// unchanged values is never upserted.
func TestLocallyRefused(t *testing.T) {
	w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	toast := w.order("1", "", 103, schema.Update)
	toast.After = schema.Row{schema.TextValue("1"), {State: schema.Unchanged}, {}, {}, {}}
	gone := w.order("2", "", 104, schema.Update)
	gone.After, gone.RowGone = schema.Row{schema.TextValue("2"), {State: schema.Unchanged}, {}, {}, {}}, true
	w.send(w.order("1", "whole", 100, schema.Create), w.order("2", "x", 101, schema.Create), toast, gone, w.order("2", "", 105, schema.Delete))
	w.sendRaw("public.orders|9", []byte(`{"nonsense"`), map[string]string{"v": "1", "schema": "public", "table": "orders", "op": "c"})
	w.sendRaw("", []byte(`x`), map[string]string{"foreign": "\u00e9"})
	s := w.start()
	w.settled(s.Sink)
	must(t, s.stop())
	if got := w.titles(); len(got) != 1 || got["1"] != "whole" {
		t.Errorf("%v, want the whole row", got)
	}
	var codes []string
	for _, m := range w.dead() {
		codes = append(codes, m.Attributes["error_code"])
	}
	slices.Sort(codes)
	if !slices.Equal(codes, []string{"unchanged_toast", "undecodable", "undecodable"}) {
		t.Errorf("codes %v", codes)
	}
	if st := s.Stats(); st.Ignored != 1 {
		t.Errorf("%+v, want 1 ignored", st)
	}
}

// More than 100 refused rows hold the table; the others go on.
func TestBrakeHoldsTable(t *testing.T) {
	w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultRefuseAll, Table: "orders", Count: -1})
	var changes []*schema.Change
	for i := range 150 {
		changes = append(changes, w.order(strconv.Itoa(i), "title", 100+i, schema.Create))
	}
	s := w.start()
	w.send(changes...)
	w.eventually("held", func() bool { return s.Ready() != nil && strings.Contains(s.Ready().Error(), "held") })
	other := w.order("1", "x", 500, schema.Create)
	other.Table = w.tables[1]
	w.send(other)
	w.eventually("the other table is written", func() bool { return len(w.bigquery.Rows("p", "shop", "customers")) == 1 })
	w.cfg.Grace = 0
	s.kill()
	if n := len(w.dead()); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	if c := w.pubsub.Counters(); c.Acks > 1 {
		t.Errorf("%d acks", c.Acks)
	}
}
