package main

import (
	"context"
	"errors"
	"log/slog"

	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
)

// runService writes what comes until ctx ends.
func runService(ctx context.Context, cfg *config.Config, log *slog.Logger, ready *service.Readiness) (err error) {
	s, err := connect(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ready.Watch(func() (bool, string) {
		if err := s.Ready(); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	return s.Run(ctx)
}
