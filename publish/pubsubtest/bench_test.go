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
	benchConns   = 4
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

// dialMany opens the connections that the benchmarks share their calls among.
func dialMany(tb testing.TB, r *rig) []*grpc.ClientConn {
	tb.Helper()
	conns := make([]*grpc.ClientConn, benchConns)
	for i := range conns {
		conn, err := r.Dial()
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = conn.Close() })
		conns[i] = conn
	}
	return conns
}

// publishMany publishes n of the requests in turn, 64 at once.
func publishMany(tb testing.TB, conns []*grpc.ClientConn, reqs [][]byte, n int) {
	tb.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := publishBytes(tb.Context(), conns[worker%len(conns)], reqs[i%int64(len(reqs))]); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkPublishOrdered publishes 100 messages of 200 bytes a request under
// 10,000 keys, 64 requests at once on 4 connections; the client hands over bytes,
// so that the server's cost shows. One operation is one request.
func BenchmarkPublishOrdered(b *testing.B) {
	r := newRig(b, Config{})
	conns := dialMany(b, r)
	reqs := benchRequests(b, benchKeys)
	b.SetBytes(int64(len(reqs[0])))
	b.ResetTimer()
	publishMany(b, conns, reqs, b.N)
	b.StopTimer()
	b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "msg/s")
	if c := r.Counters(); c.Published != int64(b.N)*benchBatch || c.Throttled != 0 {
		b.Fatalf("%d of %d published, %d requests throttled", c.Published, b.N*benchBatch, c.Throttled)
	}
}

// BenchmarkDeliverOrdered delivers what was published that way on 4 streams, one
// a connection, and acks it with Acknowledge, one request a response. One
// operation is 100 messages of one key.
func BenchmarkDeliverOrdered(b *testing.B) {
	r := newRig(b, Config{})
	conns := dialMany(b, r)
	reqs := benchRequests(b, benchKeys)
	publishMany(b, conns, reqs, b.N)
	b.SetBytes(int64(len(reqs[0])))
	b.ResetTimer()
	drain(b, conns, b.N*benchBatch)
	b.StopTimer()
	b.ReportMetric(float64(b.N)*benchBatch/b.Elapsed().Seconds(), "msg/s")
	if c := r.Counters(); c.Acks != int64(b.N)*benchBatch || c.Redelivered != 0 || c.AcksOutOfOrder != 0 {
		b.Fatalf("%d of %d acked, %d redelivered, %d out of order", c.Acks, b.N*benchBatch, c.Redelivered, c.AcksOutOfOrder)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.subs[testSub].backlog; len(s.keys) != 0 || s.leases.count != 0 {
		b.Fatalf("%d keys and %d leases left", len(s.keys), s.leases.count)
	}
}

// drain pulls n messages on a stream of each connection and acks them, by bytes.
func drain(tb testing.TB, conns []*grpc.ClientConn, n int) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for _, conn := range conns {
		wg.Go(func() {
			if err := drainStream(ctx, conn, &left); err != nil && ctx.Err() == nil {
				tb.Error(err)
			}
			cancel() // all is acked, or one stream is broken
		})
	}
	wg.Wait()
}

// drainStream pulls and acks until nothing is left for any stream.
func drainStream(ctx context.Context, conn *grpc.ClientConn, left *atomic.Int64) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		pubsubpb.Subscriber_StreamingPull_FullMethodName, byBytesOption)
	if err != nil {
		return err
	}
	first, err := proto.Marshal(&pubsubpb.StreamingPullRequest{Subscription: testSub, StreamAckDeadlineSeconds: 60})
	if err != nil {
		return err
	}
	if err := stream.SendMsg(&frame{first}); err != nil {
		return err
	}
	for {
		var in frame
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		req, n := acksFor(in.data)
		if err := conn.Invoke(ctx, pubsubpb.Subscriber_Acknowledge_FullMethodName, &frame{req}, &frame{}, byBytesOption); err != nil {
			return err
		}
		if left.Add(-int64(n)) <= 0 {
			return nil
		}
	}
}

// acksFor makes the AcknowledgeRequest for every message of a response.
func acksFor(resp []byte) (req []byte, n int) {
	req = protowire.AppendTag(req, 1, protowire.BytesType)
	req = protowire.AppendString(req, testSub)
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
