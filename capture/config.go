package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"cdc/capture/catalog"
)

// Config is what capture needs to know. Zero durations and sizes mean the
// default that is named.
type Config struct {
	Database    string                 // the configuration's name of the database, in every message
	DSN         func() (string, error) // read again on each connect; may hold a password
	Slot        string
	Publication string // insert, update, delete and truncate of tables with a usable identity

	StateSchema string // schema of the source that holds the state; or
	StateFile   string // the file that does; exactly one of the two

	Tables []TableRule // first match wins; what matches nothing isn't captured

	WindowBytes     int64         // in flight to the publisher; 256 MiB
	StopTimeout     time.Duration // how long Run waits for acceptance when it is asked to stop; 20 s
	ProgressEvery   time.Duration // between two progress lines; 30 s
	ProgressMore    func() []any  // what else each progress line says, as slog's key-value pairs; nothing if nil
	ApplicationName string        // in pg_stat_activity; cdc-publisher
	SenderTimeout   time.Duration // wal_sender_timeout of our sessions; 60 s
	DecodingBytes   int64         // logical_decoding_work_mem of our sessions; 64 MiB
	Log             *slog.Logger  // nil discards

	// Vouch is asked before what was accepted is confirmed, whether it can still
	// be counted on; nil means always. An error that has a Code ends Run, and
	// nothing is confirmed any more; after another one it is asked again.
	Vouch func(ctx context.Context) error

	pace pace
}

// TableRule says of the tables whose schema.table matches that they are captured.
type TableRule struct {
	Match        string // schema.table; * stands for any characters
	SnapshotNone bool   // rows that are there before the slot are left out knowingly
}

// pace is how often what happens; tests make it faster.
type pace struct {
	confirmEvery     time.Duration // checkpoint and status while transactions move
	confirmBytes     int64
	idleConfirmEvery time.Duration // if only keepalives moved: our own checkpoints make WAL
	idleConfirmBytes int64
	pollEvery        time.Duration // of the catalog
	tick             time.Duration // at which what is due is looked at
	slotRetryMax     time.Duration // between two attempts to get a slot that is in use
	connectLimit     time.Duration // how long connecting is tried at the start
	received         time.Duration // a stream that is silent for longer is lost
}

var slotName = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

// withDefaults returns c complete, or all that is wrong with it.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Database == "" {
		wrong("database: empty")
	}
	if c.DSN == nil {
		wrong("dsn: missing")
	}
	if !slotName.MatchString(c.Slot) {
		wrong("slot %q: want 1 to 63 of a-z, 0-9 and _", c.Slot)
	}
	if c.Publication == "" {
		wrong("publication: empty")
	}
	if (c.StateSchema == "") == (c.StateFile == "") {
		wrong("state: want a schema or a file")
	}
	if len(c.Tables) == 0 {
		wrong("tables: none")
	}
	for i, r := range c.Tables {
		if !validPattern(r.Match) {
			wrong("tables[%d] %q: want schema.table", i, r.Match)
		}
	}
	setDefault(&c.WindowBytes, 256<<20)
	setDefault(&c.DecodingBytes, 64<<20)
	setDefault(&c.StopTimeout, 20*time.Second)
	setDefault(&c.ProgressEvery, 30*time.Second)
	setDefault(&c.SenderTimeout, time.Minute)
	setDefault(&c.ApplicationName, "cdc-publisher")
	setDefault(&c.pace.confirmEvery, 10*time.Second)
	setDefault(&c.pace.confirmBytes, 64<<20)
	setDefault(&c.pace.idleConfirmEvery, 5*time.Minute)
	setDefault(&c.pace.idleConfirmBytes, 16<<20)
	setDefault(&c.pace.pollEvery, 30*time.Second)
	setDefault(&c.pace.tick, min(500*time.Millisecond, c.SenderTimeout/20))
	setDefault(&c.pace.slotRetryMax, 5*time.Second)
	setDefault(&c.pace.connectLimit, 2*time.Minute)
	setDefault(&c.pace.received, 2*c.SenderTimeout)
	if c.WindowBytes < 0 || c.DecodingBytes < 64<<10 {
		wrong("window and decoding memory: want positive sizes, decoding memory 64 KiB or more")
	}
	if c.SenderTimeout < 100*time.Millisecond {
		wrong("sender timeout: want 100 ms or more")
	}
	if c.Vouch == nil {
		c.Vouch = func(context.Context) error { return nil }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("capture configuration: %w", err)
	}
	return c, nil
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

func (c *Config) session(replication bool) catalog.Session {
	return catalog.Session{
		ApplicationName: c.ApplicationName,
		Replication:     replication,
		SenderTimeout:   c.SenderTimeout,
		DecodingMemory:  c.DecodingBytes,
	}
}
