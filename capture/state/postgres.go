package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cdc/schema"
)

// Postgres keeps the state in a schema of the source. It isn't safe for
// concurrent use. It opens a connection when it needs one and again after that
// one was lost.
//
//	SCHEMA.state:  slot, format, system_id, timeline, database, epoch, checkpoint, owner, updated
//	SCHEMA.tables: slot, oid, schema, name, filenode, fingerprint, attnums, schema_version
type Postgres struct {
	connect func(context.Context) (*pgx.Conn, error)
	schema  string // quoted
	name    string
	slot    string
	conn    *pgx.Conn
	token   int64
}

// NewPostgres returns a store for a slot in a schema of the source. The sessions
// that connect returns must have synchronous_commit = local (durable, and not
// waiting for a standby that may wait for us) and the simple protocol.
func NewPostgres(schemaName, slot string, connect func(context.Context) (*pgx.Conn, error)) *Postgres {
	return &Postgres{connect: connect, schema: pgx.Identifier{schemaName}.Sanitize(), name: schemaName, slot: slot}
}

// session returns the open connection or a new one.
func (p *Postgres) session(ctx context.Context) (*pgx.Conn, error) {
	if p.conn != nil && !p.conn.IsClosed() {
		return p.conn, nil
	}
	conn, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	p.conn = conn
	return conn, nil
}

// transact runs f in a transaction. If the connection broke, the next call
// opens another.
func (p *Postgres) transact(ctx context.Context, what string, f func(tx pgx.Tx) error) error {
	conn, err := p.session(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := pgx.BeginFunc(ctx, conn, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Prepare makes the schema and its tables where they are missing and returns
// what it made. The role needs CREATE on the database.
func (p *Postgres) Prepare(ctx context.Context) ([]string, error) {
	var made []string
	err := p.transact(ctx, "prepare the state's schema", func(tx pgx.Tx) error {
		made = nil
		steps := []struct{ what, exists, create string }{
			{
				"schema " + p.name, "SELECT to_regnamespace($1) IS NOT NULL",
				"CREATE SCHEMA " + p.schema,
			},
			{"table " + p.name + ".state", "SELECT to_regclass($1 || '.state') IS NOT NULL", `CREATE TABLE ` + p.schema + `.state (
				slot text PRIMARY KEY, format int NOT NULL, system_id text NOT NULL, timeline bigint NOT NULL, database text NOT NULL,
				epoch bigint NOT NULL, checkpoint pg_lsn NOT NULL, owner bigint NOT NULL, updated timestamptz NOT NULL DEFAULT now())`},
			{"table " + p.name + ".tables", "SELECT to_regclass($1 || '.tables') IS NOT NULL", `CREATE TABLE ` + p.schema + `.tables (
				slot text NOT NULL, oid bigint NOT NULL, schema text NOT NULL, name text NOT NULL, filenode bigint NOT NULL,
				fingerprint text NOT NULL, attnums int2[] NOT NULL, schema_version bigint NOT NULL, PRIMARY KEY (slot, oid))`},
		}
		for _, s := range steps {
			var exists bool
			if err := tx.QueryRow(ctx, s.exists, p.schema).Scan(&exists); err != nil {
				return err
			}
			if exists {
				continue
			}
			if _, err := tx.Exec(ctx, s.create); err != nil {
				return fmt.Errorf("create %s: %w", s.what, err)
			}
			made = append(made, s.what)
		}
		return nil
	})
	return made, err
}

// Load returns the stored state, nil if there is none.
func (p *Postgres) Load(ctx context.Context) (*State, error) {
	var s *State
	err := p.transact(ctx, "load the state", func(tx pgx.Tx) (err error) {
		s, err = p.read(ctx, tx, "")
		return err
	})
	return s, err
}

// read reads the state; lock is a locking clause.
func (p *Postgres) read(ctx context.Context, tx pgx.Tx, lock string) (*State, error) {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1 || '.state') IS NOT NULL", p.schema).Scan(&exists); err != nil || !exists {
		return nil, err
	}
	s := &State{}
	var checkpoint string
	var epoch int64
	var format int
	err := tx.QueryRow(ctx, `SELECT format, system_id, timeline, database, epoch, checkpoint::text, owner
		FROM `+p.schema+`.state WHERE slot = $1 `+lock, p.slot).
		Scan(&format, &s.SystemID, &s.Timeline, &s.Database, &epoch, &checkpoint, &s.Owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if format != Format || epoch < 0 || epoch > 1<<32-1 {
		return nil, fmt.Errorf("format %d: %w", format, ErrFormat)
	}
	s.Epoch = uint32(epoch)
	if s.Checkpoint, err = schema.ParseLSN(checkpoint); err != nil {
		return nil, errors.Join(ErrFormat, err)
	}
	rows, err := tx.Query(ctx, `SELECT oid, schema, name, filenode, fingerprint, attnums, schema_version
		FROM `+p.schema+`.tables WHERE slot = $1 ORDER BY oid`, p.slot)
	if err != nil {
		return nil, err
	}
	s.Tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
		var oid, node int64
		err = row.Scan(&oid, &t.Schema, &t.Name, &node, &t.Fingerprint, &t.AttNums, &t.SchemaVersion)
		t.OID, t.Filenode = uint32(oid), uint32(node)
		return t, err
	})
	return s, err
}

