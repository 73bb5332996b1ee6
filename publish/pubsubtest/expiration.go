package pubsubtest

// active notes activity of a subscriber, which starts the time to the
// subscription's expiration anew. The caller holds mu.
func (sub *subscription) active(s *Server) { sub.activeAt = s.now() }

// expiresAt is when the subscription expires if nothing happens, or 0: never, or
// not while a stream is open or a Pull waits.
func (sub *subscription) expiresAt() int64 {
	ttl := sub.proto.GetExpirationPolicy().GetTtl()
	if ttl == nil || len(sub.backlog.consumers) > 0 {
		return 0
	}
	return plus(sub.activeAt, int64(ttl.AsDuration()))
}

// expireSubscription deletes the subscription if its time has come. The caller
// holds mu.
func (s *Server) expireSubscription(sub *subscription, now int64) {
	if at := sub.expiresAt(); at == 0 || at > now {
		return
	}
	s.count.SubsExpired++
	s.remove(sub)
}

// remove deletes a subscription with all it has. The caller holds mu.
func (s *Server) remove(sub *subscription) {
	delete(s.subs, sub.proto.GetName())
	sub.unlink()
	sub.discard(s, s.notFound(RuleSubscriptionMissing, sub.proto.GetName()))
}
