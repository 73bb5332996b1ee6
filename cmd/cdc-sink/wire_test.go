package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/googleapis/gax-go/v2"

	"cdc/cmd/internal/config"
	"cdc/sink"
	"cdc/sink/pull"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

// TestSinkConfig sets every key that the sink acts on to a value of its own and
// finds each in sink's configuration.
func TestSinkConfig(t *testing.T) {
	c, err := config.Parse("cdc.yaml", []byte(`version: 1
database: shop
source: {dsn: "${SHOP_DSN}"}
pubsub:
  project: project-1
  region: europe-west3
  ordered: {subscription: the-subscription}
  dead_letter: {topic: the-dead-letter}
  max_outstanding: {messages: 11, bytes: 17MiB}
  lease: {min: 12s, max: 13h}
bigquery:
  project: project-2
  location: US
  dataset: the_dataset
  table: "x_{table}"
  max_staleness: 14m
  batch: {rows: 15, bytes: 1MiB, age: 0ms}
tables: [{match: public.*}]
log: {progress: 16s}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.NotYet(config.Sink, "cdc.yaml"); err != nil {
		t.Fatal(err)
	}
	want := sink.Config{
		Database: "shop",
		Pull: pull.Config{
			Subscription: "projects/project-1/subscriptions/the-subscription",
			Streams:      1, MaxMessages: 11, MaxBytes: 17 << 20, Lease: 12 * time.Second, MaxLease: 13 * time.Hour,
		},
		Tables: tables.Config{
			Project: "project-2", Dataset: "the_dataset", Location: "US", Template: "x_{table}", MaxStaleness: 14 * time.Minute,
		},
		Write:           storagewrite.Config{Project: "project-2"},
		DeadLetterTopic: "projects/project-1/topics/the-dead-letter",
		BatchRows:       15, BatchBytes: 1 << 20, Grace: stopGrace, Progress: 16 * time.Second,
	}
	if diff := cmp.Diff(want, sinkConfig(c), cmpopts.EquateComparable(gax.Backoff{})); diff != "" {
		t.Error(diff)
	}
}

// TestWithoutCredentials: what a newcomer meets first has a code and a fix, and
// stand-ins need none.
func TestWithoutCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	all := map[string]string{pubsubEmulator: "h:1", bigqueryEmulator: "h:1", storageEmulator: "h:1"}
	if err := checkCredentials(t.Context(), func(name string) string { return all[name] }); err != nil {
		t.Errorf("with stand-ins only: %v", err)
	}
	delete(all, storageEmulator)
	err := checkCredentials(t.Context(), func(name string) string { return all[name] })
	if e, ok := errors.AsType[*credentialsError](err); !ok || e.Code() != "no_credentials" {
		t.Errorf("with a real server: %v", err)
	}
}
