package publish

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cdc/publish/queue"
	"cdc/schema"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// TestRequestIsWhatTheGeneratedTypeReads compares our bytes with the message
// that they should be.
func TestRequestIsWhatTheGeneratedTypeReads(t *testing.T) {
	sent := time.Date(2026, 3, 4, 5, 6, 7, 89_000, time.FixedZone("", 3600))
	want := &pubsubpb.PublishRequest{Topic: testTopic}
	var items []queue.Item[item]
	for _, data := range []string{"", "x", strings.Repeat("y", 127), strings.Repeat("z", 20_000)} {
		m := testMessage("public.orders|7", data)
		attributes := make(map[string]string)
		m.Attributes.Each(func(name string, value []byte) { attributes[name] = string(value) })
		attributes[schema.AttrSent] = "2026-03-04T04:06:07.000089Z"
		want.Messages = append(want.Messages, &pubsubpb.PubsubMessage{
			Data: []byte(data), Attributes: attributes, OrderingKey: "public.orders|7",
		})
		m.Attributes.Sent = 1 // an earlier one doesn't stay
		wire := appendMessage(nil, m)
		items = append(items, queue.Item[item]{Message: item{wire: wire}, Bytes: len(wire) + messageOverheadBytes})
	}
	topic := appendTopic(nil, testTopic)
	r := newRequest(topic, items, sent)
	bytes := r.pieces.Materialize()
	got := new(pubsubpb.PublishRequest)
	if err := proto.Unmarshal(bytes, got); err != nil {
		t.Fatal(err)
	}
	for _, m := range got.Messages {
		if len(m.Data) == 0 {
			m.Data = []byte{}
		}
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	most := len(topic)
	for _, it := range items {
		most += it.Bytes
	}
	if len(bytes) > most || len(bytes) < most-4*len(items) {
		t.Errorf("request has %d bytes, counted as %d", len(bytes), most)
	}
}

// TestSentHasItsLength: the entry is as long as every message is charged for.
func TestSentHasItsLength(t *testing.T) {
	for _, sent := range []time.Time{time.Unix(0, 0), time.Unix(1_800_000_000, 999_999_999), time.UnixMicro(1_700_000_000_123_456)} {
		if n := len(appendSent(nil, sent)); n != sentEntryBytes {
			t.Errorf("%v: %d bytes, want %d", sent, n, sentEntryBytes)
		}
	}
}

func TestRequestAllocations(t *testing.T) {
	topic := appendTopic(nil, testTopic)
	items := make([]queue.Item[item], 50)
	for i := range items {
		items[i].Message.wire = appendMessage(nil, testMessage("k", "data"))
	}
	now := time.Now()
	if n := testing.AllocsPerRun(100, func() { newRequest(topic, items, now) }); n > 2*50+4 {
		t.Errorf("%.0f allocations for a request of 50 messages", n)
	}
}

func TestResponse(t *testing.T) {
	want := &pubsubpb.PublishResponse{MessageIds: []string{"1", "", strings.Repeat("9", 200)}}
	bytes, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	bytes = append(bytes, 0x78, 0x01) // an unknown field
	var got []string
	if err := (&wireResponse{bytes}).each(func(id []byte) { got = append(got, string(id)) }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want.MessageIds) {
		t.Errorf("got %q", got)
	}
}

// FuzzResponse: foreign bytes never panic, and we read what the generated type reads.
func FuzzResponse(f *testing.F) {
	f.Add([]byte{0x0a, 1, '7'})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{0x0b, 0x0c})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		n := 0
		err := (&wireResponse{bytes}).each(func([]byte) { n++ })
		want := new(pubsubpb.PublishResponse)
		if proto.Unmarshal(bytes, want) == nil && (err != nil || n != len(want.MessageIds)) {
			t.Errorf("%d IDs, %v; the generated type reads %d", n, err, len(want.MessageIds))
		}
	})
}
