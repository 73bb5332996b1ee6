package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"cdc/capture"
	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
)

// checkService looks at the source and at Pub/Sub at the same time: the one that
// doesn't answer doesn't take the other's time.
func checkService(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]service.Finding, error) {
	var topics []service.Finding
	var topicsErr error
	var wg sync.WaitGroup
	wg.Go(func() { topics, topicsErr = checkPubSub(ctx, cfg, log) })
	source, err := capture.Check(ctx, captureConfig(cfg, log))
	wg.Wait()
	var all []service.Finding
	for _, f := range source {
		all = append(all, service.Finding{Code: f.Code, Problem: f.Problem, Fix: f.Fix, Warning: !f.Blocks})
	}
	return append(all, topics...), errors.Join(err, topicsErr)
}

func checkPubSub(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]service.Finding, error) {
	ps, err := connect(ctx, cfg, log, 1)
	if err != nil {
		return nil, err
	}
	defer ps.close()
	findings, err := ps.admin.Check(ctx)
	if err != nil {
		err = fmt.Errorf("check Pub/Sub: %w", err)
	}
	var all []service.Finding
	for _, f := range findings {
		all = append(all, service.Finding{Code: f.Code, Problem: f.Detail, Fix: f.Fix})
	}
	return all, err
}
