package pubsubtest

import (
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// TestCounters: what each request, message and answer counts as.
func TestCounters(t *testing.T) {
	r := newRig(t, Config{KeyRate: KeyRateRefused}, func(s *pubsubpb.Subscription) { s.Filter = `NOT attributes:skip` })
	mixed := publishOf("a", "1", "2", "3")
	mixed.Messages[2].OrderingKey = "b"
	skipped := publishOf("a", "skipped")
	skipped.Messages[0].Attributes = map[string]string{"skip": ""}
	taken := []*pubsubpb.PublishRequest{publishOf("a", "1", "2"), skipped, publishOf("large", half, half, half)}
	var bytes, messageBytes int
	for _, req := range append(taken, publishOf("large", "over"), mixed) {
		_, _ = r.pub.Publish(t.Context(), req)
		bytes += proto.Size(req)
	}
	for _, req := range taken {
		for _, m := range req.GetMessages() {
			messageBytes += proto.Size(m)
		}
	}
	if err := r.invokeRaw(t, []byte("\x0a\xff")); err == nil {
		t.Error("malformed bytes were taken")
	}
	p := r.open(t)
	got := p.take(5)
	r.ack(t, got[1])
	r.ack(t, got[0])
	r.modify(t, 0, got[2])
	again := p.take(3)
	r.ack(t, again...)
	r.EndStreams(testSub, codes.Unavailable)
	_ = p.wantEnd(codes.Unavailable)
	r.Inject(Fault{Kind: Refuse, Method: "GetTopic", Code: codes.Internal})
	_, _ = r.pub.GetTopic(t.Context(), &pubsubpb.GetTopicRequest{Topic: testTopic})
	waitFor(t, "the stream to be closed", func() bool { return r.Counters().StreamsOpen == 0 })

	delivered := messageBytes - proto.Size(skipped.GetMessages()[0])
	want := Counters{
		Calls: map[string]int64{"Publish": 6, "StreamingPull": 1, "Acknowledge": 3, "ModifyAckDeadline": 1, "GetTopic": 1},
		Answers: map[string]int64{
			"OK": 7, "ResourceExhausted": 1, "FailedPrecondition": 1, "InvalidArgument": 1, "Unavailable": 1, "Internal": 1,
		},
		Refused:  map[RuleID]int64{RuleKeyRate: 1, RuleOneKey: 1},
		Requests: 5, RequestBytes: int64(bytes), MaxKeysPerRequest: 2, MaxMessagesPerRequest: 3, Throttled: 1,
		Published: 6, PublishedBytes: int64(messageBytes),
		FilterAcked: 1, Delivered: 8, DeliveredBytes: int64(delivered + 3*proto.Size(taken[2].GetMessages()[0])), Redelivered: 3,
		Acks: 5, AcksOutOfOrder: 1, Nacks: 1, Streams: 1, Faults: 1,
	}
	if diff := cmp.Diff(want, r.Counters()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

// invokeRaw publishes bytes.
func (r *rig) invokeRaw(t *testing.T, data []byte) error {
	t.Helper()
	return publishBytes(t.Context(), r.conn, data)
}
