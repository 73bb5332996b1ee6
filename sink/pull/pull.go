package pull

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	pubsub "cloud.google.com/go/pubsub/v2/apiv1"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Limits of the service
// (https://cloud.google.com/pubsub/docs/reference/rpc/google.pubsub.v1#streamingpullrequest).
const (
	minLease       = 10 * time.Second
	maxLease       = 600 * time.Second
	maxIDs         = 1000    // ack ids a request
	maxIDBytes     = 400_000 // of them; the service refuses requests above 524,288 bytes
	maxRecvBytes   = 20 << 20
	requestTimeout = 10 * time.Second // of one Acknowledge or ModifyAckDeadline
)

// LastAcks is how long Run may take to send the last acks, when drained is closed.
const LastAcks = 5 * time.Second

// Config says what to pull and how much of it.
type Config struct {
	Subscription string // projects/P/subscriptions/S
	Streams      int    // StreamingPull streams, at least 1
	// MaxMessages and MaxBytes are the window: what may be outstanding.
	MaxMessages int
	MaxBytes    int64
	// Lease is the ack deadline, 10 s to 600 s: how long after a crash Pub/Sub
	// waits before it delivers again. MaxLease is how long a message may be held
	// by extending its lease; then it is given back with all later ones of its key.
	Lease, MaxLease time.Duration
	// PingInterval is the pause between keepalives of a stream; 30 s if zero.
	PingInterval time.Duration
	// Backoff is the pause before a stream is opened or an ack is sent again;
	// 100 ms to 30 s if zero.
	Backoff gax.Backoff
}

func (c *Config) check() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Subscription != "", "subscription is empty")
	bad(c.Streams >= 1, "streams = %d: want at least 1", c.Streams)
	bad(c.MaxMessages >= c.Streams, "max_outstanding.messages = %d: want at least 1 a stream", c.MaxMessages)
	bad(c.MaxBytes >= int64(c.Streams), "max_outstanding.bytes = %d: want at least 1 a stream", c.MaxBytes)
	bad(c.Lease >= minLease && c.Lease <= maxLease, "lease.min = %s: want 10s to 600s", c.Lease)
	bad(c.MaxLease >= c.Lease, "lease.max = %s: want at least lease.min", c.MaxLease)
	return errors.Join(errs...)
}

// Puller receives a subscription's messages and acks them in order.
type Puller struct {
	cfg    Config
	client *pubsub.SubscriptionAdminClient
	handle func([]*Message)
	log    *slog.Logger
	now    func() time.Time

	mu        sync.Mutex
	order     Order
	bytes     int64         // outstanding
	room      chan struct{} // closed and replaced when the window gets room
	wake      chan struct{} // an ack may be ready
	lastAcked time.Time

	counters counters
}

type counters struct {
	messages, redelivered, acked, givenBack, opened, open, requests atomic.Int64
}

// Counters are totals since the start, and what is so now.
type Counters struct {
	Messages     int64 // received, without repeats of outstanding ones
	Redelivered  int64 // deliveries that weren't the first, as far as Pub/Sub tells
	Acked        int64
	GivenBack    int64
	Opened       int64 // streams
	AckRequests  int64
	OpenStreams  int64         // now
	Outstanding  int           // now
	Unacked      int           // now: of the outstanding ones, those that are done
	OldestHeld   time.Duration // now: since the receipt of the oldest outstanding message
	LastAcked    time.Time
	HeldBytes    int64
	WindowIsFull bool
}

