package sink_test

import (
	"testing"

	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

// What the services' documents leave open is a setting of the stand-ins. The
// sink gets everything right under each of them, and under all at once.
func TestOpenSettings(t *testing.T) {
	t.Parallel()
	settings := []struct {
		name string
		set  func(*pubsubtest.Config, *bigquerytest.Config)
	}{
		{"out-of-order acks are dropped", func(ps *pubsubtest.Config, _ *bigquerytest.Config) { ps.OutOfOrderAcks = pubsubtest.AckDropped }},
		{"keys of an ended stream are held", func(ps *pubsubtest.Config, _ *bigquerytest.Config) { ps.EndedStreams = pubsubtest.KeyHeld }},
		{"attempts are forgotten", func(ps *pubsubtest.Config, _ *bigquerytest.Config) { ps.ForgetAttempts = true }},
		{"one message a response", func(ps *pubsubtest.Config, _ *bigquerytest.Config) { ps.BatchMessages = 1 }},
		{"long ack ids", func(ps *pubsubtest.Config, _ *bigquerytest.Config) { ps.AckIDBytes = 1024 }},
		{"keys may be null", func(_ *pubsubtest.Config, bq *bigquerytest.Config) { bq.NullKeys = true }},
		{"strict deletes", func(_ *pubsubtest.Config, bq *bigquerytest.Config) { bq.StrictDeletes = true }},
		{"errors end streams", func(_ *pubsubtest.Config, bq *bigquerytest.Config) { bq.StreamErrors = true }},
		{"routing is required", func(_ *pubsubtest.Config, bq *bigquerytest.Config) { bq.RequireRouting = true }},
		{"exact JSON", func(_ *pubsubtest.Config, bq *bigquerytest.Config) { bq.ExactJSON = true }},
		{"REST sets max_staleness", func(_ *pubsubtest.Config, bq *bigquerytest.Config) { bq.RESTMaxStaleness = true }},
		{"none", func(*pubsubtest.Config, *bigquerytest.Config) {}},
	}
	run := func(name string, set func(*pubsubtest.Config, *bigquerytest.Config)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ps pubsubtest.Config
			var bq bigquerytest.Config
			set(&ps, &bq)
			w := newWorld(t, newSeed(t), ps, bq)
			s := w.start()
			w.transactions(30)
			w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.HoldOthers})
			w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.EndStream})
			w.transactions(30)
			w.eventually("no backlog", func() bool { return w.pubsub.Backlog(subscription) == 0 || w.advanced() })
			if err := s.stop(); err != nil {
				t.Errorf("stop: %v", err)
			}
			if c := w.compare(); !c.OK() || c.Rows == 0 {
				t.Errorf("BigQuery and the source differ: %+v", c)
			}
			if n := len(w.dead()); n != 0 {
				t.Errorf("%d dead letters", n)
			}
		})
	}
	for _, s := range settings {
		run(s.name, s.set)
	}
	run("all", func(ps *pubsubtest.Config, bq *bigquerytest.Config) {
		for _, s := range settings {
			s.set(ps, bq)
		}
	})
}
