package sink_test

import (
	"strconv"
	"strings"
	"testing"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/sink/bigquerytest"
	"cdc/sink/storagewrite"
)

// A request never holds more than batch.bytes, unless it is one row.
func TestBatchBytes(t *testing.T) {
	w := newWorld(t, 10, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.BatchBytes = 1000
	var changes []*schema.Change
	for i := range 10 {
		changes = append(changes, w.order(strconv.Itoa(i), strings.Repeat("x", 500), 100+i, schema.Create))
	}
	changes = append(changes, w.order("10", strings.Repeat("x", 2000), 200, schema.Create))
	w.send(changes...)
	s := w.start()
	w.settled(s.Sink)
	must(t, s.stop())
	if st := s.Stats(); st.Rows != 11 || st.Batches != 11 {
		t.Errorf("%d rows in %d requests, want each of 11 rows in its own", st.Rows, st.Batches)
	}
}

// Nor more than batch.rows.
func TestBatchRows(t *testing.T) {
	w := newWorld(t, 14, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.BatchRows = 4
	var changes []*schema.Change
	for i := range 10 {
		changes = append(changes, w.order(strconv.Itoa(i), "x", 100+i, schema.Create))
	}
	w.send(changes...)
	s := w.start()
	w.settled(s.Sink)
	must(t, s.stop())
	if st := s.Stats(); st.Rows != 10 || st.Batches != 3 {
		t.Errorf("%d rows in %d requests, want 10 in 3", st.Rows, st.Batches)
	}
}

// A row of nearly a request's size is written, and a larger one is a dead letter.
func TestLargeRows(t *testing.T) {
	w := newWorld(t, 11, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.send(w.order("1", strings.Repeat("x", storagewrite.MaxRequestBytes-1000), 100, schema.Create))
	w.send(w.order("2", strings.Repeat("x", storagewrite.MaxRequestBytes), 101, schema.Create))
	s := w.start()
	w.settled(s.Sink)
	must(t, s.stop())
	if titles := w.titles(); len(titles) != 1 || len(titles["1"]) != storagewrite.MaxRequestBytes-1000 {
		t.Errorf("%d rows, want that of key 1 alone", len(titles))
	}
	if dead := w.dead(); len(dead) != 1 || dead[0].Attributes["error_code"] != "row_too_large" {
		t.Errorf("%d dead letters, want one, row_too_large", len(dead))
	}
}

// Deletes that came before their table are taken into batches of the usual size.
func TestWaitingDeletesInBatches(t *testing.T) {
	w := newWorld(t, 12, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.BatchRows = 4
	s := w.start()
	for i := range 10 {
		w.send(w.order(strconv.Itoa(i), "", 100+i, schema.Delete))
	}
	w.eventually("received", func() bool { return s.Stats().Messages == 10 })
	w.send(w.order("10", "x", 99, schema.Create))
	w.settled(s.Sink)
	must(t, s.stop())
	if st := s.Stats(); st.Rows != 11 || st.Batches < 3 {
		t.Errorf("%d rows in %d requests, want 11 in 3 or more", st.Rows, st.Batches)
	}
}
