package sink_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink/bigquerytest"
)

// Both services fail in every way that heals: the end is right, every message is
// acked once it is written, and acks are in order.
func TestFaultsThatHeal(t *testing.T) {
	w := newWorld(t, newSeed(t), pubsubtest.Config{OutOfOrderAcks: pubsubtest.AckDropped, EndedStreams: pubsubtest.KeyHeld}, bigquerytest.Config{})
	for i, kind := range []bigquerytest.FaultKind{
		bigquerytest.FaultAborted, bigquerytest.FaultUnavailable, bigquerytest.FaultAnswerLost, bigquerytest.FaultThroughput,
		bigquerytest.FaultAnswerLost, bigquerytest.FaultAborted,
	} {
		w.bigquery.Inject(bigquerytest.Fault{Kind: kind, After: 3 + 4*i, Count: 2})
	}
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultREST, Method: "tables.get"})
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultRESTLost, Method: "tables.insert"})
	for i, f := range []pubsubtest.Fault{
		{Kind: pubsubtest.AnswerLost, Method: "Acknowledge", Count: 3},
		{Kind: pubsubtest.Refuse, Method: "Acknowledge", Count: 2},
		{Kind: pubsubtest.Duplicate, Count: 5},
		{Kind: pubsubtest.EndStream, Count: 1},
		{Kind: pubsubtest.ResetConnection},
	} {
		f.Skip = 2 + 3*i
		w.pubsub.Inject(f)
	}
	s := w.start()
	for range 5 {
		w.transactions(60)
	}
	w.pubsub.Advance(11 * time.Second) // what broken streams had
	w.settled(s.Sink)
	must(t, s.stop())
	w.wantEqual()
	t.Logf("%+v", s.Stats())
}

// A sink that is killed, and one that is stopped, at any moment, and their
// successors: the end is right and nothing was acked that isn't written.
//
// Where Pub/Sub hands later messages of a key to the successor while the earlier
// ones are still leased to the dead sink, acks overtake them: nobody can help
// that, and they come again. The end is right all the same.
func TestKilledAndStarted(t *testing.T) {
	t.Run("key held", func(t *testing.T) {
		w := killedAndStarted(t, pubsubtest.KeyHeld)
		if n := w.pubsub.Counters().AcksOutOfOrder; n != 0 {
			t.Errorf("%d acks out of order", n)
		}
	})
	t.Run("key released", func(t *testing.T) { killedAndStarted(t, pubsubtest.KeyReleased) })
}

func killedAndStarted(t *testing.T, ended pubsubtest.EndedPolicy) *world {
	w := newWorld(t, newSeed(t), pubsubtest.Config{OutOfOrderAcks: pubsubtest.AckDropped, EndedStreams: ended}, bigquerytest.Config{RoundTrip: 2 * time.Millisecond})
	for i := range 4 {
		s := w.start()
		w.transactions(100)
		w.eventually("some are acked", func() bool { return s.Stats().Acked > 20 })
		if i%2 == 0 {
			s.kill()
		} else {
			must(t, s.stop())
		}
		if i == 0 {
			w.ackedIsWritten()
		}
		w.pubsub.Advance(11 * time.Second)
	}
	s := w.start()
	w.eventually("all acked and equal", func() bool {
		return w.pubsub.Counters().Acks >= int64(len(w.ids)) && s.Stats().Outstanding == 0 && w.compare().OK()
	})
	must(t, s.stop())
	if c := w.compare(); !c.OK() || c.Rows == 0 {
		t.Errorf("BigQuery and the source differ: %+v", c)
	}
	if w.pubsub.Counters().Redelivered == 0 {
		t.Error("nothing was delivered again: the kills came too late")
	}
	return w
}

