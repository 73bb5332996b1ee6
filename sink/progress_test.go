package sink_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/sink"
	"cdc/sink/bigquerytest"
)

// lines is a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// all returns the events with the message, the oldest first.
func (l *lines) all(message string) (events []map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.b.Bytes()) {
		var e map[string]any
		if json.Unmarshal(line, &e) == nil && e[slog.MessageKey] == message {
			events = append(events, e)
		}
	}
	return events
}

// The progress line says what the sink waits for, goes back to messages when
// everything is done, and has a latency only when something was stored.
func TestProgress(t *testing.T) {
	w := newWorld(t, 9, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	log := &lines{}
	w.log, w.cfg.Progress = slog.New(slog.NewJSONHandler(log, nil)), 5*time.Millisecond
	s := w.start()
	waitsFor := func(what string) {
		t.Helper()
		from := len(log.all(sink.EventProgress)) + 1 // the next may have been made before
		w.eventually("waiting for "+what, func() bool {
			all := log.all(sink.EventProgress)
			return len(all) > from && all[len(all)-1]["waiting_for"] == what
		})
	}
	stored := func() (n int) {
		for _, e := range log.all(sink.EventProgress) {
			if _, ok := e["commit_to_stored_p99_ms"]; ok {
				n++
			}
		}
		return n
	}
	waitsFor("messages")
	if n := stored(); n != 0 {
		t.Errorf("%d lines with a latency of nothing", n)
	}
	w.send(w.order("1", "x", 100, schema.Create))
	w.settled(s.Sink)
	waitsFor("messages")
	if n := stored(); n != 1 {
		t.Errorf("%d lines with the latency of one row, want 1", n)
	}

	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultUnavailable, Count: -1})
	w.send(w.order("1", "y", 101, schema.Update))
	waitsFor("bigquery")
	w.bigquery.ClearFaults()
	w.settled(s.Sink)
	waitsFor("messages")

	w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: "Publish", Target: deadTopic, Code: codes.Unavailable, Count: -1})
	w.sendRaw("", []byte("x"), map[string]string{"v": "1"})
	waitsFor("dead_letter")
	w.pubsub.ClearFaults()
	w.settled(s.Sink)

	other := w.order("1", "", 100, schema.Delete)
	other.Table = w.tables[1] // it isn't there yet
	w.send(other)
	waitsFor("table")
	first := w.order("2", "x", 90, schema.Create)
	first.Table = w.tables[1]
	w.send(first)
	w.settled(s.Sink)
	waitsFor("messages")

	w.sendRaw("public.orders|1", []byte(`{}`), map[string]string{"v": "2", "schema": "public", "table": "orders", "op": "c"})
	waitsFor("held")
	must(t, s.stop())
}
