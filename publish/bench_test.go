package publish

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// benchBody is the body of the usual message of one change: 600 bytes.
var benchBody = strings.Repeat("x", 600)

// BenchmarkDistinctKeys publishes messages of 600 bytes, each with a key of its
// own, to a server that only counts; beside it the library's Publisher with its
// defaults. Client and server share the machine.
func BenchmarkDistinctKeys(b *testing.B) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		b.Run(fmt.Sprintf("dispatcher/rtt=%v", delay), func(b *testing.B) { benchDispatcher(b, delay, 0) })
		b.Run(fmt.Sprintf("library/rtt=%v", delay), func(b *testing.B) { benchLibrary(b, delay, 0) })
	}
	b.Run("dispatcher/1000keys/rtt=20ms", func(b *testing.B) { benchDispatcher(b, 20*time.Millisecond, 1000) })
}

func benchDispatcher(b *testing.B, delay time.Duration, keys int) {
	s := newNoopServer(b, delay)
	d, err := NewDispatcher(Config{Topic: testTopic}, s.connect(b, 1024), discard)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	var accepted sync.WaitGroup
	m := testMessage("", benchBody)
	n := 0
	b.ReportAllocs()
	begin := time.Now()
	for b.Loop() {
		m.OrderingKey = benchKey(m.OrderingKey[:0], n, keys)
		n++
		accepted.Add(1)
		if err := d.Publish(ctx, m, 0, func(uint64) { accepted.Done() }); err != nil {
			b.Fatal(err)
		}
		if n%benchWindow == 0 {
			accepted.Wait()
		}
	}
	accepted.Wait()
	reportRate(b, n, begin)
	b.ReportMetric(float64(n)/float64(s.requests.Load()), "msgs/request")
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// reportRate counts until the last message was accepted, after the loop's end.
func reportRate(b *testing.B, n int, begin time.Time) {
	took := time.Since(begin)
	b.ReportMetric(float64(n)/took.Seconds(), "msgs/s")
	b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/op")
}

// benchWindow is how many messages are published before all are waited for.
const benchWindow = 20_000

func benchKey(dst []byte, n, keys int) []byte {
	if keys > 0 {
		n %= keys
	}
	return strconv.AppendInt(append(dst, "public.orders|"...), int64(n), 10)
}

func benchLibrary(b *testing.B, delay time.Duration, keys int) {
	s := newNoopServer(b, delay)
	client, err := pubsub.NewClient(b.Context(), "p",
		option.WithEndpoint(s.addr), option.WithoutAuthentication(), option.WithTelemetryDisabled(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	publisher := client.Publisher(testTopic)
	publisher.EnableMessageOrdering = true
	var results []*pubsub.PublishResult
	wait := func() {
		for _, r := range results {
			if _, err := r.Get(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		results = results[:0]
	}
	m := testMessage("", benchBody)
	attributes := make(map[string]string)
	m.Attributes.Each(func(name string, value []byte) { attributes[name] = string(value) })
	n := 0
	b.ReportAllocs()
	begin := time.Now()
	for b.Loop() {
		key := benchKey(nil, n, keys)
		n++
		results = append(results, publisher.Publish(b.Context(), &pubsub.Message{Data: m.Data, Attributes: attributes, OrderingKey: string(key)}))
		if n%benchWindow == 0 {
			wait()
		}
	}
	wait()
	reportRate(b, n, begin)
	publisher.Stop()
}

// BenchmarkEncode makes the wire bytes of a message, what Publish does in its
// caller's goroutine.
func BenchmarkEncode(b *testing.B) {
	d, err := NewDispatcher(Config{Topic: testTopic}, &fakeConn{}, discard)
	if err != nil {
		b.Fatal(err)
	}
	m := testMessage("public.orders|123", benchBody)
	b.SetBytes(int64(len(benchBody)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := d.encode(m); err != nil {
			b.Fatal(err)
		}
	}
}
