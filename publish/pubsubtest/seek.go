package pubsubtest

import (
	"context"
	"math"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

// Seek moves a subscription to a time.
func (p *subscriberService) Seek(_ context.Context, req *pubsubpb.SeekRequest) (*pubsubpb.SeekResponse, error) {
	s := p.s
	switch target := req.GetTarget().(type) {
	case nil:
		return nil, s.refusals.refuse(RuleArgumentMissing, codes.InvalidArgument, "A required argument is missing in the request: (argument=\"target\").")
	case *pubsubpb.SeekRequest_Snapshot:
		return nil, s.notYet("a snapshot")
	case *pubsubpb.SeekRequest_Time:
		if err := target.Time.CheckValid(); err != nil {
			return nil, s.refusals.refuse(RuleSeekTime, codes.InvalidArgument, "You have passed an invalid argument to the service (argument=time).")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, err := s.attached(req.GetSubscription())
	if err != nil {
		return nil, err
	}
	var kept []*message
	if sub.topic != nil {
		sub.topic.dropOld(s.now())
		kept = sub.filter.matching(sub.topic.kept)
	}
	sub.backlog.dropOld(s.now())
	sub.backlog.seek(nanoseconds(req.GetTime().AsTime()), kept)
	sub.active(s)
	s.followUp(sub)
	return &pubsubpb.SeekResponse{}, nil
}

// nanoseconds is the time since 1970, or the most that an int64 holds.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// seek marks what was published before at as acked and all other messages that
// are retained, here or in kept by the topic, as unacked. All leases end, so
// that what becomes unacked is certainly delivered after the seek. Its cost is
// the number of messages retained.
func (b *backlog) seek(at int64, kept []*message) {
	b.clearQueues()
	for _, e := range b.merge(kept) {
		if e.msg.time >= at {
			b.append(e)
			continue
		}
		b.finish(e)
	}
}

// clearQueues ends all leases and forgets in which order messages wait; all of
// them stay in the log.
func (b *backlog) clearQueues() {
	for e := b.log.first; e != nil; e = e.logNext {
		if e.state == leased {
			b.unlease(e)
		}
		e.key, e.prev, e.next, e.readyAt = nil, nil, nil, 0
	}
	b.keys, b.mostKeys = map[string]*keyQueue{}, 0
	b.fresh, b.loose, b.delayed, b.waiting = keyList{}, entryQueue{}, nil, 0
	for _, c := range b.consumers {
		c.ready = keyList{}
	}
}

// merge brings the messages that the topic kept into the log and returns all of
// it in storing order. What only the subscription has is older than what the
// topic keeps.
func (b *backlog) merge(kept []*message) []*entry {
	own := make(map[*message]*entry, b.log.count)
	for e := b.log.first; e != nil; e = e.logNext {
		own[e.msg] = e
	}
	later := make([]*entry, 0, len(kept))
	for _, m := range kept {
		e := own[m]
		if e == nil {
			e = &entry{msg: m}
		} else {
			b.log.remove(e)
		}
		later = append(later, e)
	}
	all := make([]*entry, 0, b.log.count+len(later))
	for e := b.log.first; e != nil; e = e.logNext {
		all = append(all, e)
	}
	for _, e := range later {
		b.log.push(e)
	}
	return append(all, later...)
}
