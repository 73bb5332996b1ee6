package sink

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/api/option"

	"cdc/sink/deadletter"
	"cdc/sink/pull"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

// Config is what the sink needs to know, in plain values.
type Config struct {
	// Database is the configuration's name, which messages carry. What carries
	// another is held; empty takes any.
	Database        string
	Pull            pull.Config
	Tables          tables.Config
	Write           storagewrite.Config
	DeadLetterTopic string // projects/P/topics/T
	// BatchRows and BatchBytes are the most of one append; 5,000 and 8 MiB if zero.
	BatchRows  int
	BatchBytes int
	// Grace is how long a stop may take to write and ack what was received. Run and
	// Close may take AfterGrace beyond it.
	Grace time.Duration
	// Progress is the pause between progress lines; 30 s if zero.
	Progress time.Duration
}

// AfterGrace bounds the time from the end of the grace to the end of Close, but
// for closing connections: the last acks, and letters that were under way.
const AfterGrace = pull.LastAcks + deadletter.PublishTimeout

// Connections are the options of the clients, such as endpoints and credentials.
type Connections struct {
	PubSub   []option.ClientOption // of the subscription and the dead letter
	BigQuery []option.ClientOption // REST
	Storage  []option.ClientOption // the Storage Write API
}

func (c *Config) setDefaults() {
	if c.BatchRows == 0 {
		c.BatchRows = 5000
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = 8 << 20
	}
	if c.Progress == 0 {
		c.Progress = 30 * time.Second
	}
}

func (c *Config) check() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.DeadLetterTopic != "", "dead_letter.topic is empty")
	bad(c.BatchRows >= 1, "batch.rows = %d: want at least 1", c.BatchRows)
	bad(c.BatchBytes >= 1 && c.BatchBytes <= storagewrite.MaxRequestBytes, "batch.bytes = %d: want 1 to %d", c.BatchBytes, storagewrite.MaxRequestBytes)
	bad(c.Grace >= 0, "grace = %s: want 0 or more", c.Grace)
	return errors.Join(errs...)
}
