package main

import (
	"context"
	"log/slog"
	"os"

	"cdc/capture"
	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
	"cdc/publish"
)

// captureConfig maps the configuration to capture's.
func captureConfig(cfg *config.Config, log *slog.Logger) capture.Config {
	c := capture.Config{
		Database:      cfg.Database,
		DSN:           func() (string, error) { return cfg.Source.ConnString(os.LookupEnv) },
		Slot:          cfg.Source.Slot,
		Publication:   cfg.Source.Publication.Name,
		StateSchema:   cfg.Source.State.Schema,
		StateFile:     cfg.Source.State.File,
		WindowBytes:   int64(cfg.Source.Window),
		ProgressEvery: cfg.Log.Progress,
		Log:           log,
	}
	for _, t := range cfg.Tables {
		match, _ := t.Match.Plain() // config.NotYet has refused the others
		snapshot := t.Snapshot
		if snapshot == "" {
			snapshot = cfg.Defaults.Snapshot
		}
		c.Tables = append(c.Tables, capture.TableRule{Match: match, SnapshotNone: snapshot == "none"})
	}
	return c
}

// resources are the topics and subscriptions that this version uses.
func resources(p *config.PubSub) publish.Resources {
	return publish.Resources{
		Project:   p.Project,
		Retention: p.Retention,
		Pairs: []publish.Pair{
			{Use: "ordered", Topic: p.Ordered.Topic, Subscription: p.Ordered.Subscription, Ordered: true},
			{Use: "dead_letter", Topic: p.DeadLetter.Topic, Subscription: p.DeadLetter.Subscription},
		},
	}
}

// pubsub is the connection to Pub/Sub and what looks after its resources.
type pubsub struct {
	conn  publish.Conn
	admin *publish.Admin
	want  publish.Resources
}

// connect opens connections for so many requests in flight.
func connect(ctx context.Context, cfg *config.Config, log *slog.Logger, maxInFlight int) (*pubsub, error) {
	conn, err := publish.Connect(ctx, publish.Endpoint{
		Region:      cfg.PubSub.Region,
		Emulator:    os.Getenv(publish.EmulatorEnv),
		MaxInFlight: maxInFlight,
		UserAgent:   service.UserAgent(config.Publisher),
	}, log)
	if err != nil {
		return nil, err
	}
	want := resources(&cfg.PubSub)
	admin, err := publish.NewAdmin(ctx, want, conn)
	if err != nil {
		_ = conn.Close() // its error says nothing more
		return nil, err
	}
	return &pubsub{conn, admin, want}, nil
}

func (p *pubsub) close() { _ = p.conn.Close() } // nothing is in flight any more
