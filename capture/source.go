package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"time"

	"github.com/googleapis/gax-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cdc/capture/catalog"
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
			return nil, findUnreachable(err)
		}
		wait := backoff.Pause()
		c.Log.WarnContext(ctx, EventConnecting, "error", err.Error(), "wait_ms", wait.Milliseconds())
		if gax.Sleep(ctx, wait) != nil {
			return nil, ctx.Err()
		}
	}
}

// wrapConnect gives an error of connecting its code and fix.
func wrapConnect(err error) error {
	switch {
	case err == nil || hasCode(err):
		return err
	case errors.Is(err, catalog.ErrDSN):
		return &Error{cause: err, finding: blocking("source_dsn", "correct source.dsn or the file or variable that it names", "read source.dsn")}
	case unreachable(err):
		return findUnreachable(err)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		err = pgErr
	}
	return &Error{cause: err, finding: blocking("connect",
		"correct source.dsn, the role's password and rights (LOGIN, REPLICATION), pg_hba.conf and sslmode", "connect to the source")}
}

// wrapSource gives an error of a query its code and fix: the server refused it,
// or else the connection is lost.
func wrapSource(err error) error {
	switch pgErr, refused := errors.AsType[*pgconn.PgError](err); {
	case err == nil || hasCode(err):
		return err
	case refused && !unreachable(pgErr):
		return &Error{cause: err, finding: blocking("source_query",
			"see the server's message: the role lacks a right, something is in use, or a limit is reached", "the source refused a query")}
	default:
		return findLost(err)
	}
}

// wrapState gives an error of the state's store its code and fix.
func wrapState(err error) error {
	_, file := errors.AsType[*fs.PathError](err) // its cause looks like one of the network's
	switch {
	case err == nil || hasCode(err):
		return err
	case !file && unreachable(err):
		return findLost(err)
	}
	return &Error{cause: err, finding: blocking("state_unavailable",
		"make the state's schema or file readable and writable for cdc-publisher: rights, locks, space on the disk", "the state can't be used")}
}

func hasCode(err error) bool {
	_, ok := errors.AsType[interface {
		error
		Code() string
	}](err)
	return ok
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
		return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) // it hung up: it is going down or coming up
	default:
		return false // the server answered: another attempt gets the same answer
	}
}
