package pubsubtest

// Backlog returns how many messages of a subscription are not acked: those to
// be delivered, those to be delivered again, and those leased. It is 0 for a
// subscription that doesn't exist. (Cloud Monitoring's
// subscription/num_undelivered_messages counts the same.)
func (s *Server) Backlog(subscription string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[subscription]
	if sub == nil {
		return 0
	}
	return sub.unacked()
}

func (sub *subscription) unacked() int { return sub.backlog.waiting + sub.backlog.leases.count }
