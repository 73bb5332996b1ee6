package sink

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/googleapis/gax-go/v2"

	"cdc/sink/deadletter"
)

// aside are refused changes that wait for the brake. They have no place among the
// appends in flight: only an append that works releases the brake.
type aside struct {
	mu      sync.Mutex
	refused []refusal
}

// deadLetter sends changes that couldn't be encoded to the dead letter. If the
// brake doesn't let them, they wait aside and deadLetter returns at once.
func (t *table) deadLetter(ctx context.Context, refused []refusal) error {
	if len(refused) == 0 {
		return nil
	}
	if t.brake.refuse(t.now(), len(refused)) {
		return t.send(ctx, refused)
	}
	t.aside.mu.Lock()
	defer t.aside.mu.Unlock()
	if len(t.aside.refused) == 0 {
		t.appends.Go(func() {
			if err := t.sendAside(ctx); err != nil && ctx.Err() == nil {
				t.stop(err)
			}
		})
	}
	t.aside.refused = append(t.aside.refused, refused...)
	return nil
}

// sendAside sends what waits aside, as much as the brake lets at a time, until
// nothing is left.
func (t *table) sendAside(ctx context.Context) error {
	for {
		t.aside.mu.Lock()
		n := len(t.aside.refused)
		t.aside.mu.Unlock()
		if n == 0 {
			return nil
		}
		if err := t.heldPause(ctx, n); err != nil {
			return err
		}
		for {
			some := t.takeAside()
			if len(some) == 0 {
				break
			}
			if err := t.send(ctx, some); err != nil {
				return err
			}
		}
	}
}

// takeAside takes what may be sent now of what waits aside. What was given back
// meanwhile isn't sent: it comes again.
func (t *table) takeAside() []refusal {
	t.aside.mu.Lock()
	defer t.aside.mu.Unlock()
	kept := t.aside.refused[:0]
	for _, r := range t.aside.refused {
		if t.givenBack(r.in) {
			t.settle(r.in)
		} else {
			kept = append(kept, r)
		}
	}
	t.aside.refused = kept
	n := min(len(kept), brakeRows)
	if n == 0 || !t.brake.refuse(t.now(), n) {
		return nil
	}
	some := kept[:n:n]
	t.aside.refused = kept[n:]
	if len(t.aside.refused) == 0 {
		t.aside.refused = nil
	}
	return some
}

func (t *table) send(ctx context.Context, refused []refusal) error {
	defer t.waits.begin(phaseDeadLetter)()
	if err := t.letters.Send(ctx, t.makeLetters(refused)); err != nil {
		if why, ok := errors.AsType[coded](err); ok && why.Code() == deadletter.CodeTooLarge {
			return t.sendOneByOne(ctx, refused, why)
		}
		return err
	}
	t.stats.deadLetters.Add(int64(len(refused)))
	byCode := make(map[string]int)
	for _, r := range refused {
		byCode[r.code]++
		t.settle(r.in)
	}
	for code, n := range byCode {
		t.log.Warn(EventDeadLetter, "table", t.name, "error_code", code, "changes", n)
	}
	return nil
}

// sendOneByOne sends what was refused when the letters of some are larger than a
// message may be: those are held.
func (t *table) sendOneByOne(ctx context.Context, refused []refusal, why coded) error {
	if len(refused) == 1 {
		t.holdFor(refused[0].in, why)
		return nil
	}
	for i := range refused {
		if err := t.send(ctx, refused[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// heldRetry is how often a held table's append is tried again.
const heldRetry = 30 * time.Second

func (t *table) heldPause(ctx context.Context, refused int) error {
	defer t.waits.begin(phaseHeld)()
	t.log.Error(EventTableHeld, "table", t.name, "refused_rows", refused, "code", "table_held",
		"fix", "see the dead letters of the table for the reason; its messages stay in the subscription, and some go to the dead letter whenever an append works again")
	return gax.Sleep(ctx, heldRetry)
}
