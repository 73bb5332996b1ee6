package publish

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// noopServer answers every Publish after a delay and only counts: the ceiling of
// what a client can reach here.
type noopServer struct {
	delay    time.Duration
	messages atomic.Int64
	requests atomic.Int64
	addr     string
}

// frame is a message as it came.
type frame struct{ bytes []byte }

type frameCodec struct{}

func (frameCodec) Name() string { return proto.Name }

func (frameCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(*frame).bytes)}, nil
}

func (frameCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*frame).bytes = data.Materialize()
	return nil
}

func newNoopServer(t testing.TB, delay time.Duration) *noopServer {
	t.Helper()
	s := &noopServer{delay: delay}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	server := grpc.NewServer(grpc.ForceServerCodecV2(frameCodec{}), grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxConcurrentStreams(100))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "google.pubsub.v1.Publisher",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Publish", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var f frame
			if err := decode(&f); err != nil {
				return nil, err
			}
			return s.answer(f.bytes), nil
		}}},
	}, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s
}

func (s *noopServer) answer(request []byte) *frame {
	var resp []byte
	n := 0
	for len(request) > 0 {
		number, kind, tag := protowire.ConsumeTag(request)
		size := protowire.ConsumeFieldValue(number, kind, request[tag:])
		if size < 0 {
			panic("not a request")
		}
		request = request[tag+size:]
		if number == fieldRequestMessages {
			resp = protowire.AppendTag(resp, fieldResponseIDs, protowire.BytesType)
			resp = protowire.AppendString(resp, "1234567890123456")
			n++
		}
	}
	if s.delay > 0 {
		time.Sleep(s.delay)
	}
	s.messages.Add(int64(n))
	s.requests.Add(1)
	return &frame{resp}
}

func (s *noopServer) connect(t testing.TB, maxInFlight int) Conn {
	t.Helper()
	conn, err := Connect(t.Context(), Endpoint{Emulator: s.addr, MaxInFlight: maxInFlight}, discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
