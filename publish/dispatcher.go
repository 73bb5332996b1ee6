package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"cdc/publish/queue"
	"cdc/schema"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Dispatcher publishes messages with ordering keys to one topic: at once, one
// request in flight per key, for ever or not at all. The package comment says
// what it promises.
type Dispatcher struct {
	cfg     Config
	conn    grpc.ClientConnInterface
	log     *slog.Logger
	topic   []byte // the field of every request
	begin   time.Time
	idle    time.Duration       // longest sleep of Run; tests set it so that a missed wake-up shows
	queued  *semaphore.Weighted // of cfg.MaxQueuedBytes
	poke    chan struct{}       // the timer of Run is to be set anew
	stopped context.Context     // done when nothing is taken in or sent any more
	stop    context.CancelCauseFunc
	workers sync.WaitGroup

	mu      sync.Mutex
	queue   *queue.Queue[item]
	ran     bool
	running context.Context // of the attempts; nil before and after Run
	looking int             // workers that are about to call next
	armed   queue.Instant   // when the timer of Run fires
	counts  counters
	trouble trouble
}

// NewDispatcher returns a Dispatcher that publishes over conn, which spreads its
// calls over enough connections (see Connect). Its gate is open.
func NewDispatcher(cfg Config, conn grpc.ClientConnInterface, log *slog.Logger) (*Dispatcher, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure dispatcher: %w", err)
	}
	d := &Dispatcher{
		cfg:    cfg,
		conn:   conn,
		log:    log.With("topic", cfg.Topic),
		topic:  appendTopic(nil, cfg.Topic),
		begin:  time.Now(),
		idle:   time.Second,
		queued: semaphore.NewWeighted(cfg.MaxQueuedBytes),
		poke:   make(chan struct{}, 1),
		queue: queue.New[item](queue.Limits{
			Requests:              cfg.MaxInFlight,
			RequestMessages:       MaxRequestMessages,
			RequestBytes:          batchBytes - len(cfg.Topic) - 8,
			KeyRateBytesPerSecond: keyRateBytesPerSecond,
		}),
	}
	d.stopped, d.stop = context.WithCancelCause(context.Background())
	return d, nil
}

func (d *Dispatcher) now() queue.Instant { return time.Since(d.begin) }

// Publish queues a copy of m at the end of its ordering key. It blocks while
// Config.MaxQueuedBytes are queued and returns ctx's error if that ends first.
// Once Pub/Sub has accepted the message, accepted(tag) is called exactly once,
// from any goroutine; it must not block. Messages of one key are stored in the
// order of the Publish calls.
//
// A message that Pub/Sub wouldn't take returns an *Error with Code oversize or
// publish_no_key and isn't queued. After Run has ended Publish returns Run's
// error, or ErrStopped.
func (d *Dispatcher) Publish(ctx context.Context, m *schema.Message, tag uint64, accepted func(tag uint64)) error {
	it, bytes, err := d.encode(m)
	if err != nil {
		return err
	}
	it.tag, it.accepted, it.pushed = tag, accepted, d.now()
	if err := d.reserve(ctx, d.cost(bytes)); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped.Err() != nil {
		return stopCause(d.stopped)
	}
	d.queue.Push(m.OrderingKey, bytes, it)
	d.spawn(d.now())
	return nil
}

// item is one queued message.
type item struct {
	wire     []byte // the PubsubMessage without its sent attribute
	position schema.Position
	tag      uint64
	accepted func(tag uint64)
	pushed   queue.Instant
}

// encode copies m to wire bytes and checks its limits. bytes is what it takes in
// a request, sent attribute and framing included.
func (d *Dispatcher) encode(m *schema.Message) (it item, bytes int, err error) {
	switch n := len(m.OrderingKey); {
	case n == 0:
		return item{}, 0, &Error{
			code: "publish_no_key",
			fix:  "this is a bug: report it with the log",
			text: "publish to an ordered topic: message without an ordering key",
		}
	case n > schema.MaxOrderingKey:
		return item{}, 0, oversize("ordering key", n, schema.MaxOrderingKey)
	}
	const attributesBytes = 384 // usual size, with their framing
	wire := appendMessage(make([]byte, 0, len(m.Data)+len(m.OrderingKey)+attributesBytes), m)
	bytes = len(wire) + messageOverheadBytes
	if limit := MaxRequestBytes - len(d.topic); bytes > limit {
		return item{}, 0, oversize("body, attributes and key together", bytes, limit)
	}
	return item{wire: wire, position: m.Attributes.Position}, bytes, nil
}

// cost is what a message takes of the queue's bytes: never more than there are,
// so that one that is larger than the queue passes when it is alone.
func (d *Dispatcher) cost(bytes int) int64 {
	return min(int64(bytes+queuedOverheadBytes), d.cfg.MaxQueuedBytes)
}

// reserve waits until cost bytes are free, in the order of the calls.
func (d *Dispatcher) reserve(ctx context.Context, cost int64) error {
	if d.stopped.Err() != nil {
		return stopCause(d.stopped)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.queued.TryAcquire(cost) {
		return nil
	}
	either, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.stopped, cancel)()
	if err := d.queued.Acquire(either, cost); err == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return stopCause(d.stopped)
}

// SetOpen opens or shuts the gate: while it is shut nothing is sent, and the
// answer to what was sent before doesn't count, whenever it comes. The Watch
// calls it.
func (d *Dispatcher) SetOpen(open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue.Open(open)
	d.spawn(d.now())
	d.pokeTimer()
}

// Run publishes until ctx ends, then returns nil, or until Pub/Sub gives an
// answer that another try can't change, then returns an *Error. Either way it
// cancels what is in flight and waits for it. It may be called once; what is
// still queued afterwards is dropped, never accepted.
func (d *Dispatcher) Run(ctx context.Context) error {
	attempts, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx,
		// The routing header of the method's HTTP rule (AIP-4222).
		"x-goog-request-params", "topic="+url.QueryEscape(d.cfg.Topic)))
	defer cancel()
	d.mu.Lock()
	if d.ran {
		d.mu.Unlock()
		return errors.New("dispatcher has run already")
	}
	d.ran, d.running = true, attempts
	d.spawn(d.now())
	d.mu.Unlock()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			d.stop(ErrStopped)
		case <-d.stopped.Done():
		case <-timer.C:
		case <-d.poke:
		}
		if d.stopped.Err() != nil {
			break
		}
		timer.Reset(d.arm())
	}
	cancel()
	d.shutdown()
	if err := stopCause(d.stopped); !errors.Is(err, ErrStopped) {
		return err
	}
	return nil
}

// shutdown waits for the workers and lets go of what is queued.
func (d *Dispatcher) shutdown() {
	d.mu.Lock()
	d.running = nil // no worker is started from here on
	d.mu.Unlock()
	d.workers.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue.Clear()
}

// arm starts what is due and returns the time until something is again.
func (d *Dispatcher) arm() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	// One reading of the clock for both: what isn't due at now for the worker
	// must not be overdue for the timer.
	now := d.now()
	d.spawn(now)
	d.armed = now + d.idle
	if at, ok := d.queue.Wake(); ok && at > now && at < d.armed {
		d.armed = at
	}
	return d.armed - now
}

// pokeTimer lets Run set its timer anew if something is due before it fires.
// The caller holds mu.
func (d *Dispatcher) pokeTimer() {
	if at, ok := d.queue.Wake(); !ok || at >= d.armed {
		return
	}
	select {
	case d.poke <- struct{}{}:
	default:
	}
}
