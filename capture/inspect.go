package capture

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"cdc/capture/catalog"
	"cdc/capture/state"
)

// minimumVersion is Postgres 15, the first with the slot and publication syntax
// that is used here.
const minimumVersion = 150000

// inspection is what the source and the state said at one moment, and what of
// it is wrong.
type inspection struct {
	server      catalog.Server
	slot        *catalog.Slot
	publication *catalog.Publication
	published   []*catalog.Table
	state       *state.State // nil if there is none
	rewritten   []state.Table
	findings    []Finding
}

func (in *inspection) find(f ...Finding) { in.findings = append(in.findings, f...) }

// inspect looks at everything that could make the stream wrong or incomplete.
// The slot is read before the state: an instance that is running now raises the
// checkpoint first, so the slot as read is never above a good checkpoint.
func (c *Config) inspect(ctx context.Context, q *pgx.Conn, store stateStore) (*inspection, error) {
	in := &inspection{}
	var err error
	if in.server, err = catalog.ReadServer(ctx, q); err != nil {
		return nil, err
	}
	c.inspectServer(in)
	if in.server.Version < minimumVersion {
		return in, nil // its catalog hasn't got what is asked for below
	}
	if in.slot, err = catalog.ReadSlot(ctx, q, c.Slot); err != nil {
		return nil, err
	}
	if in.state, err = store.Load(ctx); err != nil {
		return nil, wrapState(err)
	}
	c.inspectSlot(in)
	// The publication is read after its tables: if it goes meanwhile, that is what
	// is found, and not that the tables are gone.
	if in.published, err = catalog.Published(ctx, q, c.Publication); err != nil {
		return nil, err
	}
	if in.publication, err = catalog.ReadPublication(ctx, q, c.Publication); err != nil {
		return nil, err
	}
	all, err := catalog.All(ctx, q, c.Publication)
	if err != nil {
		return nil, err
	}
	c.inspectPublication(in)
	c.inspectTables(in, all)
	return in, nil
}

func (c *Config) inspectServer(in *inspection) {
	s := in.server
	if s.Version < minimumVersion {
		in.find(blocking("server_version", "upgrade to Postgres 15 or newer", "server version %d is older than 15", s.Version))
	}
	if s.InRecovery {
		in.find(blocking("server_in_recovery", "let source.dsn lead to the primary (target_session_attrs=read-write with several hosts)", "the server is a standby"))
	}
	if s.WALLevel != "logical" {
		in.find(blocking("wal_level", "ALTER SYSTEM SET wal_level = logical, then restart the server", "wal_level is %s", s.WALLevel))
	}
	if s.Encoding == "SQL_ASCII" {
		in.find(blocking("server_encoding", "convert the database to UTF8", "the database's encoding is SQL_ASCII: its text may not be UTF-8"))
	}
	if !s.CanReplicate {
		in.find(blocking("role_replication", "ALTER ROLE … REPLICATION (managed services: grant their replication role)", "the role may not use replication"))
	}
	if s.SlotKeepSizeUnset {
		in.find(Finding{
			Code: "slot_keep_size_unset", Problem: "max_slot_wal_keep_size is unset: nothing bounds the WAL that is kept while cdc-publisher is down",
			Fix: "ALTER SYSTEM SET max_slot_wal_keep_size to what the disk has to spare, then SELECT pg_reload_conf()",
		})
	}
}

