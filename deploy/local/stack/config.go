package stack

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// The names of the demo's database, as its configuration file has them.
const (
	database = "demo"
	project  = "demo"
	dataset  = "demo"

	slot        = "cdc_demo"
	publication = "cdc_demo"

	topic           = "projects/demo/topics/cdc-demo"
	subscription    = "projects/demo/subscriptions/cdc-demo-sink"
	deadLetterTopic = "projects/demo/topics/cdc-demo-dead"
)

// configText has the same form as a deployment's file. The secret comes from
// the environment, as it would there.
const configText = `version: 1
database: demo
source:
  dsn: ${CDC_DEMO_DSN}
  slot: cdc_demo
  publication: {name: cdc_demo}
pubsub:
  project: demo
  ordered: {topic: cdc-demo, subscription: cdc-demo-sink}
  dead_letter: {topic: cdc-demo-dead, subscription: cdc-demo-dead-replay}
  lease: {min: 10s}
bigquery:
  project: demo
  location: EU
  dataset: demo
  max_staleness: 0s
tables:
  - match: public.*
health: {publisher: %q, sink: %q}
log: {level: info, progress: 1s}
`

const configName = "cdc.yaml"

// writeConfig writes the configuration file into dir and returns its path.
func writeConfig(dir string) (string, error) {
	publisher, err := freeAddress()
	if err != nil {
		return "", err
	}
	sink, err := freeAddress()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, configName)
	if err := os.WriteFile(path, fmt.Appendf(nil, configText, publisher, sink), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return path, nil
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
