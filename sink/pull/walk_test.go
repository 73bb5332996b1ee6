package pull

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// fixture is a response with n messages of 600 bytes and 10 attributes.
func fixture(tb testing.TB, n int) (*pubsubpb.StreamingPullResponse, []byte) {
	tb.Helper()
	r := &pubsubpb.StreamingPullResponse{SubscriptionProperties: &pubsubpb.StreamingPullResponse_SubscriptionProperties{MessageOrderingEnabled: true}}
	for i := range n {
		m := &pubsubpb.PubsubMessage{
			Data: bytes.Repeat([]byte("x"), 600), MessageId: fmt.Sprint(1000 + i), OrderingKey: fmt.Sprintf("public.orders|%d", i),
			PublishTime: &timestamppb.Timestamp{Seconds: 1767323045, Nanos: int32(i)}, Attributes: map[string]string{},
		}
		for j := range 10 {
			m.Attributes[fmt.Sprintf("attribute-%d", j)] = fmt.Sprintf("value-%d", j)
		}
		r.ReceivedMessages = append(r.ReceivedMessages, &pubsubpb.ReceivedMessage{
			AckId: fmt.Sprintf("%0150d", i), Message: m, DeliveryAttempt: int32(i % 5),
		})
	}
	b, err := proto.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	return r, b
}

func equal(t *testing.T, r *pubsubpb.StreamingPullResponse, messages []Message) {
	t.Helper()
	if len(messages) != len(r.GetReceivedMessages()) {
		t.Fatalf("%d messages, want %d", len(messages), len(r.GetReceivedMessages()))
	}
	for i := range messages {
		got, want := &messages[i], r.GetReceivedMessages()[i]
		attributes := make(map[string]string)
		for name, value := range got.Attributes() {
			attributes[string(name)] = string(value)
		}
		m := &pubsubpb.PubsubMessage{
			Data: got.Data, MessageId: string(got.ID), OrderingKey: string(got.OrderingKey),
			PublishTime: timestamppb.New(got.PublishTime), Attributes: attributes,
		}
		back := &pubsubpb.ReceivedMessage{AckId: string(got.ackID), Message: m, DeliveryAttempt: got.DeliveryAttempt}
		if !proto.Equal(back, want) {
			t.Errorf("message %d: %v, want %v", i, back, want)
		}
	}
}

func TestParseResponse(t *testing.T) {
	r, b := fixture(t, 20)
	messages, err := parseResponse(b)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, r, messages)
	for cut := range b { // every truncation is an error or fewer messages, never a panic
		_, _ = parseResponse(b[:cut])
	}
}

func TestParseResponseAllocatesOnce(t *testing.T) {
	_, b := fixture(t, 100)
	allocs := testing.AllocsPerRun(50, func() {
		messages, err := parseResponse(b)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range messages {
			for _, value := range messages[i].Attributes() {
				n += len(value)
			}
		}
	})
	if allocs != 1 {
		t.Errorf("%.0f allocations for 100 messages, want 1: the slice", allocs)
	}
}

func FuzzParseResponse(f *testing.F) {
	_, b := fixture(f, 2)
	f.Add(b)
	f.Add([]byte{0x0a, 0x03, 0x0a, 0x01, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.Clone(b)
		messages, err := parseResponse(b)
		if !bytes.Equal(in, b) {
			t.Fatal("the response was written to")
		}
		if err != nil {
			return
		}
		for i := range messages {
			m := &messages[i]
			for name, value := range m.Attributes() {
				_, _ = len(name), len(value)
			}
			if len(m.ackID) == 0 || len(m.ID) == 0 || m.PublishTime.Location() != time.UTC {
				t.Fatal("a message without its ids was let through")
			}
		}
	})
}

func BenchmarkParseResponse(b *testing.B) {
	_, wire := fixture(b, 500)
	b.Logf("fixture: 500 messages of 600 bytes and 10 attributes, %d bytes", len(wire))
	walk := func(b *testing.B) {
		b.SetBytes(int64(len(wire)))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			messages, err := parseResponse(wire)
			if err != nil {
				b.Fatal(err)
			}
			for i := range messages {
				for _, value := range messages[i].Attributes() {
					n += len(value)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/message")
	}
	b.Run("walk", walk)
	b.Run("generated", func(b *testing.B) {
		b.SetBytes(int64(len(wire)))
		b.ReportAllocs()
		for b.Loop() {
			var r pubsubpb.StreamingPullResponse
			if err := proto.Unmarshal(wire, &r); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/message")
	})
}

// Every form that protobuf allows for an entry of a map reads the same, and no
// length reaches beyond the entry.
func TestParseEntryForms(t *testing.T) {
	long := strings.Repeat("v", 200)
	text := func(b []byte, num protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
	}
	usual := text(text(nil, 1, "name"), 2, "value")
	for what, tt := range map[string]struct {
		b           []byte
		name, value string
	}{
		"usual":          {usual, "name", "value"},
		"value first":    {text(text(nil, 2, "value"), 1, "name"), "name", "value"},
		"no value":       {text(nil, 1, "name"), "name", ""},
		"empty value":    {text(text(nil, 1, "name"), 2, ""), "name", ""},
		"no name":        {text(nil, 2, "value"), "", "value"},
		"nothing":        {nil, "", ""},
		"long value":     {text(text(nil, 1, "name"), 2, long), "name", long},
		"long name":      {text(text(nil, 1, long), 2, "value"), long, "value"},
		"the last wins":  {text(usual[:len(usual):len(usual)], 2, "other"), "name", "other"},
		"unknown fields": {text(usual[:len(usual):len(usual)], 3, "other"), "name", "value"},
	} {
		name, value, err := parseEntry(tt.b)
		if string(name) != tt.name || string(value) != tt.value || err != nil {
			t.Errorf("%s: %q, %q, %v", what, name, value, err)
		}
	}
	for cut := 1; cut < len(usual); cut++ {
		if _, _, err := parseEntry(usual[:cut:cut]); err == nil && cut != 6 { // after 6 bytes the name is complete
			t.Errorf("%d of %d bytes were taken for an entry", cut, len(usual))
		}
	}
}

// A message that comes again is another event than one that comes first.
func TestMessagesInTheDebugLog(t *testing.T) {
	_, wire := fixture(t, 5) // delivery attempts 0 to 4
	messages, err := parseResponse(wire)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := &Puller{log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	p.logMessages(t.Context(), messages, []*Message{&messages[1], &messages[3]}) // attempts 1 and 3
	for i, want := range []string{EventRedelivered, EventMessageLogged, EventRedelivered, EventRedelivered, EventRedelivered} {
		line, _ := out.ReadString('\n')
		if !strings.Contains(line, `msg="`+want+`" message_id=`+string(messages[i].ID)) {
			t.Errorf("message %d: %q, want %q", i, line, want)
		}
	}
}
