package pubsubtest

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errHalfClosed ends a stream whose client has sent all it wanted.
var errHalfClosed = errors.New("client closed its side")

// pullStream is one open StreamingPull stream. Three goroutines work on it: the
// gRPC handler takes messages and encodes them, the writer sends, and a reader
// brings requests, which the requests goroutine carries out. The handler owns the writer; the
// server owns the other two, since they can only end after the handler has.
type pullStream struct {
	s        *Server
	sub      *subscription
	name     string
	c        *consumer
	grpc     grpc.ServerStream
	requests chan timed
	out      chan timed
	end      chan error // capacity 1: why the stream ends
	pong     bool       // a keep-alive is to be answered; under mu
	protocol int64
}

// timed is a message that is handed on at a time, to play a round trip.
type timed struct {
	at   time.Time
	data []byte
}

// streamBuffer is how many requests or responses are on their way at once.
const streamBuffer = 64

// streamingPull answers StreamingPull.
func (s *Server) streamingPull(stream grpc.ServerStream) error {
	var in frame
	if err := stream.RecvMsg(&in); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	first, err := parseStreamingPull(in.data)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "Request contains an invalid argument: %v.", err)
	}
	st, err := s.open(stream, first)
	if err != nil {
		return err
	}
	defer s.closeStream(st)
	ctx := stream.Context()
	s.running.Go(func() { st.read(ctx) })
	s.running.Go(func() { st.carryOut(ctx) })
	return st.deliver(ctx)
}

