package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// run is the command run: the work of the service with everything around it.
func (i *invocation) run(ctx context.Context) int {
	// First of all: without a receiver SIGUSR1 ends the process.
	toggles := make(chan os.Signal, 1)
	signal.Notify(toggles, syscall.SIGUSR1)
	defer signal.Stop(toggles)
	level := new(slog.LevelVar)
	log := NewLogger(i.stderr, level, string(i.Service), "")
	cfg, err := i.load()
	if err == nil {
		err = cfg.NotYet(i.Service, i.file)
	}
	if err != nil {
		logErrors(ctx, log, slog.LevelError, EventRefused, err)
		return ExitUsage
	}
	log = NewLogger(i.stderr, level, string(i.Service), cfg.Database)
	level.Set(parseLevel(cfg.Log.Level))
	if w := cfg.Warnings(i.file); w != nil {
		logErrors(ctx, log, slog.LevelWarn, EventDoubtful, w)
	}
	log.Info(EventStarted, "version", version(), "config", i.file, "pid", os.Getpid())
	i.warnEmulators(log)

	ready := &Readiness{}
	h, err := listenHealth(i.Health(cfg.Health), ready)
	if err != nil {
		logErrors(ctx, log, slog.LevelError, EventFailed, err)
		return ExitFailed
	}
	log.Info(EventHealth, "address", h.addr())

	around, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		if err := h.run(around); err != nil {
			logErrors(ctx, log, slog.LevelError, EventHealthFailed, err)
		}
	})
	wg.Go(func() { watchLevel(around, toggles, level, log) })

	signals := i.Signals
	if signals == nil {
		c := make(chan os.Signal, 2)
		signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
		defer signal.Stop(c)
		signals = c
	}
	err = supervise(ctx, signals, i.StopLimit, log, ready.stop, func(ctx context.Context) error {
		return i.Run(ctx, cfg, log, ready)
	})
	switch {
	case err == nil:
		log.Info(EventStopped)
		return ExitDone
	case errors.Is(err, errStopLimit), errors.Is(err, errSecondSignal):
		return ExitFailed // said already
	}
	logErrors(ctx, log, slog.LevelError, EventFailed, err)
	return ExitFailed
}
