package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"cdc/capture"
	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
)

// checkService looks at the source and at Pub/Sub, at both even if one doesn't
// answer.
func checkService(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]service.Finding, error) {
	var all []service.Finding
	source, err1 := capture.Check(ctx, captureConfig(cfg, log))
	for _, f := range source {
		all = append(all, service.Finding{Code: f.Code, Problem: f.Problem, Fix: f.Fix, Warning: !f.Blocks})
	}
	topics, err2 := checkPubSub(ctx, cfg, log)
	return append(all, topics...), errors.Join(err1, err2)
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