// ackedIsWritten checks that no more messages were acked than have a change that
// is stored, or older than a stored one of its key. It holds for the first sink:
// later, what comes again is acked again.
func (w *world) ackedIsWritten() {
	w.t.Helper()
	acks := w.pubsub.Counters().Acks // before: rows may be stored after it
	changes := make(map[string]*schema.Change)
	for _, c := range w.sent {
		changes[c.Position.String()] = c
	}
	newest := make(map[string]schema.Position)
	for _, a := range w.bigquery.Applied() {
		p, err := schema.ParsePosition(a.Position)
		must(w.t, err)
		c := changes[a.Position]
		if key := schematest.Key(c.Table, c.Key); newest[key].Less(p) {
			newest[key] = p
		}
	}
	written := int64(0)
	for _, c := range w.sent {
		if !newest[schematest.Key(c.Table, c.Key)].Less(c.Position) {
			written++
		}
	}
	if acks > written {
		w.t.Errorf("%d acks, %d messages written", acks, written)
	}
}

// While BigQuery answers nothing, nothing is acked and leases are kept; a stop
// gives up after the grace.
func TestNothingAckedThatIsNotWritten(t *testing.T) {
	w := newWorld(t, 3, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.Grace = 200 * time.Millisecond
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultUnavailable, Count: -1})
	s := w.start()
	w.transactions(20)
	w.eventually("it is tried again and again", func() bool { return s.Stats().Retries > 4 })
	must(t, s.stop())
	if c := w.pubsub.Counters(); c.Acks != 0 || c.Nacks != 0 {
		t.Errorf("%d acks, %d nacks", c.Acks, c.Nacks)
	}
	w.bigquery.ClearFaults()
	w.pubsub.Advance(11 * time.Second)
	w.cfg.Grace = 20 * time.Second
	s = w.start()
	w.settled(s.Sink)
	must(t, s.stop())
	w.wantEqual()
}

// An append that is stored and not answered in time is sent again on another
// connection.
func TestWatchdogReopens(t *testing.T) {
	w := newWorld(t, 4, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.Write.AppendTimeout = 300 * time.Millisecond
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultSlow, Delay: 10 * time.Second})
	s := w.start()
	w.send(w.order("1", "x", 100, schema.Create))
	w.settled(s.Sink)
	must(t, s.stop())
	if c := w.bigquery.Counters(); c.Connections < 2 || c.Rows != 2 {
		t.Errorf("%d connections, %d rows stored, want 2 and 2 (a copy)", c.Connections, c.Rows)
	}
	if got := w.titles(); got["1"] != "x" {
		t.Errorf("%v", got)
	}
}

// What a person must act on ends Run with a code, and is not acked.
func TestStops(t *testing.T) {
	control := func(w *world) {
		var e schema.Encoder
		c := &schema.Control{
			Kind: schema.Truncated, Position: schema.Position{Epoch: 1, CommitLSN: 5}, Source: w.tables[0].Source,
			Schema: "public", Name: "orders", ReadTime: 1_767_323_045_000_000,
		}
		data, err := e.AppendControl(nil, c)
		must(w.t, err)
		a := schema.Attributes{
			Version: 1, Database: "shop", Schema: "public", Table: "orders", Op: schema.ControlOp, Position: c.Position,
			Count: 1, ContentType: schema.ContentJSON, SourceID: w.tables[0].Source.SystemID,
		}
		attributes := make(map[string]string)
		a.Each(func(name string, value []byte) { attributes[name] = string(value) })
		w.sendRaw("public.orders|", data, attributes)
	}
	added := func(w *world) {
		w.send(w.order("1", "x", 100, schema.Create))
		c := w.order("2", "x", 101, schema.Create)
		t := *w.tables[0]
		t.Version, t.Columns = 2, append(t.Columns[:5:5], schema.Column{Name: "added", Type: "text", AttNum: 6})
		var err error
		c.Table, err = schema.NewTable(t)
		must(w.t, err)
		c.After = append(c.After, schema.TextValue("y"))
		w.send(c)
	}
	for name, tt := range map[string]struct {
		do   func(w *world)
		code string
		acks int64
	}{
		"truncate":     {control, "message_unsupported", 0},
		"column added": {added, "schema_change", 1},
		"no permission": {func(w *world) {
			w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultPermission})
			w.send(w.order("1", "x", 100, schema.Create))
		}, "bigquery_permission", 0},
		"dead letter topic gone": {func(w *world) {
			w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Publish", Target: deadTopic, Code: codes.NotFound, Count: -1})
			w.sendRaw("", []byte("x"), map[string]string{"v": "1"})
		}, "dead_letter_topic_missing", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 5, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
			s := w.start()
			tt.do(w)
			var err error
			select {
			case err = <-s.ended:
			case <-time.After(20 * time.Second):
				t.Fatal("Run didn't end")
			}
			must(t, s.Close())
			coded, ok := errors.AsType[interface {
				error
				Code() string
				Fix() string
			}](err)
			if !ok || coded.Code() != tt.code || coded.Fix() == "" {
				t.Errorf("Run = %v, want code %s", err, tt.code)
			}
			if acks := w.pubsub.Counters().Acks; acks > tt.acks {
				t.Errorf("%d acks", acks)
			}
		})
	}
}

