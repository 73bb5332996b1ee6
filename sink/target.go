package sink

import (
	"context"
	"errors"
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
// batch, since it has another target or b has no room for it.
func (t *table) add(ctx context.Context, b *batch, to **target, of change, c *schema.Change) (full bool, err error) {
	if c.Op != schema.Create && c.Op != schema.Update && c.Op != schema.Delete {
		return false, unsupported(of.in, "op "+c.Op.String())
	}
	of.in.left.Add(1)
	full, err = t.place(ctx, b, to, of, c)
	if full || err != nil {
		of.in.left.Add(-1) // it isn't the last: the message is still being decoded
	}
	return full, err
}

// place is add for a change that is counted in its message already.
//
// A delete whose table isn't there waits for the table's first complete row.
// It can't make the table (it has the key's columns alone), and it mustn't be
// dropped: a row of its key that is older and comes later, such as one that a
// snapshot read before the delete, would stay for ever.
func (t *table) place(ctx context.Context, b *batch, to **target, of change, c *schema.Change) (full bool, err error) {
	if t.givenBack(of.in) {
		t.settle(of.in)
		return false, nil
	}
	p, err := t.plan(ctx, c)
	if no, ok := errors.AsType[*unplannable](err); ok {
		t.holdFor(of.in, no.coded)
		return false, nil
	}
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
	case refused == nil && size > storagewrite.MaxRequestBytes:
		b.arena = arena[:from]
		b.refused = append(b.refused, refusal{change: of, code: string(storagewrite.RowTooLarge), reason: fmt.Sprintf("row of %d bytes", size)})
	case refused == nil && from > 0 && len(arena) > t.cfg.BatchBytes:
		b.arena = arena[:from] // it grew for nothing, once a batch
		return true, nil
	case refused == nil:
		b.arena = arena
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
	t.hold(of.in)
	t.waiting = append(t.waiting, of)
	t.asked = t.now()
}

// takeWaiting takes waiting deletes into b once their table is there, as many as
// b has room for.
func (t *table) takeWaiting(ctx context.Context, b *batch, to **target) (full bool, err error) {
	if len(t.waiting) == 0 || t.target == nil && t.now().Sub(t.asked) < findAgain {
		return false, nil
	}
	waiting := t.waiting
	t.waiting = nil
	defer func() { t.waiting = append(waiting, t.waiting...) }()
	for len(waiting) > 0 && !full {
		in, taken := waiting[0].in, 0
		failed := eachChange(in, func(i int, c *schema.Change) bool {
			if i != waiting[taken].index {
				return true
			}
			if full = t.isFull(b); !full {
				full, err = t.place(ctx, b, to, waiting[taken], c)
			}
			if full || err != nil {
				return false
			}
			taken++
			return taken < len(waiting) && waiting[taken].in == in
		})
		waiting = waiting[taken:]
		if err = first(err, failed); err != nil {
			return false, fmt.Errorf("write a delete that waited for its table: %w", err)
		}
	}
	return full, nil
}

// isFull reports whether b has all that goes into one append.
func (t *table) isFull(b *batch) bool {
	return b.count() >= t.cfg.BatchRows || len(b.arena) >= t.cfg.BatchBytes
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
	if no, ok := errors.AsType[coded](err); ok {
		return nil, &unplannable{no}
	}
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
	// What only part of this table was known for, as after a delete, goes this way
	// too from now on. The stream of the old target may have appends in flight: it
	// is closed when it has been idle.
	for of, p := range t.plans {
		if d.Covers(p.target.destination) {
			delete(t.plans, of)
		}
	}
	t.target = &target{destination: d, layout: layout, stream: t.stream(layout)}
	return t.target, nil
}
