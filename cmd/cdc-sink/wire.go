package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/api/transport"
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

// stopGrace is how long a stop may take to write and ack what is held. The rest of
// a stop fits into service.StopLimit with 2 s to spare.
const stopGrace = service.StopLimit - sink.AfterGrace - 2*time.Second

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

// credentialsError says that there are no credentials for Google Cloud.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return fmt.Sprintf("find credentials: %v", e.err) }
func (e *credentialsError) Unwrap() error { return e.err }
func (e *credentialsError) Code() string  { return "no_credentials" }
func (e *credentialsError) Fix() string {
	return "set GOOGLE_APPLICATION_CREDENTIALS, attach a service account, or run `gcloud auth application-default login`"
}

// checkCredentials looks for credentials unless every server is a stand-in. The
// clients would miss them too, each in words of its own.
func checkCredentials(ctx context.Context, env func(name string) string) error {
	for _, name := range []string{pubsubEmulator, bigqueryEmulator, storageEmulator} {
		if env(name) != "" {
			continue
		}
		if _, err := transport.Creds(ctx, option.WithScopes("https://www.googleapis.com/auth/cloud-platform")); err != nil {
			return &credentialsError{err}
		}
		return nil
	}
	return nil
}

func connect(ctx context.Context, cfg *config.Config, log *slog.Logger) (*sink.Sink, error) {
	if err := checkCredentials(ctx, os.Getenv); err != nil {
		return nil, err
	}
	return sink.New(ctx, sinkConfig(cfg), connections(&cfg.PubSub, os.Getenv), log)
}
