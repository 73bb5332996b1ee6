package capture

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/googleapis/gax-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cdc/capture/state"
	"cdc/schema"
)

// stateStore is where the state is kept: *state.Postgres or *state.File, whose
// comments are the contract.
type stateStore interface {
	Prepare(ctx context.Context) ([]string, error)
	Load(ctx context.Context) (*state.State, error)
	Put(ctx context.Context, s *state.State) error
	Acquire(ctx context.Context) (*state.State, error)
	Checkpoint(ctx context.Context, lsn schema.LSN) error
	SaveTable(ctx context.Context, t state.Table) error
	Close(ctx context.Context) error
}

func (c *Config) openState() stateStore {
	if c.StateFile != "" {
		return state.NewFile(c.StateFile, c.Slot)
	}
	return state.NewPostgres(c.StateSchema, c.Slot, func(ctx context.Context) (*pgx.Conn, error) { return c.connect(ctx, false) })
}

// connect opens a connection with pinned settings; the DSN is read anew.
func (c *Config) connect(ctx context.Context, replication bool) (*pgx.Conn, error) {
	dsn, err := c.DSN()
	if err != nil {
		return nil, &Error{cause: err, finding: blocking("source_dsn", "correct source.dsn or the file or variable that it names", "read source.dsn")}
	}
	return c.session(replication).Connect(ctx, dsn)
}

// connectPatiently repeats connect while the server can't be reached, for a
// bounded time: it may be starting, or failing over.
func (c *Config) connectPatiently(ctx context.Context, replication bool) (*pgx.Conn, error) {
	backoff := gax.Backoff{Initial: 100 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}
	limit := time.Now().Add(c.pace.connectLimit)
	for {
		conn, err := c.connect(ctx, replication)
		if err == nil || ctx.Err() != nil || !unreachable(err) {
			return conn, wrapConnect(err)
		}
		if time.Now().After(limit) {
			return nil, &Error{cause: err, lost: true, finding: blocking("source_unreachable",
				"start the server, or correct source.dsn, or open the network between here and there", "the source can't be reached")}
		}
		wait := backoff.Pause()
		c.Log.WarnContext(ctx, EventConnecting, "error", err.Error(), "wait_ms", wait.Milliseconds())
		if gax.Sleep(ctx, wait) != nil {
			return nil, ctx.Err()
		}
	}
}

func wrapConnect(err error) error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &Error{cause: pgErr, finding: blocking("connect",
			"correct source.dsn, the role's password and rights (LOGIN, REPLICATION) and pg_hba.conf", "connect to the source")}
	}
	return err
}

// The SQLSTATEs that callers branch on
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	stateObjectInUse        = "55006"
	stateAdminShutdown      = "57P01"
	stateCrashShutdown      = "57P02"
	stateCannotConnectNow   = "57P03"
	stateTooManyConnections = "53300"
)

func sqlState(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}

// unreachable: no server answered, or one that takes no connections now.
func unreachable(err error) bool {
	switch sqlState(err) {
	case stateCannotConnectNow, stateTooManyConnections, stateAdminShutdown, stateCrashShutdown:
		return true
	case "":
		_, network := errors.AsType[net.Error](err)
		return network
	default:
		return false // the server answered: another attempt gets the same answer
	}
}
