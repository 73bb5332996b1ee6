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

// caughtUp is how many changes the publisher may be behind when a message is broken.
const caughtUp = 500

// sabotage breaks one message. It waits until the publisher has caught up after
// its restart: what it publishes again until then are copies, and breaking one of
// those does no harm.
func (s *Stack) sabotage(ctx context.Context, kind string, w *workload) error {
	err := s.await(ctx, killLimit, "cdc-publisher to catch up", func() bool {
		committed := int(w.changes.Load()) // before the slow look at what is stored
		return s.storedChanges()+caughtUp >= committed
	})
	if err != nil {
		return err
	}
	if err := s.pubsub.Sabotage(pubsubtest.SabotageKind(kind), caughtUp); err != nil {
		return err
	}
	return s.await(ctx, killLimit, "a message to be broken", func() bool { return s.pubsub.Counters().Sabotaged > 0 })
}

// storedChanges counts what Pub/Sub has stored, copies once.
func (s *Stack) storedChanges() int {
	seen := map[string]struct{}{}
	for _, m := range s.pubsub.Stored(topic) {
		seen[m.Attributes[schema.AttrPosition]] = struct{}{}
	}
	return len(seen)
}
