package sink_test

import (
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/iterator"

	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

// TestStalenessOfQueries: with a max_staleness that the sink has set, a query shows
// what was written only after the interval has passed.
func TestStalenessOfQueries(t *testing.T) {
	w := newWorld(t, newSeed(t), pubsubtest.Config{}, bigquerytest.Config{})
	w.cfg.Tables.MaxStaleness = 15 * time.Minute
	s := w.start()
	w.transactions(50)
	w.settled(s.Sink)
	must(t, s.stop())

	written := 0
	for _, table := range w.tables {
		written += len(w.bigquery.Rows("p", "shop", table.Name))
	}
	if written == 0 {
		t.Fatal("nothing was written")
	}
	if n := w.queried(); n != 0 {
		t.Errorf("%d rows are visible before the first apply, want 0 of %d", n, written)
	}
	w.bigquery.Advance(16 * time.Minute)
	if n := w.queried(); n != written {
		t.Errorf("%d rows are visible after the interval, want %d", n, written)
	}
}

// queried counts the rows of all tables that a query shows.
func (w *world) queried() (n int) {
	w.t.Helper()
	client, err := bigquery.NewClient(w.t.Context(), "p", w.connections().BigQuery...)
	must(w.t, err)
	defer client.Close()
	for _, table := range w.tables {
		rows, err := client.Query("SELECT * FROM shop." + table.Name).Read(w.t.Context())
		must(w.t, err)
		for {
			var row []bigquery.Value
			if err := rows.Next(&row); errors.Is(err, iterator.Done) {
				break
			} else {
				must(w.t, err)
			}
			n++
		}
	}
	return n
}
