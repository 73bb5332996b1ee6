package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"cdc/schema"
)

// Options say how a run of the demo differs from the default.
type Options struct {
	Seed     uint64
	Sabotage string    // empty, or one of Sabotages
	Progress io.Writer // for people: a line a second, or one line that changes on a terminal
	Bin      string    // the folder of the services' executables; empty: built first
}

const (
	transactions  = 4_000
	inFlightMin   = 100              // changes in flight at a kill, at the least
	killLimit     = time.Minute      // until that many are in flight
	drainLimit    = 45 * time.Second // from the end of the workload until everything is written; a lease is 10 s
	progressEvery = time.Second
)

// Run runs the pipeline with a workload, kills each service once, and compares
// both ends. The error says why there is no verdict. A run that fails leaves its
// logs and configuration behind and says where; one that is interrupted doesn't.
func Run(ctx context.Context, o Options) (v Verdict, err error) {
	say := newTeller(o.Progress)
	defer say.end()
	dir, err := os.MkdirTemp("", "cdc-demo-")
	if err != nil {
		return v, err
	}
	defer func() {
		if _, e := os.Stat(filepath.Join(dir, configName)); e == nil && ctx.Err() == nil && (err != nil || !v.OK()) {
			say.line("logs and configuration are in %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if o.Bin == "" {
		say.line("building cdc-publisher and cdc-sink")
		if o.Bin, err = os.MkdirTemp("", "cdc-demo-bin-"); err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Bin)) }()
		if err := Build(ctx, o.Bin); err != nil {
			return v, err
		}
	}
	start := time.Now()
	s, err := Start(ctx, dir, o.Bin, say.line)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v, err = s.show(ctx, o, say)
	if err == nil {
		say.line("took %.1f s", time.Since(start).Seconds())
	}
	return v, err
}

// show lets the pipeline work and judges it.
func (s *Stack) show(ctx context.Context, o Options, say *teller) (v Verdict, err error) {
	kills, err := s.work(ctx, o, say)
	if err != nil {
		return v, err
	}
	committed, err := committedChanges(ctx, s.conn)
	if err != nil {
		return v, err
	}
	if err := s.drain(ctx, committed[len(committed)-1].position.CommitLSN); err != nil {
		return v, err
	}
	if err := s.StopServices(); err != nil {
		return v, err
	}
	v, findings, err := s.judge(ctx, committed)
	if err != nil {
		return v, err
	}
	v.Kills = kills
	for _, f := range findings {
		say.line("%s", f)
	}
	say.line("compared %d changes with what Pub/Sub stored, and %d rows of Postgres with BigQuery's; %d messages came more than once",
		len(committed), v.Rows, v.Redelivered)
	return v, nil
}

// work runs the workload and kills the services meanwhile.
func (s *Stack) work(ctx context.Context, o Options, say *teller) (kills int, err error) {
	w := &workload{dsn: s.dsn, seed: o.Seed, transactions: transactions}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.run(gctx) })
	g.Go(func() (err error) {
		kills, err = s.disturb(gctx, o.Sabotage, w, say)
		return err
	})
	reported, stopReports := context.WithCancel(gctx)
	reports := make(chan struct{})
	go func() {
		defer close(reports)
		s.report(reported, w, say)
	}()
	err = g.Wait()
	stopReports()
	<-reports
	if err == nil {
		say.line("workload done: %d transactions committed, %d rolled back, %d row changes; waiting until all of it is written",
			w.committed.Load(), int64(w.transactions)-w.committed.Load(), w.changes.Load())
	}
	return kills, err
}

func (s *Stack) report(ctx context.Context, w *workload, say *teller) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c := s.pubsub.Counters()
			say.progress("%d of %d transactions, %d row changes, %d messages stored, %d acked, %d redelivered",
				w.tried.Load(), w.transactions, w.changes.Load(), c.Published, c.Acks, c.Redelivered)
		}
	}
}

// disturb kills each service once, while at least inFlightMin changes are on
// their way through it, and starts it again. In between it breaks a message, if
// it is to.
func (s *Stack) disturb(ctx context.Context, sabotage string, w *workload, say *teller) (kills int, err error) {
	unpublished := func() int { return int(w.changes.Load()) - int(s.pubsub.Counters().Published) }
	if err := s.kill(ctx, s.publisher, transactions/5, w, unpublished, say); err != nil {
		return 0, err
	}
	if sabotage != "" {
		if err := s.sabotage(ctx, sabotage); err != nil {
			return 1, err
		}
		say.line("broke a message inside the Pub/Sub stand-in (%s): the verdict must be FAILED", sabotage)
	}
	unacked := func() int { return s.pubsub.Backlog(subscription) }
	if err := s.kill(ctx, s.sink, transactions/2, w, unacked, say); err != nil {
		return 1, err
	}
	return wantKills, nil
}

// kill kills a service once that many transactions are committed and enough
// changes are in flight, and starts it again.
func (s *Stack) kill(ctx context.Context, svc *service, after int64, w *workload, inFlight func() int, say *teller) error {
	if err := s.await(ctx, killLimit, "the workload to go on", func() bool { return w.committed.Load() >= after }); err != nil {
		return err
	}
	n := 0
	what := fmt.Sprintf("%d changes in flight in %s", inFlightMin, svc.name)
	if err := s.await(ctx, killLimit, what, func() bool { n = inFlight(); return n >= inFlightMin }); err != nil {
		return err
	}
	if err := svc.kill(); err != nil {
		return err
	}
	say.line("killed %s with %d changes in flight; starting it again", svc.name, n)
	return svc.start()
}

// drain waits until the slot has confirmed the last change and Pub/Sub has
// nothing left to deliver.
func (s *Stack) drain(ctx context.Context, last schema.LSN) error {
	return s.await(ctx, drainLimit, "everything to be written", func() bool {
		if s.pubsub.Backlog(subscription) > 0 {
			return false
		}
		var confirmed bool
		err := s.conn.QueryRow(ctx, "SELECT confirmed_flush_lsn > $2::text::pg_lsn FROM pg_replication_slots WHERE slot_name = $1",
			slot, last.String()).Scan(&confirmed)
		return err == nil && confirmed && s.pubsub.Backlog(subscription) == 0
	})
}

// await polls until ok, and fails when limit is over or a service ends by itself.
func (s *Stack) await(ctx context.Context, limit time.Duration, what string, ok func() bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	end := time.After(limit)
	for !ok() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return fmt.Errorf("waited %v for %s", limit, what)
		case <-tick.C:
		}
		for _, svc := range []*service{s.publisher, s.sink} {
			if err := svc.check(); err != nil {
				return err
			}
		}
	}
	return nil
}
