package pubsubtest

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxPullMessages is the most messages that one Pull returns, whatever it asks for:
// the service "may return fewer" (PullRequest); the number is ours.
const maxPullMessages = 1_000

// unaryPull is a PullRequest.
type unaryPull struct {
	subscription string
	immediately  int64
	max          int64
}

// GetSubscription makes the name visible to fault filters.
func (r *unaryPull) GetSubscription() string { return r.subscription }

func parsePull(data []byte) (*unaryPull, error) {
	r := &unaryPull{}
	err := eachField(data, func(f field) error {
		switch f.num {
		case 1:
			return f.text(&r.subscription)
		case 2:
			return f.int(&r.immediately)
		case 3:
			return f.int(&r.max)
		}
		return nil
	})
	return r, err
}

// pull answers Pull: it waits a while for a first message and returns what there
// is. A key with outstanding messages has no further ones for it.
func (s *Server) pull(ctx context.Context, r *unaryPull) (*frame, error) {
	switch {
	case r.max == 0:
		return nil, s.refusals.refuse(RulePullMax, codes.InvalidArgument, "A required argument is missing in the request: (argument=\"max_messages\").")
	case r.max < 0:
		return nil, s.refusals.refuse(RulePullMax, codes.InvalidArgument, "You have passed an invalid argument to the service (argument=max_messages).")
	}
	timeout := time.NewTimer(s.cfg.PullWait)
	defer timeout.Stop()
	waiter := &consumer{wake: make(chan struct{}, 1)}
	for over := r.immediately != 0 || unheard(ctx); ; {
		out, enc, err := s.pullNow(r, waiter, over)
		if err != nil {
			s.leave(r.subscription, waiter)
			return nil, err
		}
		if len(out) > 0 || over {
			return &frame{enc.append(nil, out, false)}, nil
		}
		select {
		case <-waiter.wake:
		case <-timeout.C:
			over = true
		case <-ctx.Done():
			s.leave(r.subscription, waiter)
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// pullNow takes what there is. While it is nothing, waiter is woken when that
// changes; last takes it out.
func (s *Server) pullNow(r *unaryPull, waiter *consumer, last bool) ([]delivery, encoder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, err := s.pullable(r.subscription)
	if err != nil {
		return nil, encoder{}, err
	}
	sub.active(s)
	b := sub.backlog
	b.leave(waiter)
	out := b.take(b.puller, s.now(), int(min(r.max, maxPullMessages)), s.cfg.BatchBytes, nil)
	if len(out) == 0 && !last {
		waiter.ended, waiter.idle = false, true
		b.join(waiter)
	}
	s.arm(b.next())
	s.arm(sub.expiresAt())
	return out, sub.enc, nil
}

func (s *Server) leave(subscription string, c *consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.subs[subscription]; sub != nil {
		sub.backlog.leave(c)
		sub.active(s)
		s.arm(sub.expiresAt())
	}
}
