package pubsubtest

import (
	"bytes"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func mustMarshal(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// FuzzParsePublish: what our parser accepts, the generated type reads the same.
func FuzzParsePublish(f *testing.F) {
	req := publishOf("k", "a", "b")
	f.Add(mustMarshal(f, req))
	req.Messages[0].Attributes = map[string]string{"a": "b", "": ""}
	req.Messages[1].MessageId, req.Messages[1].PublishTime = "x", timestamppb.Now()
	req.Messages[1].OrderingKey = "other"
	req.Messages[1].Attributes = map[string]string{"goog-x": "y"}
	f.Add(mustMarshal(f, req))
	f.Add([]byte("\x12\x02\x2a\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parsePublish(data)
		if err != nil {
			return
		}
		var want pubsubpb.PublishRequest
		if err := proto.Unmarshal(data, &want); err != nil {
			t.Fatalf("accepted what protobuf refuses: %v", err)
		}
		if got.topic != want.GetTopic() || got.count() != len(want.GetMessages()) || len(got.messages) != min(got.count(), maxPublishMessages) {
			t.Fatalf("topic %q, %d messages; want %q, %d", got.topic, got.count(), want.GetTopic(), len(want.GetMessages()))
		}
		keys := map[string]bool{}
		for i, m := range want.GetMessages()[:len(got.messages)] {
			keys[m.GetOrderingKey()] = true
			g := got.messages[i]
			if string(g.key) != m.GetOrderingKey() || g.data != len(m.GetData()) || g.attributes < len(m.GetAttributes()) {
				t.Fatalf("message %d: %+v, want %v", i, g, m)
			}
			for k, v := range m.GetAttributes() {
				if strings.HasPrefix(k, "goog") && !strings.HasPrefix(k, "googclient_") && g.reserved == nil {
					t.Fatalf("message %d: attribute %q is not seen as reserved", i, k)
				}
				if g.longestKey < len(k) || g.longestValue < len(v) {
					t.Fatalf("message %d: attribute %q=%q is longer than %d, %d", i, k, v, g.longestKey, g.longestValue)
				}
			}
			var body pubsubpb.PubsubMessage
			if err := proto.Unmarshal(g.body, &body); err != nil || body.GetMessageId() != "" || body.GetPublishTime() != nil || !bytes.Equal(body.GetData(), m.GetData()) {
				t.Fatalf("message %d is kept as %v, %v", i, &body, err)
			}
		}
		if n := got.distinctKeys(); n != len(keys) {
			t.Fatalf("%d keys, want %d", n, len(keys))
		}
	})
}

// FuzzParsePull: the same for a subscriber's requests.
func FuzzParsePull(f *testing.F) {
	f.Add(mustMarshal(f, &pubsubpb.StreamingPullRequest{
		Subscription: testSub, AckIds: []string{"a"}, ModifyDeadlineAckIds: []string{"b", "c"}, ModifyDeadlineSeconds: []int32{0, -1},
		StreamAckDeadlineSeconds: 10, ClientId: "c", MaxOutstandingMessages: 1, MaxOutstandingBytes: 2, ProtocolVersion: 1,
	}))
	f.Add(mustMarshal(f, &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: []string{"a"}, AckDeadlineSeconds: 7}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := parseStreamingPull(data); err == nil {
			var want pubsubpb.StreamingPullRequest
			if err := proto.Unmarshal(data, &want); err != nil {
				t.Fatalf("accepted what protobuf refuses: %v", err)
			}
			kept := func(n int) int { return min(n, got.most()) }
			if got.subscription != want.GetSubscription() || len(got.ackIDs) != kept(len(want.GetAckIds())) ||
				len(got.modifyIDs) != kept(len(want.GetModifyDeadlineAckIds())) || len(got.modifySecs) != kept(len(want.GetModifyDeadlineSeconds())) ||
				int32(got.deadlineSecs) != want.GetStreamAckDeadlineSeconds() || got.maxMessages != want.GetMaxOutstandingMessages() ||
				got.maxBytes != want.GetMaxOutstandingBytes() || got.protocol != want.GetProtocolVersion() || got.clientID != want.GetClientId() {
				t.Fatalf("%+v, want %v", got, &want)
			}
		}
		_, _ = parseAcknowledge(data)
		_, _ = parseModifyAckDeadline(data)
		_, _ = parsePull(data)
	})
}

// FuzzAckID: an id that is accepted is one that the server makes.
func FuzzAckID(f *testing.F) {
	f.Add(appendAckID(nil, ackID{1, 2, 3}, 184), 184)
	f.Add(appendAckID(nil, ackID{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, 32), 32)
	f.Fuzz(func(t *testing.T, text []byte, length int) {
		if length < minAckIDBytes || length > 1024 {
			return
		}
		id, ok := parseAckID(text, length)
		if !ok {
			return
		}
		again, ok := parseAckID(appendAckID(nil, id, length), length)
		if !ok || again != id {
			t.Fatalf("%q is %+v, again %+v", text, id, again)
		}
	})
}

// TestSmallestFields: what a request costs is bounded by its bytes, however small
// its messages, ack ids and numbers are.
func TestSmallestFields(t *testing.T) {
	const n = 1_000_000
	r, err := parsePublish(bytes.Repeat([]byte{fieldPublishMessages<<3 | 2, 0}, n))
	if err != nil || r.count() != n || len(r.messages) != maxPublishMessages {
		t.Errorf("%d of %d messages are kept: %v", len(r.messages), r.count(), err)
	}
	for _, num := range []byte{2, 4} {
		p, err := parseStreamingPull(bytes.Repeat([]byte{num<<3 | 2, 0}, n))
		if err != nil || len(p.ackIDs)+len(p.modifyIDs) != p.most() {
			t.Errorf("field %d: %d and %d empty ack ids are kept: %v", num, len(p.ackIDs), len(p.modifyIDs), err)
		}
	}
	packed := append(protowire.AppendVarint([]byte{3<<3 | 2}, n), make([]byte, n)...)
	for _, data := range [][]byte{packed, bytes.Repeat([]byte{3 << 3, 0}, n)} {
		p, err := parseStreamingPull(data)
		if err != nil || len(p.modifySecs) != p.most() {
			t.Errorf("%d numbers are kept: %v", len(p.modifySecs), err)
		}
	}
}
