package sink_test

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/genproto/protobuf/field_mask"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/sink/bigquerytest"
)

// openSetting is something that the services' documents leave open, switched
// away from the stand-ins' default.
type openSetting struct {
	name string
	set  func(*pubsubtest.Config, *bigquerytest.Config)
	// met tells whether the run came upon what the setting changes. It is nil where
	// no counter shows it.
	met func(pubsubtest.Counters, bigquerytest.Counters) bool
}

type (
	ps = *pubsubtest.Config
	bq = *bigquerytest.Config
)

// openSettings are those that are also tested all at once.
func openSettings() []openSetting {
	refused := func(rule string) func(pubsubtest.Counters, bigquerytest.Counters) bool {
		return func(_ pubsubtest.Counters, c bigquerytest.Counters) bool { return c.Refused[rule] > 0 }
	}
	return []openSetting{
		{"out-of-order acks are dropped", func(c ps, _ bq) { c.OutOfOrderAcks = pubsubtest.AckDropped }, nil},
		{"keys of an ended stream are held", func(c ps, _ bq) { c.EndedStreams = pubsubtest.KeyHeld }, nil},
		{"attempts are forgotten", func(c ps, _ bq) { c.ForgetAttempts = true }, nil},
		{"small responses", func(c ps, _ bq) { c.BatchMessages, c.BatchBytes = 1, 1 }, nil},
		{"long ack ids", func(c ps, _ bq) { c.AckIDBytes = 1024 }, nil},
		// No key of ours is NULL: Postgres' keys aren't, and a null key is refused before it is sent.
		{"keys may be null", func(_ ps, c bq) { c.NullKeys = true }, nil},
		// No column of ours is REQUIRED, and a table that has one is refused (column_required).
		{"strict deletes", func(_ ps, c bq) { c.StrictDeletes = true }, nil},
		{"errors end streams", func(_ ps, c bq) { c.StreamErrors = true }, refused("stream-not-found")},
		{"routing is required", func(_ ps, c bq) { c.RequireRouting = true }, nil},
		{"exact JSON", func(_ ps, c bq) { c.ExactJSON = true }, func(_ pubsubtest.Counters, c bigquerytest.Counters) bool { return c.RowsRefused > 0 }},
		{"REST sets max_staleness", func(_ ps, c bq) { c.RESTMaxStaleness = true }, nil},
		{"new tables take a while", func(_ ps, c bq) { c.CreateDelay = 400 * time.Millisecond }, refused("stream-not-found")},
		{"few tables are created a second", func(_ ps, c bq) { c.InsertsPerSecond = 2 }, refused("insert-quota")},
		{
			"idle connections end soon", func(_ ps, c bq) { c.IdleClose = time.Second },
			func(_ pubsubtest.Counters, c bigquerytest.Counters) bool { return c.IdleClosed > 0 },
		},
	}
}

// opposites go to the other side of one of openSettings.
func opposites() []openSetting {
	return []openSetting{
		{"large responses", func(c ps, _ bq) { c.BatchMessages, c.BatchBytes = 1000, 100<<20 }, nil},
		{"short ack ids", func(c ps, _ bq) { c.AckIDBytes = 32 }, nil},
		{"new tables are there at once", func(_ ps, c bq) { c.CreateDelay, c.SchemaDelay = -1, -1 }, nil},
	}
}

// closedSettings are the fields of the configurations that leave nothing open to
// a sink, with the reason.
var closedSettings = map[string]string{
	"Addr": "where it listens", "StorageAddr": "where it listens", "ControlAddr": "where it listens",
	"Record": "what it keeps", "Log": "what it says",
	"Seed":               "random unless a test sets it",
	"Location":           "the sink creates its dataset with one",
	"RoundTrip":          "other tests have both",
	"UnsetApplyInterval": "without max_staleness a query merges what isn't applied, at any pace",
	"Denied":             "what is denied is a fault, not a setting",
	"KeyRate":            "a publisher meets it",
	"PullWait":           "a sink never calls Pull",
	"RecreateDelay":      "a sink never drops a table",
	"DeadLetterCopies":   "forwarded after 100 attempts; a sink gives nothing back one by one",
	"DeadLetterOffset":   "forwarded after 100 attempts; a sink gives nothing back one by one",
}

// Each field of the stand-ins' configurations is tested both ways or closed.
func TestNoSettingIsForgotten(t *testing.T) {
	t.Parallel()
	met := maps.Clone(closedSettings)
	for _, s := range append(openSettings(), opposites()...) {
		var ps pubsubtest.Config
		var bq bigquerytest.Config
		s.set(&ps, &bq)
		for _, v := range []reflect.Value{reflect.ValueOf(ps), reflect.ValueOf(bq)} {
			for field, value := range v.Fields() {
				if !value.IsZero() {
					met[field.Name] = s.name
				}
			}
		}
	}
	for _, v := range []reflect.Type{reflect.TypeFor[pubsubtest.Config](), reflect.TypeFor[bigquerytest.Config]()} {
		for field := range v.Fields() {
			if met[field.Name] == "" {
				t.Errorf("%s.%s isn't tested both ways", v, field.Name)
			}
		}
	}
}

