package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Session says how to connect.
type Session struct {
	ApplicationName string
	Replication     bool          // a walsender that also takes SQL (replication=database)
	SenderTimeout   time.Duration // wal_sender_timeout of the session; 0 means 60 s
	DecodingMemory  int64         // logical_decoding_work_mem in bytes; 0 leaves the server's
}

// settings are pinned in the startup packet, where they override what ALTER
// DATABASE and ALTER ROLE set, in the form in which pg_settings shows them. The
// text of a value or of a type's name on the wire depends on most of them; the
// rest keep a session from being ended, from missing rows or from waiting for a
// standby, and its queries from being misread.
func (s Session) settings() map[string]string {
	timeout := s.SenderTimeout
	if timeout == 0 {
		timeout = time.Minute
	}
	m := map[string]string{
		"client_encoding":                     "UTF8",
		"DateStyle":                           "ISO, YMD",
		"IntervalStyle":                       "postgres",
		"extra_float_digits":                  "3",
		"bytea_output":                        "hex",
		"TimeZone":                            "UTC",
		"row_security":                        "off",
		"statement_timeout":                   "0",
		"idle_in_transaction_session_timeout": "0",
		"idle_session_timeout":                "0",
		"wal_sender_timeout":                  strconv.FormatInt(timeout.Milliseconds(), 10),
		"search_path":                         "pg_catalog",
		"xmlbinary":                           "base64",
		"lc_monetary":                         "C",
		"quote_all_identifiers":               "off",
		"standard_conforming_strings":         "on",
		"lock_timeout":                        "0",
		"default_transaction_isolation":       "read committed",
		"default_transaction_read_only":       "off",
		"synchronous_commit":                  "local",
	}
	if s.DecodingMemory > 0 {
		m["logical_decoding_work_mem"] = strconv.FormatInt(s.DecodingMemory>>10, 10)
	}
	return m
}

// SettingsError says that the server doesn't use the settings that were sent
// with the startup packet: something between drops them.
type SettingsError struct {
	Settings []string // name=value as the server shows them, sorted
}

func (e *SettingsError) Error() string {
	return "session settings aren't in force: " + strings.Join(e.Settings, ", ")
}

// Code implements the error convention of this module.
func (e *SettingsError) Code() string { return "session_settings" }

// Fix implements the error convention of this module.
func (e *SettingsError) Fix() string {
	return "connect to the server itself and not through a pooler (PgBouncer and the like drop startup parameters), or let the pooler pass them on"
}

// Connect connects with the session's settings pinned and reads them back. It
// returns a *SettingsError if the server shows others. Queries on the connection
// use the simple protocol, the only one that a walsender takes.
func (s Session) Connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse source.dsn: %w", ErrDSN)
	}
	settings := s.settings()
	for name := range cfg.RuntimeParams {
		for own := range settings {
			if strings.EqualFold(name, own) {
				delete(cfg.RuntimeParams, name)
			}
		}
	}
	maps.Copy(cfg.RuntimeParams, settings)
	cfg.RuntimeParams["application_name"] = s.ApplicationName
	if s.Replication {
		cfg.RuntimeParams["replication"] = "database"
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the source: %w", err)
	}
	if err := s.ReadBack(ctx, conn); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// ReadBack returns a *SettingsError if the server shows other settings than the
// session's.
func (s Session) ReadBack(ctx context.Context, q Querier) error {
	settings := s.settings()
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	rows, err := q.Query(ctx, `SELECT name, setting FROM pg_settings WHERE name = ANY($1)`, names)
	if err != nil {
		return fmt.Errorf("read session settings back: %w", err)
	}
	shown := map[string]string{}
	var name, value string
	if _, err := pgx.ForEachRow(rows, []any{&name, &value}, func() error { shown[name] = value; return nil }); err != nil {
		return fmt.Errorf("read session settings back: %w", err)
	}
	var wrong []string
	for name, want := range settings {
		if got, ok := shown[name]; ok && got != want {
			wrong = append(wrong, name+"="+got)
		} else if !ok {
			wrong = append(wrong, name+" (unknown to the server)")
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return &SettingsError{wrong}
}

// ErrDSN keeps a DSN's parse error, which may quote the DSN, out of messages.
var ErrDSN = errors.New("not a connection string (its text isn't shown: it may hold a password)")
