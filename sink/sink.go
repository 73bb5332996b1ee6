package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigquery"
	"github.com/googleapis/gax-go/v2"

	"cdc/schema"
	"cdc/sink/deadletter"
	"cdc/sink/pull"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

// Sink writes the changes of one database's ordered subscription to BigQuery.
type Sink struct {
	cfg      Config
	log      *slog.Logger
	bigquery *bigquery.Client
	writer   *storagewrite.Writer
	letters  *deadletter.Sender
	tables   *tables.Tables
	puller   *pull.Puller
	stats    stats
	backoff  gax.Backoff // before a write or a look at a table is repeated

	mu      sync.Mutex
	routes  map[string]map[string]*table // by schema and name
	running sync.WaitGroup               // of tables
	work    context.Context              // of tables; set by Run
	stop    context.CancelCauseFunc
	waited  atomic.Int64  // messages that aren't settled or held
	idle    chan struct{} // waited may have become 0
	moved   atomic.Int64  // when a message was settled last, Unix nanoseconds
}

// New connects to Pub/Sub and BigQuery; connections are made when they are
// needed. Close ends them.
func New(ctx context.Context, cfg Config, to Connections, log *slog.Logger) (s *Sink, err error) {
	cfg.setDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("configure sink: %w", err)
	}
	s = &Sink{
		cfg: cfg, log: log, routes: make(map[string]map[string]*table), idle: make(chan struct{}, 1),
		backoff: gax.Backoff{Initial: 100 * time.Millisecond, Max: 30 * time.Second, Multiplier: 2},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	long := context.WithoutCancel(ctx)
	if s.bigquery, err = bigquery.NewClient(long, cfg.Tables.Project, to.BigQuery...); err != nil {
		return s, fmt.Errorf("connect to BigQuery: %w", err)
	}
	if s.writer, err = storagewrite.New(long, cfg.Write, log, to.Storage...); err != nil {
		return s, err
	}
	if s.tables, err = tables.New(cfg.Tables, s.bigquery, log); err != nil {
		return s, err
	}
	if s.letters, err = deadletter.New(long, cfg.DeadLetterTopic, cfg.Pull.Subscription, log, to.PubSub...); err != nil {
		return s, err
	}
	if s.puller, err = pull.New(long, cfg.Pull, s.receive, log, to.PubSub...); err != nil {
		return s, err
	}
	return s, nil
}