// What the services' documents leave open is a setting of the stand-ins. The
// sink gets everything right under each of them, and under all at once: rows,
// deletes, key changes, a row that BigQuery refuses, a thousand messages that
// are acked together, streams that end while keys are delayed by others.
func TestOpenSettings(t *testing.T) {
	t.Parallel()
	run := func(name string, settings ...openSetting) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			underSettings(t, settings)
		})
	}
	run("defaults")
	for _, s := range append(openSettings(), opposites()...) {
		run(s.name, s)
	}
	run("all", openSettings()...)
}

func underSettings(t *testing.T, settings []openSetting) {
	var ps pubsubtest.Config
	var bq bigquerytest.Config
	for _, s := range settings {
		s.set(&ps, &bq)
	}
	w := newWorld(t, newSeed(t), ps, bq)
	w.cfg.Tables.MaxStaleness = time.Hour
	w.countAttempts()
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultRefuseRow, Key: "-7", Count: -1})
	s := w.start()
	w.transactions(40)
	w.send(w.order("-7", "refused", 100, schema.Create))
	w.document(1, `{"n": 1.5}`, 100)
	w.document(2, `{"n": 0.12345678901234567890123}`, 101) // rounded or refused
	w.settled(s.Sink)

	w.bigquery.Advance(2 * time.Second)
	w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.HoldOthers})
	w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.EndStream})
	w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.Duplicate, Skip: 3})
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultSlow, Delay: 50 * time.Millisecond})
	for i := range 1000 {
		w.send(w.order(strconv.Itoa(-1000-i), "x", 1000+i, schema.Create))
	}
	w.transactions(40)
	for i := range 1000 {
		w.send(w.order(strconv.Itoa(-1000-i), "", 5000+i, schema.Delete))
	}
	w.eventually("no backlog", func() bool { return w.pubsub.Backlog(subscription) == 0 || w.advanced() })
	must(t, s.stop())

	if c := w.compare(); !c.OK() || c.Rows == 0 {
		t.Errorf("BigQuery and the source differ: %+v", c)
	}
	dead := make(map[string]bool) // by position: a letter may be sent twice
	for _, m := range w.dead() {
		dead[m.Attributes[schema.AttrPosition]] = true
	}
	documents := len(w.bigquery.Rows("p", "shop", "documents"))
	if wantDead := 1 + 2 - documents; documents != 2 && !bq.ExactJSON || documents != 1 && bq.ExactJSON || len(dead) != wantDead {
		t.Errorf("%d documents, dead letters %v, want %d", documents, dead, wantDead)
	}
	w.wantStaleness(time.Hour)
	pubsub, bigquery := w.pubsub.Counters(), w.bigquery.Counters()
	if len(pubsub.Refused) > 0 {
		t.Errorf("requests that Pub/Sub refuses: %v", pubsub.Refused)
	}
	if pubsub.Faults != 3 || pubsub.Redelivered == 0 {
		t.Errorf("%d faults of 3, %d messages redelivered", pubsub.Faults, pubsub.Redelivered)
	}
	for _, s := range settings {
		if s.met != nil && !s.met(pubsub, bigquery) {
			t.Errorf("%s: the run never came upon it; pubsub %+v; bigquery %+v", s.name, pubsub, bigquery)
		}
	}
}

// countAttempts sets the subscription's dead-letter policy, without which there
// are no delivery attempts.
func (w *world) countAttempts() {
	w.t.Helper()
	conn, err := w.pubsub.Dial()
	must(w.t, err)
	defer conn.Close()
	_, err = pubsubpb.NewSubscriberClient(conn).UpdateSubscription(w.t.Context(), &pubsubpb.UpdateSubscriptionRequest{
		Subscription: &pubsubpb.Subscription{
			Name: subscription, DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: deadTopic, MaxDeliveryAttempts: 100},
		},
		UpdateMask: &field_mask.FieldMask{Paths: []string{"dead_letter_policy"}},
	})
	must(w.t, err)
}

// document publishes a row of a table with a JSON column.
func (w *world) document(id int, text string, lsn int) {
	w.t.Helper()
	c := w.changeOf("documents", 1, "id", "body")
	st := *c.Table
	st.Columns = slices.Clone(st.Columns)
	st.Columns[0].Type, st.Columns[1].Type = "bigint", "jsonb"
	var err error
	c.Table, err = schema.NewTable(st)
	must(w.t, err)
	c.After = schema.Row{schema.TextValue(strconv.Itoa(id)), schema.TextValue(text)}
	c.Key = c.After[:1]
	c.Position.CommitLSN = schema.LSN(lsn)
	w.send(c)
}

// wantStaleness reads max_staleness of the workload's tables.
func (w *world) wantStaleness(want time.Duration) {
	w.t.Helper()
	client, err := bigquery.NewClient(w.t.Context(), "p", w.connections().BigQuery...)
	must(w.t, err)
	defer client.Close()
	for _, table := range w.tables {
		md, err := client.Dataset("shop").Table(table.Name).Metadata(w.t.Context())
		must(w.t, err)
		if md.MaxStaleness == nil || md.MaxStaleness.ToDuration() != want {
			w.t.Errorf("%s: max_staleness %v, want %s", table.Name, md.MaxStaleness, want)
		}
	}
}