// A message of a newer wire format is held: leased, not acked, not dead-lettered.
func TestNewerWireVersionIsHeld(t *testing.T) {
	w := newWorld(t, 6, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	s := w.start()
	w.sendRaw("public.orders|1", []byte(`{}`), map[string]string{"v": "2", "schema": "public", "table": "orders", "op": "c"})
	w.send(w.order("2", "x", 100, schema.Create))
	w.eventually("the next is written", func() bool { return w.pubsub.Counters().Acks == 1 })
	began := time.Now()
	must(t, s.stop())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop waited %s for a held message", took)
	}
	if len(w.dead()) != 0 || w.pubsub.Counters().Acks != 1 {
		t.Error("it was acked or dead-lettered")
	}
}

// A delete that comes before its table waits for the first complete row.
func TestDeleteBeforeItsTable(t *testing.T) {
	w := newWorld(t, 7, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	s := w.start()
	w.send(w.order("1", "", 200, schema.Delete))
	w.eventually("received", func() bool { return s.Stats().Messages == 1 })
	w.send(w.order("2", "x", 100, schema.Create))
	w.settled(s.Sink)
	// What the delete was there for: an older row of its key that comes later.
	w.send(w.order("1", "older", 50, schema.Create))
	w.settled(s.Sink)
	must(t, s.stop())
	if got := w.titles(); len(got) != 1 || got["2"] != "x" {
		t.Errorf("%v, want the row of key 2 alone", got)
	}
	// Another sink finds the table, though a delete comes first. It isn't sent
	// before the first sink's stream has ended, or it would be leased to that one.
	w.eventually("no stream", func() bool { return w.pubsub.Counters().StreamsOpen == 0 })
	s = w.start()
	w.send(w.order("2", "", 300, schema.Delete))
	w.settled(s.Sink)
	must(t, s.stop())
	if got := w.titles(); len(got) != 0 {
		t.Errorf("%v, want nothing", got)
	}
}

// 1,024 keys with several messages each, in few batches and in many.
func TestAcksInOrderAt1024Keys(t *testing.T) {
	w := newWorld(t, 8, pubsubtest.Config{OutOfOrderAcks: pubsubtest.AckDropped}, bigquerytest.Config{RoundTrip: time.Millisecond})
	s := w.start()
	for round := range 4 {
		for key := range 1024 {
			w.send(w.order(strconv.Itoa(key), strconv.Itoa(round), 1000*(1+round)+key, schema.Update))
		}
	}
	w.settled(s.Sink)
	must(t, s.stop())
	if c := w.pubsub.Counters(); c.AcksOutOfOrder != 0 || c.Redelivered != 0 {
		t.Errorf("%d acks out of order, %d redelivered", c.AcksOutOfOrder, c.Redelivered)
	}
	for key, title := range w.titles() {
		if title != "3" {
			t.Fatalf("key %s has round %s", key, title)
		}
	}
	t.Logf("%+v", s.Stats())
}

// A stop writes and acks what was received, however long BigQuery takes within
// the grace.
func TestStopWritesAndAcks(t *testing.T) {
	w := newWorld(t, 13, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultSlow, Delay: 300 * time.Millisecond})
	s := w.start()
	for i := range 10 {
		w.send(w.order(strconv.Itoa(i), "x", 100+i, schema.Create))
	}
	w.eventually("received", func() bool { return s.Stats().Messages == 10 })
	must(t, s.stop())
	if acks, rows := w.pubsub.Counters().Acks, len(w.titles()); acks != 10 || rows != 10 {
		t.Errorf("%d acks and %d rows after the stop, want 10 and 10", acks, rows)
	}
}
