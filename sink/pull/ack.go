package pull

import (
	"context"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
)

// ackLoop sends Acknowledge requests, one at a time, while there is something to
// ack. What becomes ready while one is in flight goes into the next. It returns
// nil when ctx is cancelled and an error when Pub/Sub's answer is final.
func (p *Puller) ackLoop(ctx context.Context) error {
	backoff := p.cfg.Backoff
	for {
		n, err := p.ackBatch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if err := fatal("acknowledge messages", err); err != nil {
				return err
			}
			pause := backoff.Pause()
			p.log.Warn(EventAckFailed, "messages", n, "error", err, "retry_ms", pause.Milliseconds())
			if gax.Sleep(ctx, pause) != nil {
				return nil
			}
		case n > 0:
			backoff = p.cfg.Backoff
		default:
			select {
			case <-p.wake:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// ackOnce sends what is ready, without repeating what fails: at the end of Run.
func (p *Puller) ackOnce(ctx context.Context) {
	for {
		n, err := p.ackBatch(ctx)
		if err != nil {
			p.log.Warn(EventAckFailed, "messages", n, "error", err, "retry_ms", 0)
			return
		}
		if n == 0 {
			return
		}
	}
}

// ackBatch sends one Acknowledge request, if anything is ready, and waits for
// its answer. n is the number of messages in it.
func (p *Puller) ackBatch(ctx context.Context) (n int, err error) {
	p.mu.Lock()
	batch := p.order.Take(maxIDs, maxIDBytes)
	ids := make([]string, len(batch))
	for i, d := range batch {
		ids[i] = d.AckID()
	}
	p.mu.Unlock()
	if len(ids) == 0 {
		return 0, nil
	}
	p.counters.requests.Add(1)
	err = p.client.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: p.cfg.Subscription, AckIds: ids},
		gax.WithTimeout(requestTimeout), gax.WithRetry(nil))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.order.Failed(batch)
		return len(batch), err
	}
	p.counters.acked.Add(int64(p.order.Acked(batch)))
	p.lastAcked = p.now()
	for _, d := range batch {
		if d.state == gone {
			p.forgotten(d)
		}
	}
	return len(batch), nil
}
