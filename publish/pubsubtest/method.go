package pubsubtest

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// byBytes makes a unary method that takes its request as bytes.
func byBytes[R any](service, method string, parse func([]byte) (R, error), do func(context.Context, R) (*frame, error)) grpc.MethodDesc {
	info := &grpc.UnaryServerInfo{FullMethod: "/google.pubsub.v1." + service + "/" + method}
	handler := func(ctx context.Context, req any) (any, error) { return do(ctx, req.(R)) }
	return grpc.MethodDesc{
		MethodName: method,
		Handler: func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			var in frame
			if err := decode(&in); err != nil {
				return nil, err
			}
			req, err := parse(in.data)
			if err != nil {
				return interceptor(ctx, nil, info, func(context.Context, any) (any, error) {
					return nil, status.Errorf(codes.InvalidArgument, "Request contains an invalid argument: %v.", err)
				})
			}
			return interceptor(ctx, req, info, handler)
		},
	}
}

// intercept counts every unary call and its answer, and applies the faults queued for it.
func (s *Server) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() { s.answers.add(err) }()
	method := path.Base(info.FullMethod)
	s.mu.Lock()
	s.count.Calls[method]++
	s.mu.Unlock()
	half := s.faults.roundTrip() / 2
	if err := sleep(ctx, half); err != nil {
		return nil, err
	}
	resp, err = s.call(ctx, method, req, handler)
	if err := sleep(ctx, half); err != nil {
		return nil, err
	}
	return resp, err
}

func (s *Server) call(ctx context.Context, method string, req any, handler grpc.UnaryHandler) (any, error) {
	f, ok := s.nextFault(method, target(req))
	if !ok {
		return handler(ctx, req)
	}
	switch f.Kind {
	case Refuse:
		return nil, f.err()
	case AnswerLost:
		if resp, err := handler(ctx, req); err != nil {
			return resp, err // it fails by itself: the fault adds nothing
		}
		return nil, f.err()
	case Late:
		s.callLater(ctx, f.Delay, req, handler)
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	case Delay:
		resp, err := handler(ctx, req)
		if err := sleep(ctx, f.Delay); err != nil {
			return nil, err
		}
		return resp, err
	}
	return handler(ctx, req)
}

// callLater runs the handler at a later time of the server's clock, whatever
// becomes of the caller.
func (s *Server) callLater(ctx context.Context, d time.Duration, req any, handler grpc.UnaryHandler) {
	l := later{due: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	l.at = plus(s.now(), int64(d))
	s.laters = append(s.laters, l)
	s.arm(l.at)
	s.mu.Unlock()
	s.running.Go(func() {
		defer close(l.done)
		select {
		case <-l.due:
			_, _ = handler(context.WithoutCancel(ctx), req)
		case <-s.ctx.Done():
		}
	})
}

// unheard reports whether nobody waits for the answer: the call was made late by
// callLater, and is to be done at once.
func unheard(ctx context.Context) bool { return ctx.Done() == nil }

// sleep waits in real time, as the caller's deadline runs.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// target is the topic or subscription that a request names.
func target(req any) string {
	switch r := req.(type) {
	case interface{ GetSubscription() string }:
		return r.GetSubscription()
	case interface{ GetTopic() string }:
		return r.GetTopic()
	case interface{ GetName() string }:
		return r.GetName()
	}
	return ""
}
