package sink_test

import (
	"strconv"
	"testing"
	"time"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink/bigquerytest"
)

// A message of as many lines as fit into 10 MB, and each fault of an append alone:
// every line is written once the fault is over, or it alone is a dead letter.
func TestWidestMessage(t *testing.T) {
	t.Parallel()
	const lines = 30_000
	w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	changes := make([]*schema.Change, lines)
	for i := range changes {
		changes[i] = w.order(strconv.Itoa(i), "title", 100+i, schema.Create)
	}
	m, err := schematest.Message(changes...)
	must(t, err)
	if n := len(m.Data); n < 9_500_000 || n > 10_000_000 {
		t.Fatalf("%d lines have %d bytes, want 9.5 to 10 MB", lines, n)
	}
	for _, kind := range []bigquerytest.FaultKind{
		bigquerytest.FaultAborted, bigquerytest.FaultUnavailable, bigquerytest.FaultAnswerLost, bigquerytest.FaultThroughput,
		bigquerytest.FaultSlow, bigquerytest.FaultRefuseRow, bigquerytest.FaultRefuseRequest,
	} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
			w.backoff, w.cfg.Write.AppendTimeout = soon, time.Second
			f := bigquerytest.Fault{Kind: kind, After: 2, Count: 3, Delay: 1500 * time.Millisecond}
			letters := 0
			if kind == bigquerytest.FaultRefuseRow || kind == bigquerytest.FaultRefuseRequest {
				f.Key, f.After, f.Count, letters = "7777", 0, -1, 1
			}
			w.bigquery.Inject(f)
			w.send(changes...)
			s := w.start()
			w.settled(s.Sink)
			must(t, s.stop())
			if rows, dead := len(w.titles()), len(w.dead()); rows != len(changes)-letters || dead != letters {
				t.Errorf("%d rows and %d dead letters of %d lines, want %d dead letters", rows, dead, len(changes), letters)
			}
			if w.bigquery.Counters().FaultsUsed == 0 {
				t.Error("the fault wasn't met")
			}
		})
	}
}
