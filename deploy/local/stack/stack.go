package stack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"cloud.google.com/go/bigquery"
	"github.com/jackc/pgx/v5"
	"google.golang.org/api/option"

	"cdc/capture/postgrestest"
	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

//go:embed schema.sql
var schemaSQL string

const (
	stopLimit = 35 * time.Second      // of a service after SIGTERM; the services' own limit is 30 s
	roundTrip = 5 * time.Millisecond  // of every call to the stand-ins
	pollEvery = 5 * time.Millisecond  // how often the demo looks
	role      = "cdc"                 // owns the tables; no superuser
	password  = "only-for-this-demo!" // of a server that listens on loopback and is gone with the demo
)

// Stack is the pipeline on one machine. Its parts run until Close.
type Stack struct {
	dir       string
	config    string
	postgres  *postgrestest.Server
	pubsub    *pubsubtest.Server
	bigquery  *bigquerytest.Server
	client    *bigquery.Client
	conn      *pgx.Conn // as superuser, to look from outside
	dsn       string    // as the tables' owner
	publisher *service
	sink      *service
}

// Start starts Postgres, the stand-ins, both services' init and then both
// services, whose executables are in bin. Logs and the configuration file are
// in dir. say is told what happens.
func Start(ctx context.Context, dir, bin string, say func(format string, args ...any)) (_ *Stack, err error) {
	s := &Stack{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.startServers(ctx, say); err != nil {
		return nil, err
	}
	if s.config, err = writeConfig(dir); err != nil {
		return nil, err
	}
	env := []string{
		"CDC_DEMO_DSN=" + s.dsn,
		"PUBSUB_EMULATOR_HOST=" + s.pubsub.Addr(),
		"BIGQUERY_EMULATOR_HOST=" + s.bigquery.Addr(),
		"BIGQUERY_STORAGE_EMULATOR_HOST=" + s.bigquery.StorageAddr(),
	}
	if s.publisher, err = newService(dir, bin, "cdc-publisher", s.config, env); err != nil {
		return nil, err
	}
	if s.sink, err = newService(dir, bin, "cdc-sink", s.config, env); err != nil {
		return nil, err
	}
	for _, svc := range []*service{s.publisher, s.sink} {
		if err := runOnce(ctx, svc, "init", "--config", s.config); err != nil {
			return nil, err
		}
	}
	if err := createTruthSlot(ctx, s.conn); err != nil {
		return nil, err
	}
	for _, svc := range []*service{s.publisher, s.sink} {
		if err := svc.start(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newService(dir, bin, name, config string, env []string) (*service, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	return &service{name: name, path: filepath.Join(bin, name), args: []string{"run", "--config", config}, env: env, log: log}, nil
}

func (s *Stack) startServers(ctx context.Context, say func(format string, args ...any)) (err error) {
	say("starting Postgres")
	progress := func(what string) { say("%s", what) }
	if s.postgres, err = postgrestest.Launch(ctx, postgrestest.Options{Progress: progress}); err != nil {
		return err
	}
	say("Postgres %s is up; starting the stand-ins and both services", s.postgres.Version())
	setup := []string{
		"CREATE ROLE " + role + " LOGIN REPLICATION PASSWORD '" + password + "'",
		"CREATE DATABASE " + database + " OWNER " + role,
	}
	if err := s.postgres.Exec(ctx, "postgres", setup...); err != nil {
		return err
	}
	u, err := url.Parse(s.postgres.DSN(database))
	if err != nil {
		return fmt.Errorf("parse the server's address: %w", err)
	}
	u.User = url.UserPassword(role, password)
	s.dsn = u.String()
	owner, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return fmt.Errorf("connect as the tables' owner: %w", err)
	}
	defer owner.Close(context.WithoutCancel(ctx))
	if _, err := owner.Exec(ctx, "GRANT CREATE ON SCHEMA public TO "+role+"; "+schemaSQL); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	if s.conn, err = pgx.Connect(ctx, s.postgres.DSN(database)); err != nil {
		return fmt.Errorf("connect to look from outside: %w", err)
	}
	if s.pubsub, err = pubsubtest.New(pubsubtest.Config{Record: true}); err != nil {
		return fmt.Errorf("start the Pub/Sub stand-in: %w", err)
	}
	s.pubsub.SetRoundTrip(roundTrip)
	if s.bigquery, err = bigquerytest.New(bigquerytest.Config{Record: true, RoundTrip: roundTrip}); err != nil {
		return fmt.Errorf("start the BigQuery stand-in: %w", err)
	}
	s.client, err = bigquery.NewClient(ctx, project, option.WithEndpoint(s.bigquery.Addr()+"/bigquery/v2/"), option.WithoutAuthentication())
	if err != nil {
		return fmt.Errorf("make a BigQuery client: %w", err)
	}
	return nil
}

// StopServices asks both services to stop and returns an error unless both
// ended in time with exit code 0.
func (s *Stack) StopServices() error {
	return errors.Join(s.publisher.stop(stopLimit), s.sink.stop(stopLimit))
}

// Close ends everything that still runs.
func (s *Stack) Close() error {
	var errs []error
	for _, svc := range []*service{s.publisher, s.sink} {
		if svc == nil {
			continue
		}
		if svc.running() {
			errs = append(errs, svc.kill())
		}
		errs = append(errs, svc.log.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if s.conn != nil {
		errs = append(errs, s.conn.Close(ctx))
	}
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.bigquery != nil {
		errs = append(errs, s.bigquery.Close())
	}
	if s.pubsub != nil {
		errs = append(errs, s.pubsub.Close())
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Close())
	}
	return errors.Join(errs...)
}
