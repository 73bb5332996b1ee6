package main

import (
	"context"
	"errors"
	"log/slog"

	"cdc/cmd/internal/config"
)

// initService makes the dataset. Tables are made when their first row comes, and
// topics and subscriptions by cdc-publisher init.
func initService(ctx context.Context, cfg *config.Config, log *slog.Logger) (did []string, err error) {
	s, err := connect(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	changes, err := s.Init(ctx)
	if changes > 0 {
		did = append(did, "create dataset "+cfg.BigQuery.Project+"."+cfg.BigQuery.Dataset)
	}
	return did, err
}
