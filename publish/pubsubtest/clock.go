package pubsubtest

import (
	"context"
	"math"
	"slices"
	"time"
)

// clockEnd is as far as Advance goes: an int64 of nanoseconds ends in 2262, and
// deadlines and retentions are still added to it.
var clockEnd = time.Date(2201, time.January, 1, 0, 0, 0, 0, time.UTC)

// plus is a time some nanoseconds later, or the last that there is: what a caller
// names may be longer than time goes.
func plus(at, d int64) int64 {
	if d > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + d
}

// Now is the server's time: the machine's clock plus what Advance added.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Unix(0, s.now())
}

// Advance moves the server's clock on by d. What falls due by then (leases,
// back-off, late storing, retention, expiration) has happened when it returns; deliveries that follow
// from it are under way. A negative d does nothing: time never goes back. It
// stops at the end of the year 2200.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	d = min(d, clockEnd.Sub(time.Unix(0, s.now())))
	if d <= 0 {
		s.mu.Unlock()
		return
	}
	s.offset += d
	late := s.expire()
	s.armed = 0
	s.arm(s.nextDue())
	s.mu.Unlock()
	for _, l := range late {
		<-l.done
	}
}

// now is the time in nanoseconds. It is measured on the monotonic clock, so it
// never goes back. The caller holds mu.
func (s *Server) now() int64 {
	return s.started.Add(time.Since(s.started) + s.offset).UnixNano()
}

// later is a call that the server carries out at a time of its clock.
type later struct {
	at   int64
	due  chan struct{} // closed at that time
	done chan struct{} // closed when it is carried out
}

// arm makes the timer loop wake at the time, unless it wakes earlier anyway.
func (s *Server) arm(at int64) {
	if at == 0 || (s.armed != 0 && s.armed <= at) {
		return
	}
	s.armed = at
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// expire does all that is due and returns the late calls that it has let go. The
// caller holds mu.
func (s *Server) expire() (late []later) {
	now := s.now()
	for _, t := range s.topics {
		t.dropOld(now)
		t.rates.sweep(now)
	}
	for _, sub := range s.subs {
		sub.backlog.expire(now)
		s.followUp(sub)
		s.expireSubscription(sub, now)
	}
	s.laters = slices.DeleteFunc(s.laters, func(l later) bool {
		if l.at > now {
			return false
		}
		close(l.due)
		late = append(late, l)
		return true
	})
	return late
}

// nextDue is when expire has something to do, or 0. The caller holds mu.
func (s *Server) nextDue() int64 {
	var next int64
	earlier := func(at int64) {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	for _, sub := range s.subs {
		earlier(sub.backlog.next())
		earlier(sub.expiresAt())
	}
	for _, t := range s.topics {
		earlier(t.oldestEnd())
		earlier(t.rates.sweepAt)
	}
	for _, l := range s.laters {
		earlier(l.at)
	}
	return next
}

// runTimers is the one timer of the server: it sleeps until something is
// due: a lease, a back-off, a late storing, the end of a retention or of a
// subscription.
func (s *Server) runTimers(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		case <-timer.C:
		}
		s.mu.Lock()
		s.expire()
		s.armed = s.nextDue()
		wait := time.Hour
		if s.armed != 0 {
			wait = max(0, time.Duration(s.armed-s.now()))
		}
		s.mu.Unlock()
		timer.Reset(wait)
	}
}