// New returns a Puller, whose connection is made with options when it is needed
// and lives until Close. It gives the messages to handle: a response at a time,
// in the order of the stream, from one goroutine a stream. handle may block; then
// its stream isn't read. Every message must get a Done in the end, from any
// goroutine, or it stays outstanding.
func New(ctx context.Context, cfg Config, handle func([]*Message), log *slog.Logger, options ...option.ClientOption) (*Puller, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configure pull: %w", err)
	}
	// A connection that died without a word is noticed; the service ends one that
	// asks more often.
	alive := option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Minute}))
	client, err := pubsub.NewSubscriptionAdminClient(context.WithoutCancel(ctx), append([]option.ClientOption{alive}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	if cfg.PingInterval == 0 {
		cfg.PingInterval = 30 * time.Second
	}
	if cfg.Backoff == (gax.Backoff{}) {
		cfg.Backoff = gax.Backoff{Initial: 100 * time.Millisecond, Max: 30 * time.Second, Multiplier: 2}
	}
	return &Puller{
		cfg: cfg, client: client, handle: handle, log: log, now: time.Now,
		room: make(chan struct{}), wake: make(chan struct{}, 1),
	}, nil
}

// Close ends the connection. Run must have returned, or fails.
func (p *Puller) Close() error {
	if err := p.client.Close(); err != nil {
		return fmt.Errorf("close connection to Pub/Sub: %w", err)
	}
	return nil
}

// Run receives until ctx is cancelled. It goes on extending leases and acking
// until drained is closed; then it sends the acks that are ready, once and within
// LastAcks, and returns nil. What isn't acked then will be delivered again when its lease runs
// out. Run returns an error with a Code and a Fix when Pub/Sub refuses what time
// doesn't heal; handle may be running until then.
func (p *Puller) Run(ctx context.Context, drained <-chan struct{}) error {
	receiving, stopReceiving := context.WithCancelCause(ctx)
	defer stopReceiving(nil)
	working, stopWorking := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWorking(nil)
	fail := func(err error) {
		stopReceiving(err)
		stopWorking(err)
	}

	var receivers, workers sync.WaitGroup
	for i := range p.cfg.Streams {
		receivers.Go(func() {
			if err := p.receive(receiving, i); err != nil {
				fail(err)
			}
		})
	}
	workers.Go(func() { p.extendLeases(working) })
	workers.Go(func() {
		if err := p.ackLoop(working); err != nil {
			fail(err)
		}
	})
	receivers.Wait()
	select {
	case <-drained:
	case <-working.Done():
	}
	stopWorking(nil)
	workers.Wait()
	if err := context.Cause(working); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), LastAcks)
	defer cancel()
	p.ackOnce(last)
	return nil
}

// Done says that everything in m is written or dead-lettered: it may be acked.
func (p *Puller) Done(m *Message) {
	p.mu.Lock()
	p.order.Done(&m.order)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Counters returns the counters.
func (p *Puller) Counters() Counters {
	c := Counters{
		Messages: p.counters.messages.Load(), Redelivered: p.counters.redelivered.Load(),
		Acked: p.counters.acked.Load(), GivenBack: p.counters.givenBack.Load(),
		Opened: p.counters.opened.Load(), OpenStreams: p.counters.open.Load(),
		AckRequests: p.counters.requests.Load(),
	}
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Outstanding, c.LastAcked, c.HeldBytes = p.order.Outstanding(), p.lastAcked, p.bytes
	c.WindowIsFull = p.full()
	p.order.All(func(d *Delivery) {
		c.OldestHeld = max(c.OldestHeld, now.Sub(d.lease.received))
		if d.state != held {
			c.Unacked++
		}
	})
	return c
}

// received takes the messages of a response into the window and returns those
// that are to be handled.
func (p *Puller) received(messages []Message) []*Message {
	now := p.now()
	fresh := make([]*Message, 0, len(messages))
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		d, again := p.order.Received(&m.order, string(m.OrderingKey), string(m.ID), string(m.ackID), m.PublishTime.UnixNano())
		d.lease.extended = now
		if again || m.DeliveryAttempt > 1 {
			p.counters.redelivered.Add(1)
		}
		if again {
			continue
		}
		d.message, d.lease.received = m, now
		p.bytes += int64(m.size)
		p.counters.messages.Add(1)
		fresh = append(fresh, m)
	}
	return fresh
}

// full reports whether the window is full; p.mu is held. The server keeps the
// same limits a stream, but starts from zero on each new stream.
func (p *Puller) full() bool {
	return p.order.Outstanding() >= p.cfg.MaxMessages || p.bytes >= p.cfg.MaxBytes
}

// forgotten gives the window the room of messages that aren't outstanding any
// more; p.mu is held.
func (p *Puller) forgotten(d *Delivery) {
	p.bytes -= int64(d.message.size)
	d.message = nil
	if !p.full() {
		close(p.room)
		p.room = make(chan struct{})
	}
}

// waitForRoom blocks while the window is full.
func (p *Puller) waitForRoom(ctx context.Context) error {
	for {
		p.mu.Lock()
		full, room := p.full(), p.room
		p.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
