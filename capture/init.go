package capture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"cdc/capture/catalog"
	"cdc/capture/state"
	"cdc/schema"
)

// Init makes what Run needs, in this order: the publication (one that is made
// after the slot makes older WAL undecodable on 15), the state with the mere
// intention, the slot, the complete state. It returns what it did; a second run
// does nothing and returns nothing. It may be interrupted anywhere and repeated.
// The role has to own the tables (or the publication has to be there already),
// to have REPLICATION, and CREATE on the database for the state's schema.
//
// Tables that hold rows already are refused, looked at in the slot's own
// snapshot, unless their rule says SnapshotNone.
func Init(ctx context.Context, cfg Config) (did []string, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := cfg.connect(ctx, false)
	if err != nil {
		return nil, wrapConnect(err)
	}
	defer closeConn(conn)
	i := initializer{cfg: &cfg, conn: conn, store: cfg.openState()}
	defer closeStore(i.store)
	if err := i.run(ctx); err != nil {
		return i.did, fmt.Errorf("init: %w", wrapSource(err))
	}
	return i.did, nil
}

type initializer struct {
	cfg   *Config
	conn  *pgx.Conn
	store stateStore
	did   []string
}

func (i *initializer) note(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	i.cfg.Log.Info(EventInit, "did", what)
	i.did = append(i.did, what)
}

// run decides by what is there.
func (i *initializer) run(ctx context.Context) error {
	in, err := i.cfg.inspect(ctx, i.conn, i.store)
	if err != nil {
		return err
	}
	if in.state != nil && in.state.Complete() {
		return firstBlocking(in.findings) // what is there has to be right
	}
	var server []Finding
	for _, f := range in.findings {
		switch f.Code {
		case "not_initialized", "publication_missing", "publication_flags", "table_not_published", "no_free_sender":
		default:
			server = append(server, f)
		}
	}
	if in.slot != nil && in.state == nil {
		server = append(server, blocking("slot_without_state", "restore the state that belongs to it, or drop the slot and run cdc-publisher init again",
			"slot %s exists, but no state says what of it was published", i.cfg.Slot))
	}
	if err := firstBlocking(server); err != nil {
		return err
	}
	if err := i.publication(ctx, in); err != nil {
		return err
	}
	return i.slotAndState(ctx, in)
}

// publication makes the publication or adds the configured tables to it.
func (i *initializer) publication(ctx context.Context, in *inspection) error {
	all, err := catalog.All(ctx, i.conn, i.cfg.Publication)
	if err != nil {
		return err
	}
	tables := i.cfg.captured(all)
	var findings []Finding
	for _, t := range tables {
		findings = append(findings, i.cfg.unusable(t)...)
	}
	if err := firstBlocking(findings); err != nil {
		return err // publishing them would make the application's UPDATE and DELETE fail
	}
	published := map[uint32]bool{}
	for _, t := range in.published {
		published[t.OID] = true
	}
	var missing []string
	for _, t := range tables {
		if !published[t.OID] {
			missing = append(missing, pgx.Identifier{t.Schema, t.Name}.Sanitize())
		}
	}
	name := pgx.Identifier{i.cfg.Publication}.Sanitize()
	list := strings.Join(missing, ", ")
	const flags = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
	p := in.publication
	switch {
	case p == nil && len(missing) == 0:
		return &Error{finding: blocking("no_tables", "create the tables first, or correct the configuration's tables", "no table matches the configuration's tables")}
	case p == nil:
		return i.execute(ctx, "CREATE PUBLICATION "+name+" FOR TABLE "+list+" WITH ("+flags+")")
	case !p.Insert || !p.Update || !p.Delete || !p.Truncate || !p.ViaRoot:
		if err := i.execute(ctx, "ALTER PUBLICATION "+name+" SET ("+flags+")"); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return i.execute(ctx, "ALTER PUBLICATION "+name+" ADD TABLE "+list)
	}
	return nil
}

func (i *initializer) execute(ctx context.Context, sql string) error {
	if _, err := i.conn.Exec(ctx, sql); err != nil {
		return &Error{cause: err, finding: blocking("publication_rights", "let the owner of the tables do it: "+sql, "make the publication")}
	}
	i.note("%s", sql)
	return nil
}

