package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/googleapis/gax-go/v2"

	"cdc/schema"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

// findAgain is how often the table of a waiting delete is looked for.
const findAgain = 10 * time.Second

// add encodes c and takes its row into b. full says that c must go into another
// batch, since it has another target or b would hold too many bytes with it.
//
// A delete whose table isn't there waits for the table's first complete row.
// It can't make the table (it has the key's columns alone), and it mustn't be
// dropped: a row of its key that is older and comes later, such as one that a
// snapshot read before the delete, would stay for ever.
func (t *table) add(ctx context.Context, b *batch, to **target, of change, c *schema.Change) (full bool, err error) {
	if t.givenBack(of.in) {
		return false, nil
	}
	if c.Op != schema.Create && c.Op != schema.Update && c.Op != schema.Delete {
		return false, unsupported(of.in, "op "+c.Op.String())
	}
	p, err := t.plan(ctx, c)
	if err != nil {
		return false, err
	}
	if p == nil {
		t.waitForTable(of)
		return false, nil
	}
	if *to == nil {
		*to = p.target
	} else if *to != p.target {
		return true, nil
	}
	from := len(b.arena)
	arena, refused := p.AppendRow(b.arena, c)
	size := len(arena) - from
	switch {
	case refused == nil && size <= storagewrite.MaxRequestBytes && len(arena) > t.cfg.BatchBytes && from > 0:
		b.arena = arena[:from] // it grew for nothing, once a batch
		return true, nil
	case refused == nil && size > storagewrite.MaxRequestBytes:
		arena = arena[:from]
		refused = &storagewrite.RowError{Reason: storagewrite.RowTooLarge}
	}
	b.arena = arena
	of.in.left.Add(1)
	switch {
	case refused == nil:
		b.add(of, c, from)
	case refused.Reason == storagewrite.UnchangedTOAST && c.RowGone:
		// Its delete follows: nothing to write, and it hides nothing.
		t.stats.ignored.Add(1)
		t.settle(of.in)
	default:
		b.refused = append(b.refused, refusal{change: of, code: refused.Code(), reason: refused.Error()})
	}
	return false, nil
}

// waitForTable sets a delete aside. Its message is held: a stop doesn't wait for it.
func (t *table) waitForTable(of change) {
	if len(t.waiting) == 0 {
		t.log.Warn(EventDeleteWaits, "table", t.name)
	}
	of.in.left.Add(1)
	t.hold(of.in)
	t.waiting = append(t.waiting, of)
	t.asked = t.now()
}

// takeWaiting takes the waiting deletes into b once their table is there. full
// says that those that are left must go into another batch.
func (t *table) takeWaiting(ctx context.Context, b *batch, to **target) (full bool, err error) {
	if len(t.waiting) == 0 || t.target == nil && t.now().Sub(t.asked) < findAgain {
		return false, nil
	}
	waiting := t.waiting
	t.waiting = nil
	for n, of := range waiting {
		full = b.count() >= t.cfg.BatchRows
		var failed error
		err := eachChange(of.in, func(i int, c *schema.Change) bool {
			if i == of.index && !full {
				full, failed = t.add(ctx, b, to, of, c)
			}
			return i < of.index
		})
		switch {
		case err != nil || failed != nil:
			return false, fmt.Errorf("write a delete that waited for its table: %w", first(failed, err))
		case full:
			t.waiting = append(t.waiting, waiting[n:]...)
			return true, nil
		}
		t.settle(of.in) // add has counted it anew
	}
	return false, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// plan returns how c is written; nil without an error if its table isn't there
// and c can't make it.
func (t *table) plan(ctx context.Context, c *schema.Change) (*planned, error) {
	if p := t.plans[c.Table]; p != nil {
		return p, nil
	}
	if c.Op == schema.Delete && len(t.waiting) > 0 && t.target == nil && t.now().Sub(t.asked) < findAgain {
		return nil, nil // asked a moment ago
	}
	to, err := t.find(ctx, c)
	if to == nil || err != nil {
		return nil, err
	}
	p, err := to.layout.Plan(c.Table)
	if err != nil {
		return nil, &Error{"plan rows of " + c.Table.String(), "schema_change", "restart cdc-sink; report it if that doesn't help", err}
	}
	if len(t.plans) >= maxPlans {
		clear(t.plans)
	}
	t.plans[c.Table] = &planned{p, to}
	return t.plans[c.Table], nil
}

// find returns the target of c's table: the one in use if it covers it, else a
// new one, after BigQuery's table was made or checked. What may heal is repeated.
func (t *table) find(ctx context.Context, c *schema.Change) (*target, error) {
	want, err := t.destinations.Plan(c.Table)
	if err != nil {
		return nil, err
	}
	if t.target != nil && t.target.destination.Covers(want) {
		return t.target, nil
	}
	defer t.waits.begin(phaseTable)()
	backoff := t.backoff
	for {
		d, found, err := t.destination(ctx, c)
		switch {
		case err == nil && !found:
			return nil, nil
		case err == nil:
			return t.newTarget(d)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case needsPerson(err):
			return nil, err
		}
		pause := backoff.Pause()
		t.log.Warn(EventTableRetry, "table", t.name, "error", err, "retry_ms", pause.Milliseconds())
		if err := gax.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func (t *table) destination(ctx context.Context, c *schema.Change) (d *tables.Destination, found bool, err error) {
	if c.Op == schema.Delete {
		return t.destinations.Find(ctx, c.Table)
	}
	d, err = t.destinations.Ensure(ctx, c.Table)
	return d, true, err
}

func (t *table) newTarget(d *tables.Destination) (*target, error) {
	columns := make([]storagewrite.Column, len(d.Columns))
	for i, c := range d.Columns {
		columns[i] = storagewrite.Column{Name: c.Name, Type: string(c.Type), Repeated: c.Repeated}
	}
	layout, err := storagewrite.NewLayout(storagewrite.Table{
		Path: d.Path(), Columns: columns, Key: d.Key,
		PositionColumn: tables.PositionColumn, CommitTimeColumn: tables.CommitTimeColumn,
	})
	if err != nil {
		return nil, &Error{"lay out rows of " + d.Path(), "layout", "report it", err}
	}
	// The stream of the old target may have appends in flight: it is closed when
	// it has been idle.
	t.target = &target{destination: d, layout: layout, stream: t.stream(layout)}
	return t.target, nil
}
