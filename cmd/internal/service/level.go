package service

import (
	"context"
	"log/slog"
	"os"
)

// watchLevel switches level between its first value and debug at each signal,
// until ctx ends. With debug configured there is nothing to switch to.
func watchLevel(ctx context.Context, signals <-chan os.Signal, level *slog.LevelVar, log *slog.Logger) {
	configured := level.Level()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		next := slog.LevelDebug
		if level.Level() == slog.LevelDebug {
			next = configured
		}
		// Said while debug is on, so that both switches show whatever is configured.
		level.Set(slog.LevelDebug)
		log.LogAttrs(ctx, slog.LevelInfo, EventLevel, slog.String("level", next.String()))
		level.Set(next)
	}
}
