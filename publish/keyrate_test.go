package publish

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cdc/publish/pubsubtest"
	"cdc/schema"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

// TestThrottledKey: another publisher uses up a key's 1 MB/s, which is answered
// with RESOURCE_EXHAUSTED or too late. The key waits in order and loses nothing,
// others don't wait.
func TestThrottledKey(t *testing.T) {
	const hot, cold, each = "public.t|hot", "public.t|cold", 20
	for name, test := range map[string]struct {
		policy pubsubtest.KeyRatePolicy
		retry  codes.Code
		copies bool
	}{
		"refused": {pubsubtest.KeyRateRefused, codes.ResourceExhausted, false},
		"delayed": {pubsubtest.KeyRateDelayed, codes.DeadlineExceeded, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, conn := newServer(t, pubsubtest.Config{Record: true, KeyRate: test.policy}, 80)
			topic := newTopic(t, s, "throttled")
			if _, err := pubsubpb.NewPublisherClient(conn).Publish(t.Context(), &pubsubpb.PublishRequest{Topic: topic, Messages: []*pubsubpb.PubsubMessage{
				{Data: make([]byte, 9_000_000), OrderingKey: hot},
			}}); err != nil {
				t.Fatal(err)
			}
			d := start(t, Config{Topic: topic, AttemptTimeout: 100 * time.Millisecond, BackoffInitial: time.Millisecond, BackoffMax: 10 * time.Millisecond}, conn)
			var all published
			for i := range uint64(2 * each) {
				if err := d.Publish(t.Context(), all.message([]string{hot, cold}[i%2]), i, d.call); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "the hot key is throttled and the other is through", func() bool {
				return d.count() == each && d.Stats().Retries[test.retry] > 1
			})
			s.Advance(time.Minute)
			eventually(t, "all is accepted", func() bool { return d.count() == 2*each })
			d.once(t, 2*each)
			if err := d.end(t); err != nil {
				t.Error(err)
			}
			stored := slices.DeleteFunc(s.Stored(topic), func(m pubsubtest.StoredMessage) bool { return m.Attributes[schema.AttrPosition] == "" })
			if copies, err := checkStored(stored, all); err != nil || (copies > 0) != test.copies {
				t.Errorf("%d copies, %v", copies, err)
			}
		})
	}
}

// TestOwnRateIsTaken: left alone, a hot key never meets the service's limit.
func TestOwnRateIsTaken(t *testing.T) {
	s, conn := newServer(t, pubsubtest.Config{KeyRate: pubsubtest.KeyRateRefused}, 80)
	d := start(t, Config{Topic: newTopic(t, s, "hot")}, conn)
	m := testMessage("public.t|hot", strings.Repeat("x", 200_000))
	const total = 11 // 2.2 MB: a second and a half
	for i := range uint64(total) {
		if err := d.Publish(t.Context(), m, i, d.call); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is accepted", func() bool { return d.count() == total })
	if err := d.end(t); err != nil {
		t.Error(err)
	}
	if c := s.Counters(); c.Throttled != 0 {
		t.Errorf("%d of %d requests were throttled", c.Throttled, c.Requests)
	}
}
