package storagewrite

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"sync"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// withRouting makes each AppendRows connection send the routing header that the
// Storage Write page asks for ("set x-goog-request-params to write_stream=…" for
// tables outside of the US multi-region, where the service was seen to answer
// PERMISSION_DENIED without it: supabase/etl#912). managedwriter doesn't send it.
//
// https://docs.cloud.google.com/bigquery/docs/write-api#error_handling
func withRouting() option.ClientOption {
	return option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(route))
}

// route lets an AppendRows stream begin with its first request, which is what
// names the table.
func route(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if method != storagepb.BigQueryWrite_AppendRows_FullMethodName {
		return streamer(ctx, desc, cc, method, opts...)
	}
	return &routed{ctx: ctx, begun: make(chan struct{}), begin: func(ctx context.Context) (grpc.ClientStream, error) {
		return streamer(ctx, desc, cc, method, opts...)
	}}, nil
}

// routed is a stream that begins with its first SendMsg. Until then RecvMsg
// waits, as it would for the answer to a request that wasn't sent yet.
type routed struct {
	ctx   context.Context
	begin func(context.Context) (grpc.ClientStream, error)
	once  sync.Once
	begun chan struct{} // closed once stream or err is set
	grpc.ClientStream
	err error
}

func (r *routed) start(begin func() (grpc.ClientStream, error)) {
	r.once.Do(func() {
		r.ClientStream, r.err = begin()
		close(r.begun)
	})
}

// wait returns once the stream has begun, or the error of why it won't.
func (r *routed) wait() error {
	select {
	case <-r.begun:
		return r.err
	case <-r.ctx.Done():
		return status.FromContextError(r.ctx.Err()).Err() // as a stream of gRPC's ends
	}
}

func (r *routed) SendMsg(m any) error {
	r.start(func() (grpc.ClientStream, error) {
		request, ok := m.(*storagepb.AppendRowsRequest)
		if !ok {
			return nil, fmt.Errorf("route an append: %T is no request", m)
		}
		header := "write_stream=" + url.QueryEscape(request.GetWriteStream())
		return r.begin(metadata.AppendToOutgoingContext(r.ctx, "x-goog-request-params", header))
	})
	if r.err != nil {
		return r.err
	}
	return r.ClientStream.SendMsg(m)
}

func (r *routed) RecvMsg(m any) error {
	if err := r.wait(); err != nil {
		return err
	}
	return r.ClientStream.RecvMsg(m)
}

// CloseSend ends a stream that hasn't begun without a call.
func (r *routed) CloseSend() error {
	r.start(func() (grpc.ClientStream, error) { return nil, io.EOF })
	if r.err != nil {
		return nil
	}
	return r.ClientStream.CloseSend()
}

func (r *routed) Header() (metadata.MD, error) {
	if err := r.wait(); err != nil {
		return nil, err
	}
	return r.ClientStream.Header()
}

func (r *routed) Trailer() metadata.MD {
	if r.wait() != nil {
		return nil
	}
	return r.ClientStream.Trailer()
}

func (r *routed) Context() context.Context { return r.ctx }
