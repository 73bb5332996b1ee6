package pubsubtest

import (
	"maps"
	"slices"
)

// Topics returns the names of all topics, sorted.
func (s *Server) Topics() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.AppendSeq([]string{}, maps.Keys(s.topics))
	slices.Sort(names)
	return names
}

// SubscriptionState is a subscription as it is now.
type SubscriptionState struct {
	Name    string
	Topic   string // "" when it was deleted or the subscription detached
	Backlog int    // messages that are not acked: see Server.Backlog
	Streams int    // open StreamingPull streams
}

// Subscriptions returns the state of all subscriptions, sorted by name.
func (s *Server) Subscriptions() []SubscriptionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []SubscriptionState
	for _, name := range slices.Sorted(maps.Keys(s.subs)) {
		sub := s.subs[name]
		state := SubscriptionState{Name: name, Backlog: sub.unacked(), Streams: len(sub.streams)}
		if sub.topic != nil {
			state.Topic = sub.topic.proto.GetName()
		}
		out = append(out, state)
	}
	return out
}

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
