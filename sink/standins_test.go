package sink_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink"
	"cdc/sink/bigquerytest"
	"cdc/sink/pull"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

const (
	topic        = "projects/p/topics/shop"
	subscription = "projects/p/subscriptions/shop-sink"
	deadTopic    = "projects/p/topics/shop-dead"
	deadSub      = "projects/p/subscriptions/shop-dead-replay"
)

// world is both stand-ins, a source of transactions, and a sink between them.
type world struct {
	t            *testing.T
	pubsub       *pubsubtest.Server
	bigquery     *bigquerytest.Server
	publish      pubsubpb.PublisherClient
	workload     *schematest.Workload
	tables       []*schema.Table
	ids          map[string]bool // of what was published
	sent         []*schema.Change
	cfg          sink.Config
	log          *slog.Logger
	advancedAt   time.Time
	advancePause time.Duration
	// backoff replaces all pauses before a repetition, if it isn't zero.
	backoff gax.Backoff
}

func newWorld(t *testing.T, seed uint64, ps pubsubtest.Config, bq bigquerytest.Config) *world {
	t.Helper()
	w := &world{t: t, ids: make(map[string]bool), log: slog.New(slog.DiscardHandler)}
	ps.Record = true
	server, err := pubsubtest.New(ps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	w.pubsub = server
	bq.Record = true
	if bq.CreateDelay == 0 {
		bq.CreateDelay = 50 * time.Millisecond
	}
	if w.bigquery, err = bigquerytest.New(bq); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.bigquery.Close() })
	for name, sub := range map[string]string{topic: subscription, deadTopic: deadSub} {
		must(t, server.CreateTopic(name))
		must(t, server.CreateSubscription(&pubsubpb.Subscription{
			Name: sub, Topic: name, EnableMessageOrdering: name == topic, AckDeadlineSeconds: 10,
			RetryPolicy: &pubsubpb.RetryPolicy{MinimumBackoff: durationpb.New(0), MaximumBackoff: durationpb.New(0)},
		}))
	}
	conn, err := server.Dial()
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	w.publish = pubsubpb.NewPublisherClient(conn)
	w.tables = []*schema.Table{
		simpleTable("orders", "bigint"), simpleTable("customers", "text"), simpleTable("stock", "uuid"),
	}
	w.workload = schematest.NewWorkload(seed, w.tables...)
	w.cfg = sink.Config{
		Pull: pull.Config{
			Subscription: subscription, Streams: 1, MaxMessages: 20000, MaxBytes: 256 << 20,
			Lease: 10 * time.Second, MaxLease: 24 * time.Hour,
		},
		Tables:          tables.Config{Project: "p", Dataset: "shop", Location: "EU", Template: "{table}"},
		Write:           storagewrite.Config{Project: "p", AppendTimeout: 5 * time.Second},
		DeadLetterTopic: deadTopic,
		Grace:           20 * time.Second,
	}
	s := w.newSink()
	if n, err := s.Init(t.Context()); n != 1 || err != nil {
		t.Fatalf("Init = %d, %v; want 1 change", n, err)
	}
	must(t, s.Close())
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// simpleTable has types whose values BigQuery takes as they are.
func simpleTable(name, key string) *schema.Table {
	t, err := schema.NewTable(schema.Table{
		Source: schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
		Schema: "public", Name: name, Version: 1, Key: []int{0},
		Columns: []schema.Column{
			{Name: "id", Type: key, AttNum: 1},
			{Name: "title", Type: "text", AttNum: 2},
			{Name: "amount", Type: "integer", AttNum: 3},
			{Name: "flag", Type: "boolean", AttNum: 4},
			{Name: "ref", Type: "uuid", AttNum: 5},
		},
	})
	if err != nil {
		panic(err)
	}
	return t
}

func (w *world) connections() sink.Connections {
	plain := option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))
	return sink.Connections{
		PubSub:   []option.ClientOption{option.WithEndpoint(w.pubsub.Addr()), option.WithoutAuthentication(), plain},
		BigQuery: []option.ClientOption{option.WithEndpoint(w.bigquery.Addr()), option.WithoutAuthentication()},
		Storage:  []option.ClientOption{option.WithEndpoint(w.bigquery.StorageAddr()), option.WithoutAuthentication(), plain},
	}
}

