package main

import (
	"context"
	"log/slog"

	"cdc/capture"
	"cdc/cmd/internal/config"
)

// initService makes topics and subscriptions, then what the source needs: from
// the moment the slot exists its changes have somewhere to go.
func initService(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]string, error) {
	ps, err := connect(ctx, cfg, log, 1)
	if err != nil {
		return nil, err
	}
	defer ps.close()
	did, err := ps.admin.Init(ctx)
	if err != nil {
		return did, err // joined: each says what it is about
	}
	source, err := capture.Init(ctx, captureConfig(cfg, log))
	return append(did, source...), err
}