// slotAndState makes the slot between an intention and a complete state, so that
// a half-made slot is known as ours and made anew.
func (i *initializer) slotAndState(ctx context.Context, in *inspection) error {
	replication, err := i.cfg.connect(ctx, true)
	if err != nil {
		return wrapConnect(err)
	}
	defer closeConn(replication)
	id, err := identify(ctx, replication)
	if err != nil {
		return err
	}
	made, err := i.store.Prepare(ctx)
	if err != nil {
		return wrapState(err)
	}
	for _, what := range made {
		i.note("create %s", what)
	}
	var before uint32
	if in.state != nil {
		before = in.state.Epoch
	}
	st := &state.State{
		SystemID: id.systemID, Timeline: id.timeline, Database: in.server.Database,
		// A state that was restored can't issue an epoch twice.
		Epoch: max(before+1, uint32(time.Now().Unix())),
	}
	if err := i.store.Put(ctx, st); err != nil {
		return wrapState(err)
	}
	if in.slot != nil { // half made by an init that was interrupted
		if err := i.dropSlot(ctx); err != nil {
			return err
		}
		i.note("drop half-made slot %s", i.cfg.Slot)
	}
	if err := i.slot(ctx, replication, st); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		closeConn(replication)
		return errors.Join(wrapSource(err), wrapSource(i.dropSlot(cleanup)))
	}
	i.note("create slot %s at %s", i.cfg.Slot, st.Checkpoint)
	i.note("store state, epoch %d", st.Epoch)
	return nil
}

// dropSlot drops the slot if it is there.
func (i *initializer) dropSlot(ctx context.Context) error {
	_, err := i.conn.Exec(ctx, `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`, i.cfg.Slot)
	if err != nil {
		return fmt.Errorf("drop the half-made slot: %w", err)
	}
	return nil
}

// slot makes the slot, looks at the tables in its snapshot, and stores the
// complete state.
func (i *initializer) slot(ctx context.Context, conn *pgx.Conn, st *state.State) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return fmt.Errorf("create the slot: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	i.cfg.Log.InfoContext(ctx, EventWaitSnapshot, "slot", i.cfg.Slot)
	var name, point, snapshot, plugin *string
	err = tx.QueryRow(ctx, "CREATE_REPLICATION_SLOT "+i.cfg.Slot+" LOGICAL pgoutput (SNAPSHOT 'use')").Scan(&name, &point, &snapshot, &plugin)
	if err != nil || point == nil {
		return fmt.Errorf("create the slot: %w", err)
	}
	if st.Checkpoint, err = schema.ParseLSN(*point); err != nil {
		return fmt.Errorf("create the slot: %w", err)
	}
	published, err := catalog.Published(ctx, tx, i.cfg.Publication)
	if err != nil {
		return err
	}
	var findings []Finding
	for _, t := range i.cfg.captured(published) {
		findings = append(findings, i.cfg.unusable(t)...)
		st.Tables = append(st.Tables, stored(t, 1))
	}
	if err := firstBlocking(findings); err != nil {
		return err
	}
	if err := i.refuseRows(ctx, tx, published); err != nil {
		return err
	}
	return wrapState(i.store.Put(ctx, st))
}

// refuseRows returns an error that names the tables that hold rows in tx's
// snapshot.
func (i *initializer) refuseRows(ctx context.Context, tx pgx.Tx, published []*catalog.Table) error {
	var full []string
	for _, t := range i.cfg.captured(published) {
		if i.cfg.rule(t.Schema, t.Name).SnapshotNone {
			continue
		}
		only := "ONLY "
		if t.Kind == "p" {
			only = ""
		}
		var rows bool
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+only+pgx.Identifier{t.Schema, t.Name}.Sanitize()+")").Scan(&rows)
		if err != nil {
			return &Error{cause: err, finding: blocking("table_rights", "GRANT SELECT ON "+t.String()+" to the role", "look for rows in table %s", t)}
		}
		if rows {
			full = append(full, t.String())
		}
	}
	if len(full) > 0 {
		return &Error{finding: findExistingRows(full)}
	}
	return nil
}