func (c *Config) inspectSlot(in *inspection) {
	s, st := in.slot, in.state
	if st == nil || !st.Complete() {
		in.find(findNotInitialized("no complete state is stored for slot " + c.Slot))
	} else if st.Database != in.server.Database {
		in.find(blocking("another_database", "let source.dsn lead to that database, or use another slot and state",
			"the stored state belongs to database %s, not %s", st.Database, in.server.Database))
	}
	switch {
	case s == nil && st != nil && st.Complete():
		in.find(blocking("slot_missing", startAnew, "slot %s is gone: changes since %s weren't published", c.Slot, st.Checkpoint))
	case s == nil:
		in.find(findNotInitialized("slot " + c.Slot + " doesn't exist"))
	case s.Plugin != "pgoutput" || s.Database != in.server.Database || s.Temporary || s.TwoPhase:
		in.find(blocking("slot_unusable", "drop it and run cdc-publisher init, or configure another name",
			"slot %s isn't one of ours: plugin %q, database %q, temporary %t, two_phase %t", c.Slot, s.Plugin, s.Database, s.Temporary, s.TwoPhase))
	case s.WALStatus == "lost":
		in.find(blocking("slot_lost", startAnew, "slot %s is lost: the server removed WAL that it needed", c.Slot))
	case st != nil && st.Complete() && s.ConfirmedFlush > st.Checkpoint:
		in.find(findSlotAdvanced(s.ConfirmedFlush, st.Checkpoint))
	}
	if s == nil && in.server.Slots >= in.server.MaxSlots {
		in.find(blocking("no_free_slot", "raise max_replication_slots, or drop a slot that isn't used", "all %d replication slots are in use", in.server.MaxSlots))
	}
	if (s == nil || s.ActivePID == 0) && in.server.Senders >= in.server.MaxSenders {
		in.find(blocking("no_free_sender", "raise max_wal_senders", "all %d walsenders are in use", in.server.MaxSenders))
	}
}

func (c *Config) inspectPublication(in *inspection) {
	p := in.publication
	if p == nil {
		fix := "run cdc-publisher init"
		if in.slot != nil { // it can't decode what was written before the publication
			fix = startAnew
		}
		in.find(blocking("publication_missing", fix, "publication %s doesn't exist", c.Publication))
		return
	}
	if !p.Insert || !p.Update || !p.Delete || !p.Truncate || !p.ViaRoot {
		in.find(blocking("publication_flags", "ALTER PUBLICATION "+c.Publication+" SET (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)",
			"publication %s doesn't publish everything: insert %t, update %t, delete %t, truncate %t, via partition root %t",
			c.Publication, p.Insert, p.Update, p.Delete, p.Truncate, p.ViaRoot))
	}
}

func (c *Config) inspectTables(in *inspection, all []*catalog.Table) {
	if in.publication == nil {
		return
	}
	if in.state != nil && in.state.Complete() {
		var changed []Finding
		changed, in.rewritten = c.compare(in.state.Tables, in.published)
		in.find(changed...)
	}
	for _, t := range c.captured(in.published) {
		in.find(c.unusable(t)...)
	}
	in.find(c.unpublished(in.published, all)...)
}

// unpublished finds what is configured and not published.
func (c *Config) unpublished(published, all []*catalog.Table) []Finding {
	is := map[uint32]bool{}
	for _, t := range published {
		is[t.OID] = true
	}
	var findings []Finding
	for _, t := range c.captured(all) {
		if !is[t.OID] {
			findings = append(findings, findNotPublished("table "+t.String(), c.Publication))
		}
	}
	for _, r := range c.Tables {
		named := func(t *catalog.Table) bool { return matches(r.Match, t.String()) }
		if !strings.Contains(r.Match, "*") && !slices.ContainsFunc(all, named) && !slices.ContainsFunc(published, named) {
			findings = append(findings, findNotPublished(fmt.Sprintf("tables entry %s, which doesn't exist,", r.Match), c.Publication))
		}
	}
	return findings
}

// unusable finds why a table's changes can't be carried.
func (c *Config) unusable(t *catalog.Table) []Finding {
	var findings []Finding
	if t.Persistence != "p" {
		findings = append(findings, findUnlogged(t))
	}
	if len(t.Key) == 0 {
		findings = append(findings, findNoIdentity(t))
	}
	if t.Filtered {
		findings = append(findings, findFiltered(t, c.Publication))
	}
	return findings
}

// Check connects and returns everything that keeps capture from running or
// endangers it, each with what to do. It changes nothing. An error means that
// it couldn't look.
func Check(ctx context.Context, cfg Config) ([]Finding, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	conn, err := cfg.connect(ctx, false)
	if err != nil {
		return nil, wrapConnect(err)
	}
	defer closeConn(conn)
	store := cfg.openState()
	defer closeStore(store)
	in, err := cfg.inspect(ctx, conn, store)
	if err != nil {
		return nil, fmt.Errorf("check the source: %w", wrapSource(err))
	}
	if in.server.CanReplicate && in.state != nil && in.state.Complete() {
		f, err := cfg.checkLineage(ctx, in.state)
		if err != nil {
			return nil, fmt.Errorf("check the source: %w", wrapSource(err))
		}
		in.find(f...)
	}
	return in.findings, nil
}
