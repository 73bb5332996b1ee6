package pull

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// receive keeps one stream open until ctx is cancelled. It returns an error only
// if Pub/Sub's answer is final.
func (p *Puller) receive(ctx context.Context, stream int) error {
	backoff := p.cfg.Backoff
	for ctx.Err() == nil {
		got, err := p.receiveOnce(ctx, stream)
		if ctx.Err() != nil {
			return nil
		}
		if err := fatal("receive messages", err); err != nil {
			return err
		}
		if got {
			backoff = p.cfg.Backoff // the stream worked: this is its usual end
		}
		pause := backoff.Pause()
		p.log.Warn(EventStreamBroken, "stream", stream, "error", err, "retry_ms", pause.Milliseconds())
		if gax.Sleep(ctx, pause) != nil {
			return nil
		}
	}
	return nil
}

// receiveOnce opens the stream and receives until it breaks. got says whether
// anything came.
func (p *Puller) receiveOnce(ctx context.Context, number int) (got bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", "subscription="+url.QueryEscape(p.cfg.Subscription))
	stream, err := p.client.StreamingPull(ctx, gax.WithRetry(nil),
		gax.WithGRPCOptions(grpc.ForceCodecV2(frameCodec{}), grpc.MaxCallRecvMsgSize(maxRecvBytes)))
	if err != nil {
		return false, fmt.Errorf("open stream: %w", err)
	}
	streams := int64(p.cfg.Streams)
	err = stream.Send(&pubsubpb.StreamingPullRequest{
		Subscription:             p.cfg.Subscription,
		StreamAckDeadlineSeconds: int32(p.cfg.Lease / time.Second),
		MaxOutstandingMessages:   int64(p.cfg.MaxMessages) / streams,
		MaxOutstandingBytes:      p.cfg.MaxBytes / streams,
		ProtocolVersion:          1, // pings are answered
	})
	if err != nil {
		return false, fmt.Errorf("start stream: %w", err)
	}
	p.counters.opened.Add(1)
	p.counters.open.Add(1)
	defer p.counters.open.Add(-1)
	p.log.Info(EventStreamOpened, "stream", number)

	var pinger sync.WaitGroup
	defer pinger.Wait()
	defer cancel()
	pinger.Go(func() { p.ping(ctx, stream) })
	for {
		if err := p.waitForRoom(ctx); err != nil {
			return got, err
		}
		var f frame
		if err := stream.RecvMsg(&f); err != nil {
			return got, fmt.Errorf("receive response: %w", err)
		}
		messages, err := parseResponse(f.bytes)
		if err != nil {
			return got, fmt.Errorf("walk response: %w", err)
		}
		got = true
		fresh := p.received(messages)
		p.logMessages(ctx, messages, fresh)
		if len(fresh) > 0 {
			p.handle(fresh)
		}
	}
}

// ping keeps the stream and what lies between alive while nothing is delivered.
func (p *Puller) ping(ctx context.Context, stream pubsubpb.Subscriber_StreamingPullClient) {
	ticker := time.NewTicker(p.cfg.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if stream.Send(&pubsubpb.StreamingPullRequest{}) != nil {
				return // RecvMsg returns the reason
			}
		}
	}
}

// logMessages logs the messages of a response; those that aren't fresh are
// outstanding already.
func (p *Puller) logMessages(ctx context.Context, messages []Message, fresh []*Message) {
	if !p.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for i := range messages {
		m := &messages[i]
		event := EventRedelivered
		if len(fresh) > 0 && fresh[0] == m {
			fresh = fresh[1:]
			if m.DeliveryAttempt <= 1 {
				event = EventMessageLogged
			}
		}
		p.log.Debug(event, "message_id", string(m.ID), "delivery_attempt", m.DeliveryAttempt)
	}
}
