package main

import (
	"context"
	"errors"
	"log/slog"

	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
)

// checkService looks at the subscription, the dead letter's topic and the
// dataset. All findings come as errors, joined, each with code and fix.
func checkService(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ []service.Finding, err error) {
	s, err := connect(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return nil, s.Check(ctx)
}
