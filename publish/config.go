package publish

import (
	"fmt"
	"strings"
	"time"

	"cdc/schema"
)

// Limits of Pub/Sub (https://cloud.google.com/pubsub/quotas and
// https://cloud.google.com/pubsub/docs/ordering).
const (
	// MaxRequestMessages is the most messages a publish request may have.
	MaxRequestMessages = 1000
	// MaxRequestBytes is the most a publish request may have: what one message
	// may have, with its attributes, its key and the request around it.
	MaxRequestBytes = schema.MaxMessageBytes
)

// batchBytes is where a request stops taking in further messages.
const batchBytes = 1_000_000

// keyRateBytesPerSecond is 0.9 of the 1 MB/s that Pub/Sub takes per ordering key.
const keyRateBytesPerSecond = 900_000

// queuedOverheadBytes is what a queued message costs beyond its own bytes: its
// key's queue, its entry and the buffer's slack.
const queuedOverheadBytes = 512

// Config of a Dispatcher.
type Config struct {
	// Topic is the full name, projects/P/topics/T.
	Topic string
	// MaxInFlight is the most requests in flight, keys that wait for their retry
	// included; 0 means 1,024. Requests in flight are what limits the rate: at a
	// round trip of 20 ms 1,024 give 33,000 a second.
	MaxInFlight int
	// MaxQueuedBytes bounds the messages that are queued or in flight, with
	// 512 bytes for each; 0 means 256 MiB. A message larger than this is let
	// through when nothing else is queued.
	MaxQueuedBytes int64
	// AttemptTimeout bounds one attempt of a request; 0 means 10 s. What was
	// given up may still be stored: a late copy.
	AttemptTimeout time.Duration
	// BackoffInitial and BackoffMax bound the random wait before a retry, which
	// doubles with each failure of a key; 0 means 100 ms and 5 s. BackoffMax is
	// how long publishing may rest after an outage has ended.
	BackoffInitial time.Duration
	BackoffMax     time.Duration
}

func (c Config) withDefaults() Config {
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 1024
	}
	if c.MaxQueuedBytes == 0 {
		c.MaxQueuedBytes = 256 << 20
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = 10 * time.Second
	}
	if c.BackoffInitial == 0 {
		c.BackoffInitial = 100 * time.Millisecond
	}
	if c.BackoffMax == 0 {
		c.BackoffMax = max(5*time.Second, c.BackoffInitial)
	}
	return c
}

func (c Config) validate() error {
	switch parts := strings.Split(c.Topic, "/"); {
	case len(parts) != 4 || parts[0] != "projects" || parts[2] != "topics" || parts[1] == "" || parts[3] == "":
		return fmt.Errorf("topic %q isn't projects/PROJECT/topics/TOPIC", c.Topic)
	case c.MaxInFlight < 1:
		return fmt.Errorf("max in flight %d: at least 1 request", c.MaxInFlight)
	case c.MaxQueuedBytes < 1:
		return fmt.Errorf("max queued %d bytes: at least 1", c.MaxQueuedBytes)
	case c.AttemptTimeout < time.Millisecond:
		return fmt.Errorf("attempt timeout %v: at least 1 ms", c.AttemptTimeout)
	case c.BackoffInitial < 1 || c.BackoffMax < c.BackoffInitial:
		return fmt.Errorf("back-off from %v to %v: at least 1 ns, and not falling", c.BackoffInitial, c.BackoffMax)
	}
	return nil
}