// Put stores s whole with owner token 0 and gives up the ownership. It returns
// ErrExists if a complete state is stored.
func (p *Postgres) Put(ctx context.Context, s *State) error {
	return p.transact(ctx, "store the state", func(tx pgx.Tx) error {
		old, err := p.read(ctx, tx, "FOR UPDATE")
		if err != nil {
			return err
		}
		if old != nil && old.Complete() {
			return ErrExists
		}
		_, err = tx.Exec(ctx, `INSERT INTO `+p.schema+`.state (slot, format, system_id, timeline, database, epoch, checkpoint, owner)
			VALUES ($1, $2, $3, $4, $5, $6, $7::pg_lsn, 0) ON CONFLICT (slot) DO UPDATE SET format = excluded.format,
			system_id = excluded.system_id, timeline = excluded.timeline, database = excluded.database, epoch = excluded.epoch,
			checkpoint = excluded.checkpoint, owner = 0, updated = now()`,
			p.slot, Format, s.SystemID, s.Timeline, s.Database, int64(s.Epoch), s.Checkpoint.String())
		if err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, `DELETE FROM `+p.schema+`.tables WHERE slot = $1`, p.slot); err != nil {
			return err
		}
		for _, t := range s.Tables {
			if _, err := p.saveTable(ctx, tx, 0, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// saveTable stores t if the owner token is owner, and reports whether it is.
func (p *Postgres) saveTable(ctx context.Context, q execer, owner int64, t Table) (bool, error) {
	nums := slices.Clone(t.AttNums)
	if nums == nil {
		nums = []int16{}
	}
	tag, err := q.Exec(ctx, `INSERT INTO `+p.schema+`.tables (slot, oid, schema, name, filenode, fingerprint, attnums, schema_version)
		SELECT slot, $3::bigint, $4::text, $5::text, $6::bigint, $7::text, $8::int2[], $9::bigint
		FROM `+p.schema+`.state WHERE slot = $1 AND owner = $2 FOR UPDATE
		ON CONFLICT (slot, oid) DO UPDATE SET schema = excluded.schema, name = excluded.name,
		filenode = excluded.filenode, fingerprint = excluded.fingerprint, attnums = excluded.attnums, schema_version = excluded.schema_version`,
		p.slot, owner, int64(t.OID), t.Schema, t.Name, int64(t.Filenode), t.Fingerprint, nums, t.SchemaVersion)
	return tag.RowsAffected() > 0, err
}

// execer is a connection or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Acquire takes the ownership and returns the state, nil if there is none.
func (p *Postgres) Acquire(ctx context.Context) (*State, error) {
	const what = "take the state over"
	if s, err := p.Load(ctx); err != nil || s == nil {
		return nil, err
	}
	conn, err := p.session(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	err = conn.QueryRow(ctx, `UPDATE `+p.schema+`.state SET owner = owner + 1, updated = now() WHERE slot = $1 RETURNING owner`, p.slot).Scan(&p.token)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return p.Load(ctx) // now that the former owner can't write any more
}

// Checkpoint raises the checkpoint to lsn; a lower one leaves it as it is. It
// returns ErrSuperseded if this store isn't the owner.
func (p *Postgres) Checkpoint(ctx context.Context, lsn schema.LSN) error {
	return p.owned(ctx, "store the checkpoint", func(conn *pgx.Conn) (bool, error) {
		tag, err := conn.Exec(ctx, `UPDATE `+p.schema+`.state SET checkpoint = greatest(checkpoint, $3::pg_lsn), updated = now()
			WHERE slot = $1 AND owner = $2`, p.slot, p.token, lsn.String())
		return tag.RowsAffected() > 0, err
	})
}

// SaveTable stores what a table looks like now. It returns ErrSuperseded if this
// store isn't the owner.
func (p *Postgres) SaveTable(ctx context.Context, t Table) error {
	return p.owned(ctx, "store a table's state", func(conn *pgx.Conn) (bool, error) { return p.saveTable(ctx, conn, p.token, t) })
}

// owned runs write, one statement that does nothing if the owner token is
// another one. One statement and no transaction around it: an owner that is
// paused or cut off between two would hold the state's row against its heir for
// as long as the server keeps the session.
func (p *Postgres) owned(ctx context.Context, what string, write func(conn *pgx.Conn) (bool, error)) error {
	if p.token == 0 {
		return fmt.Errorf("%s: %w", what, ErrSuperseded)
	}
	conn, err := p.session(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch ours, err := write(conn); {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case !ours:
		return fmt.Errorf("%s: %w", what, ErrSuperseded)
	}
	return nil
}

// Close closes the connection.
func (p *Postgres) Close(ctx context.Context) error {
	if p.conn == nil {
		return nil
	}
	return p.conn.Close(ctx)
}