// open checks the first request and lets the stream join its subscription.
func (s *Server) open(stream grpc.ServerStream, first *pullRequest) (*pullStream, error) {
	s.mu.Lock()
	s.count.Calls["StreamingPull"]++
	s.mu.Unlock()
	if f, ok := s.openFault(first.subscription); ok {
		return nil, f.err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, err := s.pullable(first.subscription)
	if err != nil {
		return nil, err
	}
	if err := s.checkStreamDeadline(first.deadlineSecs); err != nil {
		return nil, err
	}
	st := &pullStream{
		s: s, sub: sub, name: first.subscription, grpc: stream, protocol: first.protocol,
		requests: make(chan timed, streamBuffer), out: make(chan timed, streamBuffer), end: make(chan error, 1),
		c: &consumer{
			maxMessages: first.maxMessages, maxBytes: first.maxBytes, leaseSecs: int32(first.deadlineSecs),
			wake: make(chan struct{}, 1),
		},
	}
	if err := st.apply(first); err != nil {
		return nil, err
	}
	sub.backlog.join(st.c)
	sub.streams[st] = struct{}{}
	s.count.Streams++
	s.count.StreamsOpen++
	return st, nil
}

func (s *Server) closeStream(st *pullStream) {
	_, hold := s.nextHold(st.name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if hold {
		st.sub.backlog.hold(st.c)
	}
	st.sub.backlog.leave(st.c)
	delete(st.sub.streams, st)
	s.count.StreamsOpen--
	if s.cfg.ForgetAttempts && len(st.sub.streams) == 0 {
		st.sub.backlog.forgetAttempts()
	}
	st.sub.active(s)
	s.arm(st.sub.expiresAt())
}

func (s *Server) checkStreamDeadline(secs int64) error {
	if secs < minAckDeadline || secs > maxAckDeadline {
		return s.refusals.refuse(RuleStreamDeadline, codes.InvalidArgument,
			"Invalid stream ack deadline given (stream_ack_deadline_seconds=%d). The ack deadline must be between %d and %d seconds.", secs, minAckDeadline, maxAckDeadline)
	}
	return nil
}

// finish ends the stream with err, unless it is ending already.
func (st *pullStream) finish(err error) {
	select {
	case st.end <- err:
	default:
	}
}

// read brings in the client's requests.
func (st *pullStream) read(ctx context.Context) {
	defer close(st.requests)
	for {
		var in frame
		if err := st.grpc.RecvMsg(&in); err != nil {
			return // half-closed, or the stream's context is done
		}
		select {
		case st.requests <- timed{time.Now().Add(st.s.faults.roundTrip() / 2), in.data}:
		case <-ctx.Done():
			return
		}
	}
}

// carryOut works on the client's requests in their order.
func (st *pullStream) carryOut(ctx context.Context) {
	for t := range st.requests {
		if sleep(ctx, time.Until(t.at)) != nil {
			return
		}
		if err := st.request(t.data); err != nil {
			st.finish(err)
			return
		}
	}
	if ctx.Err() == nil {
		st.finish(errHalfClosed)
	}
}

// deliver sends messages until the stream ends.
func (st *pullStream) deliver(ctx context.Context) error {
	sent := make(chan struct{})
	go func() { defer close(sent); st.write(ctx) }()
	err := st.feed(ctx)
	close(st.out)
	<-sent
	if errors.Is(err, errHalfClosed) {
		return nil
	}
	return err
}

// feed takes messages and hands them to the writer.
func (st *pullStream) feed(ctx context.Context) error {
	var batch []delivery
	for {
		var pong bool
		var enc encoder
		batch, enc, pong = st.take(batch[:0])
		if len(batch) == 0 && !pong {
			select {
			case <-st.c.wake:
				continue
			case err := <-st.end:
				return err
			case <-ctx.Done():
				return status.FromContextError(ctx.Err()).Err()
			}
		}
		at := time.Now().Add(st.s.faults.roundTrip() / 2)
		var after func()
		if len(batch) > 0 {
			var err error
			if at, after, err = st.fault(at, batch); err != nil {
				return err
			}
		}
		data := enc.append(make([]byte, 0, enc.size(batch)), batch, true)
		select {
		case st.out <- timed{at, data}:
		case err := <-st.end:
			return err
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
		if after != nil {
			after()
		}
	}
}

// take leases the next messages of the stream.
func (st *pullStream) take(batch []delivery) ([]delivery, encoder, bool) {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	b := st.sub.backlog
	if st.sub.undelivered == "" {
		batch = b.take(st.c, s.now(), s.cfg.BatchMessages, s.cfg.BatchBytes, batch)
	}
	pong := st.pong
	st.pong = false
	if len(batch) == 0 {
		st.c.idle = true
	}
	s.arm(b.next())
	return batch, st.sub.enc, pong
}

// write sends responses at their time. After an error it only drains: gRPC ends
// the stream's context.
func (st *pullStream) write(ctx context.Context) {
	broken := false
	for t := range st.out {
		if broken || sleep(ctx, time.Until(t.at)) != nil {
			continue
		}
		if err := st.grpc.SendMsg(&frame{t.data}); err != nil {
			broken = true
			st.finish(err)
		}
	}
}

// fault applies a queued fault to a response.
func (st *pullStream) fault(at time.Time, batch []delivery) (time.Time, func(), error) {
	f, ok := st.s.nextStreamFault(st.name)
	if !ok {
		return at, nil, nil
	}
	switch f.Kind {
	case EndStream:
		return at, nil, f.err()
	case ResetConnection:
		st.s.listener.cut()
	case Delay:
		return at.Add(f.Delay), nil, nil
	case Duplicate:
		last := batch[len(batch)-1].id
		return at, func() { st.s.giveBack(st.sub, last) }, nil
	}
	return at, nil, nil
}

// giveBack ends a lease though its deadline has not passed.
func (s *Server) giveBack(sub *subscription, id ackID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := sub.backlog.leases.find(id); e != nil {
		sub.backlog.giveBack(e, s.now())
		s.followUp(sub)
	}
}

// EndStreams ends all open StreamingPull streams of a subscription with the
// code, as the service does to move them to another server (UNAVAILABLE). It
// returns how many there were.
func (s *Server) EndStreams(subscription string, code codes.Code) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[subscription]
	if sub == nil {
		return 0
	}
	err := (&Fault{Code: code}).err()
	for st := range sub.streams {
		st.finish(err)
	}
	return len(sub.streams)
}
