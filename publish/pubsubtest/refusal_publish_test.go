package pubsubtest

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// publishRefused publishes and checks that nothing of the request is stored.
func publishRefused(t *testing.T, rule RuleID, code codes.Code, text string, req *pubsubpb.PublishRequest) {
	t.Helper()
	r := newRig(t, Config{Record: true})
	_, err := r.pub.Publish(t.Context(), req)
	r.wantRefused(t, rule, code, text, err)
	if n := len(r.Stored(testTopic)); n != 0 {
		t.Errorf("%d messages of a refused request are stored", n)
	}
}

func published(t *testing.T, req *pubsubpb.PublishRequest) {
	t.Helper()
	r := newRig(t, Config{})
	resp, err := r.pub.Publish(t.Context(), req)
	if err != nil || len(resp.GetMessageIds()) != len(req.GetMessages()) {
		t.Errorf("a request at the limit: %d ids, %v", len(resp.GetMessageIds()), err)
	}
}

func TestRuleOneOrderingKey(t *testing.T) {
	const text = "In a single publish request, all messages must have no ordering key or they must all have the same ordering key. [code=539b]"
	for _, keys := range [][]string{{"a", "b"}, {"a", ""}, {"", "a"}, {"a", "a", "a", "b"}} {
		req := &pubsubpb.PublishRequest{Topic: testTopic}
		for _, k := range keys {
			req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{Data: []byte("x"), OrderingKey: k})
		}
		publishRefused(t, RuleOneKey, codes.FailedPrecondition, text, req)
	}
	published(t, publishOf("a", "1", "2"))
	published(t, publishOf("", "1", "2"))
}

func TestRulePublishMessages(t *testing.T) {
	many := make([]string, 1_001)
	for i := range many {
		many[i] = "x"
	}
	publishRefused(t, RulePublishMessages, codes.InvalidArgument,
		"The value for 1001 is too large. You passed message_count in the request, but the maximum value is 1000.", publishOf("k", many...))
	published(t, publishOf("k", many[:1000]...))
}

func TestRulePublishBytes(t *testing.T) {
	// Topic and framing are part of the request's size.
	req := publishOf("k", strings.Repeat("x", maxPublishBytes-100))
	req.Messages[0].Data = append(req.Messages[0].Data, make([]byte, maxPublishBytes-proto.Size(req))...)
	if n := proto.Size(req); n != maxPublishBytes {
		t.Fatalf("the request has %d bytes", n)
	}
	published(t, req)
	req.Messages[0].Data = append(req.Messages[0].Data, 0)
	publishRefused(t, RulePublishBytes, codes.InvalidArgument,
		"The value for 10000001 is too large. You passed request_size in the request, but the maximum value is 10000000.", req)
}

func TestRuleMessageEmpty(t *testing.T) {
	req := publishOf("k", "a", "")
	publishRefused(t, RuleMessageEmpty, codes.InvalidArgument,
		"One or more messages in the publish request is empty. Each message must contain either non-empty data, or at least one attribute.", req)
	req.Messages[1].Attributes = map[string]string{"a": ""}
	published(t, req)
}

func TestRuleOrderingKeyBytes(t *testing.T) {
	publishRefused(t, RuleOrderingKeyBytes, codes.InvalidArgument,
		"The value for 1025 is too large. You passed ordering_key in the request, but the maximum value is 1024.", publishOf(strings.Repeat("k", 1_025), "a"))
	published(t, publishOf(strings.Repeat("k", 1_024), "a"))
}

func TestRuleAttributes(t *testing.T) {
	with := func(attributes map[string]string) *pubsubpb.PublishRequest {
		req := publishOf("k", "a")
		req.Messages[0].Attributes = attributes
		return req
	}
	many := map[string]string{}
	for i := range 101 {
		many[fmt.Sprint(i)] = "v"
	}
	publishRefused(t, RuleAttributes, codes.InvalidArgument,
		"The value for 101 is too large. You passed attribute_count in the request, but the maximum value is 100.", with(many))
	delete(many, "0")
	published(t, with(many))
	publishRefused(t, RuleAttributes, codes.InvalidArgument,
		`The attribute "" in the request has a key that is too long. The length is 257 characters, but the maximum allowed is 256. Refer to https://cloud.google.com/pubsub/quotas for more information.`,
		with(map[string]string{strings.Repeat("k", 257): "v"}))
	publishRefused(t, RuleAttributes, codes.InvalidArgument,
		`The attribute "op" in the request has a value that is too long. The length is 1026 characters, but the maximum allowed is 1024. Refer to https://cloud.google.com/pubsub/quotas for more information.`,
		with(map[string]string{"op": strings.Repeat("ü", 513), "z": "z"})) // bytes count, not characters
	published(t, with(map[string]string{strings.Repeat("k", 256): strings.Repeat("v", 1_024)}))
}

func TestRuleAttributeReserved(t *testing.T) {
	with := func(key string) *pubsubpb.PublishRequest {
		req := publishOf("k", "a")
		req.Messages[0].Attributes = map[string]string{"op": "c", key: "v"}
		return req
	}
	for _, key := range []string{"goog", "google", "goog-x", "googclient"} {
		publishRefused(t, RuleAttributeReserved, codes.InvalidArgument, `The attribute "`+key+`" in the request has a key that starts with goog.`, with(key))
	}
	for _, key := range []string{"googclient_traceparent", "Goog", "agoog", "goo"} {
		published(t, with(key))
	}
}
