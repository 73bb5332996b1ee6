package storagewrite

import (
	"context"
	"errors"
	"io"
	"testing"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// plain is a stream as gRPC makes it.
type plain struct {
	grpc.ClientStream
	ctx    context.Context
	sent   int
	closed bool
}

func (p *plain) SendMsg(any) error            { p.sent++; return nil }
func (p *plain) RecvMsg(any) error            { return io.EOF }
func (p *plain) CloseSend() error             { p.closed = true; return nil }
func (p *plain) Header() (metadata.MD, error) { return metadata.Pairs("a", "b"), nil }
func (p *plain) Trailer() metadata.MD         { return metadata.Pairs("c", "d") }

func routedTo(t *testing.T, ctx context.Context, p *plain, method string, fails error) grpc.ClientStream {
	t.Helper()
	s, err := route(ctx, &grpc.StreamDesc{}, nil, method, func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		if fails != nil {
			return nil, fails
		}
		p.ctx = ctx
		return p, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const appendRows = storagepb.BigQueryWrite_AppendRows_FullMethodName

// The header names the stream of the first request.
func TestRoutingHeader(t *testing.T) {
	p := &plain{}
	s := routedTo(t, t.Context(), p, appendRows, nil)
	received := make(chan error)
	go func() { received <- s.RecvMsg(nil) }()
	for range 2 {
		if err := s.SendMsg(&storagepb.AppendRowsRequest{WriteStream: "projects/p/datasets/d/tables/ü/streams/_default"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-received; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	md, _ := metadata.FromOutgoingContext(p.ctx)
	if got := md.Get("x-goog-request-params"); len(got) != 1 || got[0] != "write_stream=projects%2Fp%2Fdatasets%2Fd%2Ftables%2F%C3%BC%2Fstreams%2F_default" {
		t.Errorf("%q", got)
	}
	header, err := s.Header()
	if err != nil || len(header["a"]) != 1 || len(s.Trailer()["c"]) != 1 || s.Context() != t.Context() {
		t.Error(header, err)
	}
	if err := s.CloseSend(); err != nil || !p.closed || p.sent != 2 {
		t.Error(err, p.closed, p.sent)
	}
}

// Other methods aren't touched.
func TestRoutingOfOthers(t *testing.T) {
	p := &plain{}
	if s := routedTo(t, t.Context(), p, "/other", nil); s != grpc.ClientStream(p) {
		t.Errorf("%T", s)
	}
}

// What ends before it has begun.
func TestRoutingEnds(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		s := routedTo(t, t.Context(), &plain{}, appendRows, nil)
		if err := s.CloseSend(); err != nil {
			t.Error(err)
		}
		if err := s.RecvMsg(nil); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if s.Trailer() != nil {
			t.Error("a trailer")
		}
	})
	t.Run("refused", func(t *testing.T) {
		refused := status.Error(codes.Unavailable, "no")
		s := routedTo(t, t.Context(), &plain{}, appendRows, refused)
		if err := s.SendMsg(&storagepb.AppendRowsRequest{}); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		if _, err := s.Header(); status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
	})
	t.Run("not a request", func(t *testing.T) {
		if err := routedTo(t, t.Context(), &plain{}, appendRows, nil).SendMsg(1); err == nil {
			t.Error("sent")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := routedTo(t, ctx, &plain{}, appendRows, nil)
		received := make(chan error)
		go func() { received <- s.RecvMsg(nil) }()
		cancel()
		if err := <-received; status.Code(err) != codes.Canceled {
			t.Error(err)
		}
	})
}
