package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cdc/capture"
	"cdc/cmd/internal/config"
	"cdc/publish"
)

// TestCaptureConfig sets every key that the publisher acts on to a value of its
// own and finds each in the configuration of capture and publish.
func TestCaptureConfig(t *testing.T) {
	c, err := config.Parse("cdc.yaml", []byte(`version: 1
database: shop
source:
  dsn: host=/run/postgresql password='${CDC_WIRE_TEST}'
  slot: the_slot
  publication: {name: the_publication, managed: false}
  state: file:/var/lib/cdc/shop.json
  window: 17MiB
pubsub:
  project: project-1
  region: europe-west3
  retention: 18h
  ordered: {topic: the-topic, subscription: the-subscription}
  dead_letter: {topic: the-dead-letter, subscription: the-replay}
bigquery: {project: project-2, location: US}
defaults: {snapshot: none}
tables: [{match: '"public"."Orders"', snapshot: auto}, {match: audit.*}]
log: {progress: 16s}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.NotYet(config.Publisher, "cdc.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CDC_WIRE_TEST", "hunter2")
	got := captureConfig(c, nil)
	if dsn, err := got.DSN(); err != nil || dsn != "host=/run/postgresql password='hunter2'" {
		t.Errorf("DSN %v", err)
	}
	got.DSN = nil
	want := capture.Config{
		Database: "shop", Slot: "the_slot", Publication: "the_publication", StateFile: "/var/lib/cdc/shop.json",
		Tables:      []capture.TableRule{{Match: "public.Orders"}, {Match: "audit.*", SnapshotNone: true}},
		WindowBytes: 17 << 20, ProgressEvery: 16 * time.Second,
	}
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "pace" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	wantResources := publish.Resources{Project: "project-1", Retention: 18 * time.Hour, Pairs: []publish.Pair{
		{Use: "ordered", Topic: "the-topic", Subscription: "the-subscription", Ordered: true},
		{Use: "dead_letter", Topic: "the-dead-letter", Subscription: "the-replay"},
	}}
	if diff := cmp.Diff(wantResources, resources(&c.PubSub)); diff != "" {
		t.Error(diff)
	}
}
