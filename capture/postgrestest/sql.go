package postgrestest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DSN returns a URL for the database, with the superuser and its password, for pgx and libpq. It always has a parameter
// (sslmode=disable), so another one is appended with &.
func (s *Server) DSN(db string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(Superuser, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     "/" + db,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// ReplicationDSN returns DSN with replication=database: a logical walsender, as START_REPLICATION needs it.
func (s *Server) ReplicationDSN(db string) string { return s.DSN(db) + "&replication=database" }

// CreateDB makes an empty database.
func (s *Server) CreateDB(ctx context.Context, name string) error {
	return s.Exec(ctx, "postgres", "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
}

// Exec runs SQL on one connection of its own. Several statements in one string are one transaction; strings are sent one after
// the other (CREATE DATABASE and replication slots want a transaction of their own).
func (s *Server) Exec(ctx context.Context, db string, sql ...string) error {
	conn, err := pgconn.Connect(ctx, s.DSN(db))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", db, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, text := range sql {
		if _, err := conn.Exec(ctx, text).ReadAll(); err != nil {
			return fmt.Errorf("run SQL: %w", err)
		}
	}
	return nil
}

// MustExec is Exec for tests: it fails the test.
func (s *Server) MustExec(tb testing.TB, db string, sql ...string) {
	tb.Helper()
	if err := s.Exec(tb.Context(), db, sql...); err != nil {
		tb.Fatal(err)
	}
}

// Conn opens a connection that is closed when the test ends.
func (s *Server) Conn(tb testing.TB, db string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), s.DSN(db))
	if err != nil {
		tb.Fatalf("connect to %s: %v", db, err)
	}
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
