package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink/bigquerytest"
)

const (
	// asProcess makes this test binary the service: it is the configuration's path.
	asProcess = "CDC_SINK_TEST_AS_PROCESS"

	ordersTopic = "projects/acme-test/topics/cdc-shop"
	sinkSub     = "projects/acme-test/subscriptions/cdc-shop-sink"
	deadTopic   = "projects/acme-test/topics/cdc-shop-dead"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(asProcess); path != "" {
		os.Exit(run(context.Background(), []string{"run", "--config", path}, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestKilledProcesses kills real cdc-sink processes, two at a time, with SIGKILL:
// while a table is made, between append and ack, between dead letter and ack, and
// whenever a seed says. In the end BigQuery has the newest of every key, and what
// is in the dead letter is the garbage and nothing else. What the services'
// documents leave open goes the one way and the other.
func TestKilledProcesses(t *testing.T) {
	t.Run("one way", func(t *testing.T) { killProcesses(t, pubsubtest.Config{}, bigquerytest.Config{}) })
	t.Run("the other", func(t *testing.T) {
		killProcesses(t, pubsubtest.Config{
			OutOfOrderAcks: pubsubtest.AckDropped, EndedStreams: pubsubtest.KeyHeld, BatchMessages: 3, AckIDBytes: 1024,
		}, bigquerytest.Config{StreamErrors: true, StrictDeletes: true, RequireRouting: true, ExactJSON: true, RESTMaxStaleness: true})
	})
}

func killProcesses(t *testing.T, psConfig pubsubtest.Config, bqConfig bigquerytest.Config) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	ps, bq := recordingStandIns(t, psConfig, bqConfig)
	subscribe(t, ps)
	path := write(t, file)
	if code, _, stderr := invoke(t.Context(), "init", "--config", path); code != 0 {
		t.Fatalf("init: exit %d\n%s", code, stderr)
	}
	source := newSource(t, seed, ps)
	for _, moment := range []func() bool{
		func() bool { return bq.Counters().RESTByMethod["tables.insert"] > 0 },
		func() bool { return bq.Counters().Rows > 0 },
		func() bool { return len(ps.Stored(deadTopic)) > 0 },
		func() bool { return true },
		func() bool { return true },
	} {
		source.publish(60)
		a, b := startProcess(t, path), startProcess(t, path)
		eventually(t, "the moment", moment)
		until := work(ps, bq) + r.Int64N(200)
		eventually(t, "some work more", func() bool { return work(ps, bq) >= until || ps.Backlog(sinkSub) == 0 })
		a.kill()
		ps.Advance(11 * time.Second)
		b.kill()
		ps.Advance(11 * time.Second)
	}
	last := startProcess(t, path)
	eventually(t, "no backlog", func() bool { return ps.Backlog(sinkSub) == 0 })
	if err := last.stop(); err != nil {
		t.Errorf("the last one ended with %v\n%s", err, last.log.b.String())
	}
	if c := source.compare(bq); !c.OK() || c.Rows == 0 {
		t.Errorf("BigQuery and the source differ: %+v", c)
	}
	garbage := map[string]bool{}
	for _, m := range ps.Stored(deadTopic) {
		if !bytes.HasPrefix(m.Data, []byte("garbage ")) {
			t.Errorf("a good change in the dead letter: %v", m.Attributes)
		}
		garbage[string(m.Data)] = true
	}
	if len(garbage) != source.garbage {
		t.Errorf("%d different letters, want %d", len(garbage), source.garbage)
	}
	if ps.Counters().Redelivered == 0 {
		t.Error("nothing was delivered again: the kills came too late")
	}
}

// work counts what the processes have done so far.
func work(ps *pubsubtest.Server, bq *bigquerytest.Server) int64 {
	c, b := ps.Counters(), bq.Counters()
	return c.Delivered + c.Acks + b.Rows + b.RESTCalls
}

func recordingStandIns(t *testing.T, psConfig pubsubtest.Config, bqConfig bigquerytest.Config) (*pubsubtest.Server, *bigquerytest.Server) {
	t.Helper()
	psConfig.Record, bqConfig.RoundTrip = true, 2*time.Millisecond
	ps, err := pubsubtest.New(psConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ps.Close() })
	bq, err := bigquerytest.New(bqConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bq.Close() })
	t.Setenv(pubsubEmulator, ps.Addr())
	t.Setenv(bigqueryEmulator, strings.TrimPrefix(bq.Addr(), "http://"))
	t.Setenv(storageEmulator, bq.StorageAddr())
	return ps, bq
}

// process is a cdc-sink.
type process struct {
	cmd *exec.Cmd
	log syncBuffer
}

func startProcess(t *testing.T, path string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), asProcess+"="+path)
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// source publishes a workload of two tables, and some garbage.
type source struct {
	t        *testing.T
	client   pubsubpb.PublisherClient
	workload *schematest.Workload
	tables   []*schema.Table
	garbage  int
}

func newSource(t *testing.T, seed uint64, ps *pubsubtest.Server) *source {
	t.Helper()
	conn, err := ps.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &source{t: t, client: pubsubpb.NewPublisherClient(conn)}
	for name, key := range map[string]string{"orders": "bigint", "stock": "text"} {
		table, err := schema.NewTable(schema.Table{
			Source: schema.Source{Database: "shop", DB: "shop", SystemID: "7300000000000000001"},
			Schema: "public", Name: name, Version: 1, Key: []int{0},
			Columns: []schema.Column{{Name: "id", Type: key, AttNum: 1}, {Name: "title", Type: "text", AttNum: 2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.tables = append(s.tables, table)
	}
	s.workload = schematest.NewWorkload(seed, s.tables...)
	return s
}

// publish publishes n transactions and one message of garbage.
func (s *source) publish(n int) {
	s.t.Helper()
	for range n {
		for _, c := range s.workload.Next().Changes {
			m, err := schematest.Message(c)
			if err != nil {
				s.t.Fatal(err)
			}
			attributes := make(map[string]string)
			m.Attributes.Each(func(name string, value []byte) { attributes[name] = string(value) })
			s.send(&pubsubpb.PubsubMessage{OrderingKey: string(schema.AppendOrderingKey(nil, c.Table, c.Key)), Data: m.Data, Attributes: attributes})
		}
	}
	s.garbage++
	s.send(&pubsubpb.PubsubMessage{
		Data: fmt.Appendf(nil, "garbage %d", s.garbage), Attributes: map[string]string{"v": "1", "schema": "public", "table": "orders"},
	})
}

func (s *source) send(m *pubsubpb.PubsubMessage) {
	s.t.Helper()
	if _, err := s.client.Publish(context.Background(), &pubsubpb.PublishRequest{Topic: ordersTopic, Messages: []*pubsubpb.PubsubMessage{m}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *source) compare(bq *bigquerytest.Server) schematest.ConvergenceCounts {
	var c schematest.Convergence
	s.workload.Source(&c)
	for _, t := range s.tables {
		for _, row := range bq.Rows("acme-test", "shop", t.Name) {
			var values schema.Row
			for _, column := range t.Columns {
				v := schema.Value{}
				if text, ok := row[column.Name].(string); ok {
					v = schema.TextValue(text)
				}
				values = append(values, v)
			}
			c.Add(schematest.Key(t, t.KeyOf(nil, values)), schema.Position{}, schematest.AppendRow(nil, values))
		}
	}
	return c.Compare()
}
