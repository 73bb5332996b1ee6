package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/googleapis/gax-go/v2"

	"cdc/sink/storagewrite"
)

// stalledAfter is how long a write may fail before a person is told. It goes on
// being repeated.
const stalledAfter = 10 * time.Minute

// write is one batch on its way into BigQuery.
type write struct {
	*table
	batch  *batch
	target *target
	// unanswered: an attempt ended without an answer, so the library may still be
	// sending from the arena, which is never used again.
	unanswered bool
	failing    time.Time // since when; zero if the last attempt was answered
	told       bool
	backoffNow gax.Backoff
}

// run writes the batch: when it returns nil, every change of it is settled. It
// returns an error if a person must act or ctx was cancelled.
func (w *write) run(ctx context.Context) error {
	work := [][]int{w.batch.newest()}
	for len(work) > 0 {
		rows := w.withoutGivenBack(work[len(work)-1])
		work = work[:len(work)-1]
		if len(rows) == 0 {
			continue
		}
		again, err := w.attempt(ctx, rows)
		if err != nil {
			return err
		}
		work = append(work, again...)
	}
	if !w.unanswered {
		select {
		case w.arenas <- w.batch.arena:
		default:
		}
	}
	return w.deadLetter(ctx, w.batch.refused)
}

// withoutGivenBack leaves out the rows whose message was given back: they come
// again. What isn't sent hides nothing: the row behind it takes its place.
func (w *write) withoutGivenBack(rows []int) []int {
	kept := rows[:0]
	for _, r := range rows {
		for r >= 0 && w.givenBack(w.batch.rows[r].in) {
			w.settle(w.batch.rows[r].in)
			r = w.batch.rows[r].hidden
		}
		if r >= 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

// attempt appends rows once and returns the rows that are to be appended next,
// in groups, the last group first.
func (w *write) attempt(ctx context.Context, rows []int) (again [][]int, err error) {
	defer w.waits.begin(phaseBigQuery)()
	err = w.target.stream.Append(ctx, w.batch.wire(make([][]byte, 0, len(rows)), rows))
	w.stats.batches.Add(1)
	if err == nil {
		w.written(rows)
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	failure, ok := errors.AsType[*storagewrite.AppendError](err)
	if !ok {
		return nil, fmt.Errorf("append to %s: %w", w.name, err)
	}
	switch failure.Verdict {
	case storagewrite.RefusedRows:
		return w.refused(ctx, rows, failure.Rows)
	case storagewrite.Refused:
		if len(rows) > 1 { // which row it is is found by halving
			half := len(rows) / 2
			return [][]int{rows[half:], rows[:half]}, nil
		}
		// The table may be what is wrong: then every row would be refused.
		if sound, err := w.tableIsSound(ctx, failure); err != nil {
			return nil, err
		} else if sound {
			return w.refused(ctx, rows, []int{0})
		}
	case storagewrite.Missing:
		if _, err := w.tableIsSound(ctx, failure); err != nil {
			return nil, err
		}
	case storagewrite.Stop:
		return nil, failure
	case storagewrite.Retry:
		w.unanswered = true
	}
	return [][]int{rows}, w.pause(ctx, rows, failure)
}

// tableIsSound looks at the table after failure. It is sound if it is there and
// takes our rows; false without an error if BigQuery doesn't say.
func (w *write) tableIsSound(ctx context.Context, failure *storagewrite.AppendError) (bool, error) {
	there, err := w.destinations.Exists(ctx, w.target.destination)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case needsPerson(err):
		return false, err
	case err != nil:
		return false, nil
	case !there && failure.Verdict == storagewrite.Missing:
		return false, failure
	}
	return there, nil
}

// written settles rows and all that they hid.
func (w *write) written(rows []int) {
	now := w.now()
	w.failing, w.told = time.Time{}, false
	if w.brake.written(now, len(rows)) {
		w.log.Info(EventTableReleased, "table", w.name)
	}
	changes := 0
	w.stats.mu.Lock()
	for _, r := range rows {
		w.batch.behind(r, func(r *batchRow) {
			w.stats.latency.add(now.Sub(r.commit.Time()))
			changes++
		})
	}
	w.stats.mu.Unlock()
	w.stats.rows.Add(int64(len(rows)))
	w.stats.changes.Add(int64(changes))
	for _, r := range rows {
		w.batch.behind(r, func(r *batchRow) { w.settle(r.in) })
	}
}

// refused sends the named ones of rows to the dead letter. Next come the others,
// of which none was written, and what the refused ones hid.
func (w *write) refused(ctx context.Context, rows, named []int) (again [][]int, err error) {
	var next []int
	var letters []refusal
	at := 0
	for _, n := range named {
		if n < at || n >= len(rows) {
			continue // twice, or no such row
		}
		next = append(next, rows[at:n]...)
		at = n + 1
		row := &w.batch.rows[rows[n]]
		letters = append(letters, refusal{row.change, string(storagewrite.RowRefused), "BigQuery refused the row"})
		if row.hidden >= 0 {
			next = append(next, row.hidden)
		}
	}
	if len(letters) == 0 {
		return nil, &Error{"append to " + w.name + ": BigQuery refused rows that weren't sent", "append_refused", "report it", nil}
	}
	next = append(next, rows[at:]...)
	if !w.brake.refuse(w.now(), len(letters)) {
		return [][]int{rows}, w.heldPause(ctx, len(letters))
	}
	if err := w.send(ctx, letters); err != nil {
		return nil, err
	}
	return [][]int{next}, nil
}

// pause waits before the same rows are appended again, longer each time.
func (w *write) pause(ctx context.Context, rows []int, failure *storagewrite.AppendError) error {
	now := w.now()
	if w.failing.IsZero() {
		w.failing = now
		w.backoffNow = w.backoff
	}
	pause := w.backoffNow.Pause()
	w.stats.retries.Add(1)
	w.log.Warn(EventWriteRetry, "table", w.name, "rows", len(rows), "error", failure, "code", failure.Code(), "retry_ms", pause.Milliseconds())
	if failing := now.Sub(w.failing); failing >= stalledAfter && !w.told {
		w.told = true
		w.log.Error(EventWriteStalled, "table", w.name, "rows", len(rows), "error", failure, "failing_ms", failing.Milliseconds(),
			"code", failure.Code(), "fix", "see BigQuery's status and quotas; the rows stay leased and are repeated")
	}
	return gax.Sleep(ctx, pause)
}
