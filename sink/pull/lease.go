package pull

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
)

// lease is when a message came and when its lease began last.
type lease struct{ received, extended time.Time }

// extendLeases keeps what is outstanding leased until ctx is cancelled. A lease
// is extended when a third of it has passed, so that two lost requests don't
// lose it.
func (p *Puller) extendLeases(ctx context.Context) {
	ticker := time.NewTicker(p.cfg.Lease / 6)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.giveBack(ctx)
			p.extend(ctx)
		}
	}
}

// extend extends the leases that are due, maxIDs a request.
func (p *Puller) extend(ctx context.Context) {
	now := p.now()
	var due []*Delivery
	var ids []string
	p.mu.Lock()
	p.order.All(func(d *Delivery) {
		if now.Sub(d.lease.extended) >= p.cfg.Lease/3 {
			due, ids = append(due, d), append(ids, d.ackID)
		}
	})
	p.mu.Unlock()
	for batch := range chunks(ids) {
		if err := p.modifyDeadline(ctx, batch, p.cfg.Lease); err != nil {
			if ctx.Err() == nil {
				p.log.Warn(EventLeaseFailed, "messages", len(ids), "error", err)
			}
			return // the next tick repeats it
		}
		p.mu.Lock()
		for _, d := range due[:len(batch)] {
			if d.lease.extended.Before(now) {
				d.lease.extended = now
			}
		}
		p.mu.Unlock()
		due = due[len(batch):]
	}
}

// giveBack gives messages back that were held for the longest lease, each with
// all later ones of its key: they come again, in order.
func (p *Puller) giveBack(ctx context.Context) {
	now := p.now()
	var first []*Delivery
	p.mu.Lock()
	p.order.All(func(d *Delivery) {
		if now.Sub(d.lease.received) >= p.cfg.MaxLease {
			first = append(first, d)
		}
	})
	slices.SortFunc(first, func(a, b *Delivery) int { return cmp.Compare(a.published, b.published) })
	var ids []string
	type given struct {
		id       string
		messages int
	}
	var all []given
	for _, d := range first {
		back := p.order.GiveBack(d)
		for _, d := range back {
			ids = append(ids, d.ackID)
			d.message.givenBack.Store(true)
			p.forgotten(d)
		}
		if len(back) > 0 {
			all = append(all, given{d.id, len(back)})
		}
	}
	p.mu.Unlock()
	for _, g := range all {
		p.log.Error(EventGivenBack, "message_id", g.id, "messages", g.messages, "code", "lease_expired",
			"fix", "see what the table waits for in the events before; the messages come again by themselves")
	}
	p.counters.givenBack.Add(int64(len(ids)))
	for batch := range chunks(ids) {
		if err := p.modifyDeadline(ctx, batch, 0); err != nil {
			p.log.Warn(EventLeaseFailed, "messages", len(batch), "error", err) // they come when their lease runs out
		}
	}
}

// chunks cuts ids into requests.
func chunks(ids []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for len(ids) > 0 {
			n, size := 0, 0
			for n < len(ids) && n < maxIDs && (n == 0 || size+len(ids[n]) <= maxIDBytes) {
				size += len(ids[n])
				n++
			}
			if !yield(ids[:n]) {
				return
			}
			ids = ids[n:]
		}
	}
}

func (p *Puller) modifyDeadline(ctx context.Context, ids []string, lease time.Duration) error {
	return p.client.ModifyAckDeadline(ctx, &pubsubpb.ModifyAckDeadlineRequest{
		Subscription: p.cfg.Subscription, AckIds: ids, AckDeadlineSeconds: int32(lease / time.Second),
	}, gax.WithTimeout(requestTimeout), gax.WithRetry(nil))
}
