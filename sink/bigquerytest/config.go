package bigquerytest

import (
	"log/slog"
	"time"
)

// Config sets a server up. The zero value listens on free loopback ports with
// the defaults named at each field. A duration of 0 means its default and a
// negative one means none.
type Config struct {
	// Addr and StorageAddr are the listening addresses of the REST and of the
	// gRPC server ("127.0.0.1:0" each by default).
	Addr        string
	StorageAddr string

	// ControlAddr is the loopback address of the control endpoint, by which
	// faults, counters and the clock can be reached from another process: see
	// control.go. Empty means none; 127.0.0.1:0 takes a free port.
	ControlAddr string

	// Location is what datasets without one get ("EU" by default).
	Location string

	// Seed decides the winners that the documentation leaves undefined. 0 takes
	// a random seed; the server's Seed method returns it.
	Seed uint64

	// CreateDelay is how long the Storage Write API answers NOT_FOUND for a
	// table that was just created (default 100 ms; the real service needs
	// seconds to minutes).
	CreateDelay time.Duration

	// RecreateDelay is the same for a table whose name was dropped within the
	// last hour (default 1 s): the service is known to lose or refuse writes to
	// such a name for longer than to a new one.
	RecreateDelay time.Duration

	// InsertsPerSecond is how many calls of tables.insert a project makes in a
	// second (default 10, the documented limit; negative for any number). Above
	// it throttling can occur, the documentation says; here it does.
	InsertsPerSecond int

	// SchemaDelay is how long a changed schema stays unseen by the Storage
	// Write API; afterwards new connections see it (default 200 ms; the real
	// service needs minutes).
	SchemaDelay time.Duration

	// UnsetApplyInterval is the pace of background applies for a table without
	// max_staleness (default 15 min). The documentation names none.
	UnsetApplyInterval time.Duration

	// IdleClose ends a connection without requests (default 10 min).
	IdleClose time.Duration

	// RoundTrip is added between a request being stored and its answer (none
	// by default); SetRoundTrip changes it.
	RoundTrip time.Duration

	// RESTMaxStaleness lets tables.insert and tables.patch set max_staleness.
	// By default they accept the field and drop it, as reported of the service.
	RESTMaxStaleness bool

	// NullKeys accepts rows whose key columns are NULL. By default such a row
	// is refused; the documentation doesn't say.
	NullKeys bool

	// StrictDeletes refuses DELETE rows without a value in a REQUIRED column.
	// By default the key is enough; the documentation doesn't say.
	StrictDeletes bool

	// StreamErrors says that what is wrong with a connection's stream name,
	// table or writer schema ends the stream with a gRPC status instead of
	// being answered in the response's error field. The documentation allows
	// both. Rows are always refused in the response.
	StreamErrors bool

	// RequireRouting refuses appends to tables outside of the US multi-region
	// whose connection lacks the header x-goog-request-params, as reported now
	// and then of the service. By default they are accepted: the documentation
	// asks for the header and names no answer, and Google's Go client, which it
	// says needs no care, doesn't send it by itself.
	RequireRouting bool

	// ExactJSON refuses JSON values with a number that can't be stored without
	// loss, as PARSE_JSON does by default. By default such a number is rounded;
	// the documentation doesn't say which of them the Storage Write API does.
	ExactJSON bool

	// Denied are permissions that nobody has here: what needs one is refused, and
	// tables.testIamPermissions leaves it out.
	Denied []string

	// Record keeps one Applied for each stored row (about 100 bytes a row).
	Record bool

	// Log gets one debug line per refused request (discarded by default).
	Log *slog.Logger
}

// Defaults of Config's durations and limits.
const (
	DefaultCreateDelay        = 100 * time.Millisecond
	DefaultRecreateDelay      = time.Second
	DefaultInsertsPerSecond   = 10
	DefaultSchemaDelay        = 200 * time.Millisecond
	DefaultUnsetApplyInterval = 15 * time.Minute
	DefaultIdleClose          = 10 * time.Minute
)

func (c Config) withDefaults() Config {
	text := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	wait := func(v *time.Duration, d time.Duration) {
		switch {
		case *v == 0:
			*v = d
		case *v < 0:
			*v = 0
		}
	}
	text(&c.Addr, "127.0.0.1:0")
	text(&c.StorageAddr, "127.0.0.1:0")
	text(&c.Location, "EU")
	wait(&c.CreateDelay, DefaultCreateDelay)
	wait(&c.RecreateDelay, DefaultRecreateDelay)
	wait(&c.SchemaDelay, DefaultSchemaDelay)
	wait(&c.UnsetApplyInterval, DefaultUnsetApplyInterval)
	wait(&c.IdleClose, DefaultIdleClose)
	wait(&c.RoundTrip, 0)
	if c.InsertsPerSecond == 0 {
		c.InsertsPerSecond = DefaultInsertsPerSecond
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
