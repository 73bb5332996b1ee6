package pubsubtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	benchKeys    = 10_000
	benchBatch   = 100
	benchMessage = 200 // bytes of data
)

// benchRequests are publish requests of 100 messages under one of n keys each, as bytes.
func benchRequests(tb testing.TB, n int) [][]byte {
	tb.Helper()
	out := make([][]byte, n)
	for i := range out {
		req := &pubsubpb.PublishRequest{Topic: testTopic}
		for range benchBatch {
			req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{
				Data: make([]byte, benchMessage), OrderingKey: fmt.Sprintf("public.orders|%d", i),
			})
		}
		data, err := proto.Marshal(req)
		if err != nil {
			tb.Fatal(err)
		}
		out[i] = data
	}
	return out
}

var byBytesOption = grpc.ForceCodecV2(codec{})

func publishBytes(ctx context.Context, conn *grpc.ClientConn, data []byte) error {
	var out frame
	return conn.Invoke(ctx, pubsubpb.Publisher_Publish_FullMethodName, &frame{data}, &out, byBytesOption)
}

// BenchmarkPublish publishes 100 messages a request under 10,000 keys, 64
// requests at once; the client hands over bytes, so that the server's cost shows.
func BenchmarkPublish(b *testing.B) {
	r := newRig(b, Config{})
	reqs := benchRequests(b, benchKeys)
	b.SetBytes(int64(len(reqs[0])))
	var next atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := publishBytes(b.Context(), r.conn, reqs[i%benchKeys]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "msg/s")
}

// BenchmarkDeliver pulls and acks what was published: one operation is 100
// messages on one of 10,000 keys.
func BenchmarkDeliver(b *testing.B) {
	r := newRig(b, Config{})
	reqs := benchRequests(b, benchKeys)
	for i := range b.N {
		if err := publishBytes(b.Context(), r.conn, reqs[i%benchKeys]); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(reqs[0])))
	b.ResetTimer()
	if got := drain(b, r, b.N*benchBatch); got != b.N*benchBatch {
		b.Fatalf("drained %d of %d", got, b.N*benchBatch)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "msg/s")
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.subs[testSub].backlog; len(s.keys) != 0 || s.leases.count != 0 {
		b.Fatalf("%d keys and %d leases left", len(s.keys), s.leases.count)
	}
}

// drain pulls and acks n messages on one stream, by bytes.
func drain(tb testing.TB, r *rig, n int) int {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		pubsubpb.Subscriber_StreamingPull_FullMethodName, byBytesOption)
	if err != nil {
		tb.Fatal(err)
	}
	first, err := proto.Marshal(&pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 60})
	if err != nil {
		tb.Fatal(err)
	}
	if err := stream.SendMsg(&frame{first}); err != nil {
		tb.Fatal(err)
	}
	got := 0
	for got < n {
		var in frame
		if err := stream.RecvMsg(&in); err != nil {
			tb.Fatal(err)
		}
		acks, k := acksFor(in.data)
		got += k
		if err := stream.SendMsg(&frame{acks}); err != nil {
			tb.Fatal(err)
		}
	}
	for r.leasesLeft() > 0 {
	}
	return got
}

// acksFor makes the stream request that acks every message of a response.
func acksFor(resp []byte) (req []byte, n int) {
	for len(resp) > 0 {
		f, rest, err := nextField(resp)
		if err != nil {
			panic(err)
		}
		resp = rest
		if f.num != fieldResponseMessages {
			continue
		}
		id, _, err := nextField(f.bytes)
		if err != nil || id.num != fieldReceivedAckID {
			panic("no ack id first")
		}
		req = protowire.AppendTag(req, 2, protowire.BytesType)
		req = protowire.AppendBytes(req, id.bytes)
		n++
	}
	return req, n
}

func (r *rig) leasesLeft() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.subs[testSub].backlog.leases.count
}

// BenchmarkBacklogKeys takes a message through publish, delivery and ack, each
// under a key of its own, without gRPC: one operation is one message.
func BenchmarkBacklogKeys(b *testing.B) {
	bl := newBacklog(true, &Counters{})
	c := &consumer{leaseSecs: 60, wake: make(chan struct{}, 1)}
	bl.join(c)
	keys := make([]string, 1_000_000)
	for i := range keys {
		keys[i] = fmt.Sprint("public.orders|", i)
	}
	var out []delivery
	var ids []ackID
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		bl.publish([]*message{{id: uint64(n), key: keys[n%len(keys)]}})
		if n++; n%100 == 0 {
			out = bl.take(c, int64(n), 1000, 1<<30, out[:0])
			ids = ids[:0]
			for i := range out {
				ids = append(ids, out[i].id)
			}
			bl.ack(ids)
		}
	}
}