// Close ends the connections. Run must have returned.
func (s *Sink) Close() error {
	var errs []error
	if s.letters != nil {
		errs = append(errs, s.letters.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.bigquery != nil {
		errs = append(errs, s.bigquery.Close())
	}
	if s.puller != nil {
		errs = append(errs, s.puller.Close())
	}
	return errors.Join(errs...)
}

// Run works until ctx is cancelled. Then it stops receiving, writes and acks what
// it has, for at most the grace, and returns nil; what isn't written by then
// isn't acked. It returns an error with a Code and a Fix when a person must act.
// It runs once.
func (s *Sink) Run(ctx context.Context) error {
	if err := s.puller.Check(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	receiving, stopReceiving := context.WithCancel(ctx)
	defer stopReceiving()
	s.mu.Lock()
	s.work, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.mu.Unlock()
	context.AfterFunc(s.work, stopReceiving)

	drained := make(chan struct{})
	pulled := make(chan error, 1)
	go func() { pulled <- s.puller.Run(receiving, drained) }()
	err := s.supervise(receiving, pulled)
	stopReceiving()
	if err == nil && context.Cause(s.work) == nil {
		s.log.Info(EventStopping, "outstanding_messages", s.puller.Counters().Outstanding)
		s.drain()
	}
	close(drained)
	if err == nil {
		err = <-pulled
	}
	s.stop(nil)
	s.running.Wait()
	if cause := context.Cause(s.work); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	s.logProgress()
	s.log.Info(EventStopped, "unacked_messages", s.puller.Counters().Outstanding)
	return err
}

// supervise does what comes at a pace until ctx is cancelled or pulling ends.
func (s *Sink) supervise(ctx context.Context, pulled <-chan error) error {
	progress := time.NewTicker(s.cfg.Progress)
	defer progress.Stop()
	sweep := time.NewTicker(time.Minute)
	defer sweep.Stop()
	for {
		select {
		case <-progress.C:
			s.logProgress()
		case now := <-sweep.C:
			s.writer.CloseIdle(now)
			s.logHeld()
		case err := <-pulled:
			if err == nil {
				err = errors.New("pulling ended")
			}
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// drain waits until everything that was received is settled or held, or the
// grace is over, or the sink must stop.
func (s *Sink) drain() {
	limit := time.NewTimer(s.cfg.Grace)
	defer limit.Stop()
	for s.waited.Load() > 0 {
		select {
		case <-s.idle:
		case <-limit.C:
			return
		case <-s.work.Done():
			return
		}
	}
}

// receive puts messages into their tables' queues. It never blocks: the pull
// window bounds what the queues hold.
func (s *Sink) receive(messages []*pull.Message) {
	s.waited.Add(int64(len(messages)))
	for _, m := range messages {
		var schemaName, name []byte
		for attribute, value := range m.Attributes() {
			switch string(attribute) {
			case schema.AttrSchema:
				schemaName = value
			case schema.AttrTable:
				name = value
			}
		}
		s.table(schemaName, name).queue.push(&inbound{message: m})
	}
}

// maxTables bounds the goroutines that foreign messages could start. What is
// above it shares the queue of messages without a table.
const maxTables = 10_000

// table returns the table of that name, and starts it if it is new.
func (s *Sink) table(schemaName, name []byte) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.routes[string(schemaName)][string(name)]; t != nil {
		return t
	}
	n := 0
	for _, r := range s.routes {
		n += len(r)
	}
	if n >= maxTables {
		schemaName, name = nil, nil
		if t := s.routes[""][""]; t != nil {
			return t
		}
	}
	t := newTable(s.host(), string(schemaName)+"."+string(name))
	if s.routes[string(schemaName)] == nil {
		s.routes[string(schemaName)] = make(map[string]*table)
	}
	s.routes[string(schemaName)][string(name)] = t
	s.running.Go(func() { t.run(s.work) })
	return t
}

func (s *Sink) host() *host {
	return &host{
		cfg: s.cfg, log: s.log, destinations: s.tables, letters: s.letters, stats: &s.stats,
		stream:    func(l *storagewrite.Layout) appender { return s.writer.Stream(l) },
		done:      s.settled,
		hold:      s.hold,
		givenBack: func(in *inbound) bool { return in.message.GivenBack() },
		stop:      s.stop,
		backoff:   s.backoff,
		now:       time.Now,
	}
}

func (s *Sink) allTables() []*table {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*table
	for _, r := range s.routes {
		for _, t := range r {
			all = append(all, t)
		}
	}
	return all
}

// settled lets a message be acked.
func (s *Sink) settled(in *inbound) {
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug(EventMessageWritten, "message_id", string(in.message.ID), "position", in.attributes.Position.String())
	}
	s.puller.Done(in.message)
	s.moved.Store(time.Now().UnixNano())
	if !in.held.Load() {
		s.waitLess()
	}
}

// hold says that a message stays leased and that a stop needn't wait for it.
func (s *Sink) hold(in *inbound) {
	if !in.held.Swap(true) {
		s.waitLess()
	}
}

func (s *Sink) waitLess() {
	if s.waited.Add(-1) == 0 {
		select {
		case s.idle <- struct{}{}:
		default:
		}
	}
}

// stuckAfter is after how long without a settled message, while there are some
// to settle, the sink isn't ready any more.
const stuckAfter = 2 * time.Minute

// Ready returns nil while the sink moves: a stream is open, no table is held,
// and what was received is being written. Otherwise the error says what it
// waits for.
func (s *Sink) Ready() error {
	c := s.puller.Counters()
	for _, t := range s.allTables() {
		if t.brake.isHeld() {
			return fmt.Errorf("table %s is held", t.name)
		}
	}
	switch {
	case c.OpenStreams == 0:
		return errors.New("no stream is open")
	case c.OldestHeld > stuckAfter && time.Since(time.Unix(0, s.moved.Load())) > stuckAfter:
		return fmt.Errorf("nothing was written for %s, waiting for %s", stuckAfter, s.waitingFor(c))
	}
	return nil
}
