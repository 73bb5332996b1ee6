package stack

import (
	"context"
	"slices"

	"cdc/publish/pubsubtest"
	"cdc/schema"
)

// Sabotages are the ways in which one message can be broken inside the Pub/Sub
// stand-in, to show that the verdict can fail.
var Sabotages = []string{"drop", "swap"}

// KnownSabotage reports whether s names a sabotage; none counts as known.
func KnownSabotage(s string) bool { return s == "" || slices.Contains(Sabotages, s) }

// beyondCopies is how many new changes must be stored after the publisher's
// restart, and how many messages more, before one is broken.
const beyondCopies = 500

// sabotage breaks one message. It waits until the publisher is well beyond what
// was stored before its restart: what it publishes again until then are copies,
// and breaking one of those does no harm. How far it is behind the workload says
// nothing about that: it may have been killed with little in flight.
func (s *Stack) sabotage(ctx context.Context, kind string) error {
	newest := ""
	for _, m := range s.pubsub.Stored(topic) {
		newest = max(newest, m.Attributes[schema.AttrPosition])
	}
	err := s.await(ctx, killLimit, "cdc-publisher to publish new changes", func() bool {
		return changesBeyond(s.pubsub.Stored(topic), newest) >= beyondCopies
	})
	if err != nil {
		return err
	}
	if err := s.pubsub.Sabotage(pubsubtest.SabotageKind(kind), beyondCopies); err != nil {
		return err
	}
	return s.await(ctx, killLimit, "a message to be broken", func() bool { return s.pubsub.Counters().Sabotaged > 0 })
}

// changesBeyond counts the changes with a Position above newest, copies once. A
// Position's text order is its order.
func changesBeyond(stored []pubsubtest.StoredMessage, newest string) int {
	seen := map[string]struct{}{}
	for _, m := range stored {
		if at := m.Attributes[schema.AttrPosition]; at > newest {
			seen[at] = struct{}{}
		}
	}
	return len(seen)
}
