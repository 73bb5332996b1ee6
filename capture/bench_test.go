package capture

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkCapture drains a backlog of ten-column rows, 100 a transaction, from a
// real server into a publisher that does nothing.
func BenchmarkCapture(b *testing.B) {
	const transactions, rows = 1000, 100
	d := newDatabase(b, `CREATE TABLE orders (id bigint PRIMARY KEY, customer text, email text, amount numeric(10,2), placed timestamptz,
		paid bool, note text, status text, items int, remark text)`)
	cfg := d.config()
	cfg.WindowBytes, cfg.StopTimeout = 1<<40, time.Millisecond
	mustInit(b, cfg)
	d.admin(fmt.Sprintf(`DO $$ BEGIN FOR i IN 0..%d LOOP
		INSERT INTO orders SELECT i * %d + g, 'customer ' || g, 'c' || g || '@example.com', g / 7.0, now(), g %% 2 = 0, NULL, 'open', g, repeat('x', 40)
			FROM generate_series(0, %d) g;
		COMMIT; END LOOP; END $$`, transactions-1, rows, rows-1))
	b.ReportAllocs()
	streamed := time.Duration(0)
	runs := 0
	for b.Loop() {
		// Nothing is accepted, so nothing is confirmed, and each run has it all.
		run := start(b, cfg, ignoring{})
		var first time.Time
		for n := run.capture.Counters(); n.Transactions < transactions; n = run.capture.Counters() {
			if first.IsZero() && n.Changes > 0 {
				first = time.Now()
			}
			time.Sleep(200 * time.Microsecond)
		}
		streamed += time.Since(first)
		runs++
		run.stop()
		d.slotIdle(cfg.Slot)
	}
	b.ReportMetric(float64(runs)*transactions*rows/streamed.Seconds(), "rows/s")
}