func (w *world) newSink() *sink.Sink {
	w.t.Helper()
	w.cfg.Pull.Backoff = w.backoff
	s, err := sink.New(w.t.Context(), w.cfg, w.connections(), w.log)
	must(w.t, err)
	if w.backoff != (gax.Backoff{}) {
		s.SetBackoff(w.backoff)
	}
	return s
}

// running is a sink that runs.
type running struct {
	*sink.Sink
	cancel context.CancelFunc
	ended  chan error
}

func (w *world) start() *running {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Sink: w.newSink(), cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- r.Run(ctx) }()
	w.t.Cleanup(cancel)
	return r
}

// stop stops the sink and returns what Run returned.
func (r *running) stop() error {
	r.cancel()
	err := <-r.ended
	return errors.Join(err, r.Close())
}

func (r *running) kill() {
	r.Kill()
	<-r.ended
	_ = r.Close()
}

// send publishes changes of one table as one message.
func (w *world) send(changes ...*schema.Change) {
	w.t.Helper()
	m, err := schematest.Message(changes...)
	must(w.t, err)
	key := schema.AppendOrderingKey(nil, changes[0].Table, changes[0].Key)
	attributes := make(map[string]string)
	m.Attributes.Each(func(name string, value []byte) { attributes[name] = string(value) })
	w.sent = append(w.sent, changes...)
	w.sendRaw(string(key), m.Data, attributes)
}

func (w *world) sendRaw(key string, data []byte, attributes map[string]string) {
	w.t.Helper()
	request := &pubsubpb.PublishRequest{
		Topic: topic, Messages: []*pubsubpb.PubsubMessage{{OrderingKey: key, Data: data, Attributes: attributes}},
	}
	r, err := w.publish.Publish(context.Background(), request)
	for status.Code(err) == codes.Unavailable { // a fault that was meant for the sink
		r, err = w.publish.Publish(context.Background(), request)
	}
	must(w.t, err)
	w.ids[r.GetMessageIds()[0]] = true
}

// transactions publishes n transactions of the workload, as capture would:
// unique commit times are now.
func (w *world) transactions(n int) {
	w.t.Helper()
	for range n {
		tx := w.workload.Next()
		for _, c := range tx.Changes {
			c.CommitTime = schema.MicrosOf(time.Now())
			w.send(c)
		}
	}
}

// compare compares BigQuery's state with the workload's.
func (w *world) compare() schematest.ConvergenceCounts {
	var c schematest.Convergence
	w.workload.Source(&c)
	for _, t := range w.tables {
		for _, row := range w.bigquery.Rows("p", "shop", t.Name) {
			var values schema.Row
			for _, col := range t.Columns {
				values = append(values, postgresText(col.Type, row[col.Name]))
			}
			c.Add(schematest.Key(t, t.KeyOf(nil, values)), schema.Position{}, schematest.AppendRow(nil, values))
		}
	}
	return c.Compare()
}

// postgresText undoes BigQuery's form of a simple type.
func postgresText(typ string, v any) schema.Value {
	if v == nil {
		return schema.Value{}
	}
	s := v.(string)
	if typ == "boolean" {
		s = s[:1]
	}
	return schema.TextValue(s)
}

// settled waits until everything that was published is acked.
func (w *world) settled(s *sink.Sink) {
	w.t.Helper()
	w.eventually("everything acked", func() bool {
		c := w.pubsub.Counters()
		return c.Acks >= int64(len(w.ids)) && s.Stats().Outstanding == 0
	})
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within 40 s: %s; pubsub %+v; bigquery %+v", what, w.pubsub.Counters(), w.bigquery.Counters())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *world) wantEqual() {
	w.t.Helper()
	if c := w.compare(); !c.OK() || c.Rows == 0 {
		w.t.Errorf("BigQuery and the source differ: %+v", c)
	}
	if n := w.pubsub.Counters().AcksOutOfOrder; n != 0 {
		w.t.Errorf("%d acks out of order", n)
	}
}

func newSeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return seed
}
