package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/cmd/internal/config"
	"cdc/cmd/internal/service"
	"cdc/sink"
	"cdc/sink/pull"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

// The environment variables that choose stand-ins.
const (
	pubsubEmulator   = "PUBSUB_EMULATOR_HOST"           // host:port
	bigqueryEmulator = "BIGQUERY_EMULATOR_HOST"         // host:port or a URL
	storageEmulator  = "BIGQUERY_STORAGE_EMULATOR_HOST" // host:port
)

// stopGrace is how long a stop may take to write and ack what is held; it leaves
// service.StopLimit some time for the rest.
const stopGrace = 20 * time.Second

// sinkConfig maps the configuration to sink's.
func sinkConfig(cfg *config.Config) sink.Config {
	p, b := &cfg.PubSub, &cfg.BigQuery
	return sink.Config{
		Database: cfg.Database,
		Pull: pull.Config{
			Subscription: fmt.Sprintf("projects/%s/subscriptions/%s", p.Project, p.Ordered.Subscription),
			Streams:      1,
			MaxMessages:  p.MaxOutstanding.Messages,
			MaxBytes:     int64(p.MaxOutstanding.Bytes),
			Lease:        p.Lease.Min,
			MaxLease:     p.Lease.Max,
		},
		Tables: tables.Config{
			Project:      b.Project,
			Dataset:      b.Dataset,
			Location:     b.Location,
			Template:     b.Table,
			MaxStaleness: b.MaxStaleness.Interval, // config.NotYet has refused auto
		},
		Write:           storagewrite.Config{Project: b.Project},
		DeadLetterTopic: fmt.Sprintf("projects/%s/topics/%s", p.Project, p.DeadLetter.Topic),
		BatchRows:       b.Batch.Rows,
		BatchBytes:      int(b.Batch.Bytes),
		Grace:           stopGrace,
		Progress:        cfg.Log.Progress,
	}
}

// connections says where the servers are.
func connections(p *config.PubSub, env func(name string) string) sink.Connections {
	agent := option.WithUserAgent(service.UserAgent(config.Sink))
	plain := []option.ClientOption{
		agent, option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
	to := sink.Connections{
		PubSub:   []option.ClientOption{agent, option.WithEndpoint(p.Region + "-pubsub.googleapis.com:443")},
		BigQuery: []option.ClientOption{agent},
		Storage:  []option.ClientOption{agent},
	}
	if host := env(pubsubEmulator); host != "" {
		to.PubSub = append(plain[:3:3], option.WithEndpoint(host))
	}
	if host := env(bigqueryEmulator); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		to.BigQuery = []option.ClientOption{agent, option.WithoutAuthentication(), option.WithEndpoint(host)}
	}
	if host := env(storageEmulator); host != "" {
		to.Storage = append(plain[:3:3], option.WithEndpoint(host))
	}
	return to
}

func connect(ctx context.Context, cfg *config.Config, log *slog.Logger) (*sink.Sink, error) {
	return sink.New(ctx, sinkConfig(cfg), connections(&cfg.PubSub, os.Getenv), log)
}
