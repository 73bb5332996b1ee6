package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/googleapis/gax-go/v2"
	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"cdc/capture/catalog"
	"cdc/capture/state"
	"cdc/schema"
)

// Capture streams one database's changes to a Publisher.
type Capture struct {
	cfg       Config
	publisher Publisher
	phase     phase
	counters  counters
	flight    atomic.Pointer[flight]
	abandoned context.Context // done when nothing will be accepted any more
	abandon   context.CancelFunc
}

// New returns a Capture, or all that is wrong with cfg. It doesn't connect.
func New(cfg Config, publisher Publisher) (*Capture, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Capture{cfg: cfg, publisher: publisher}
	c.abandoned, c.abandon = context.WithCancel(context.Background())
	c.phase.set(WaitingNothing)
	return c, nil
}

// session is what Run has opened: three connections, each with one owner.
type session struct {
	query       *pgx.Conn // the catalog
	replication *pgx.Conn
	store       stateStore
	in          *inspection // the state in it is ours
}

func (s *session) close() {
	closeConn(s.replication)
	closeConn(s.query)
	closeStore(s.store)
}

// Run streams until ctx is cancelled and then returns nil, after what was handed
// on is accepted and confirmed, Config.StopTimeout is over or Abandon is called. Any
// other end is an error; see the package comment. Call it once. The publisher must run until Run
// has returned, and must be stopped at once if Run returns an error.
func (c *Capture) Run(ctx context.Context) error {
	c.phase.set(WaitingSlot)
	defer c.phase.set(WaitingNothing)
	s := &session{store: c.cfg.openState()}
	defer s.close()
	err := c.open(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("capture: %w", wrapSource(err))
	}
	if err := c.stream(ctx, s); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return nil
}

// Abandon says that the publisher has ended and will accept nothing more: when Run
// stops, it confirms what was accepted and doesn't wait. It doesn't stop Run. Any
// goroutine may call it, at any time and more than once.
func (c *Capture) Abandon() { c.abandon() }

// open connects, inspects, gets the slot and takes the state over. While another
// instance holds the slot it waits.
func (c *Capture) open(ctx context.Context, s *session) (err error) {
	if s.query, err = c.cfg.connectPatiently(ctx, false); err != nil {
		return err
	}
	backoff := gax.Backoff{Initial: 100 * time.Millisecond, Max: c.cfg.pace.slotRetryMax, Multiplier: 2}
	for {
		if s.in, err = c.cfg.inspect(ctx, s.query, s.store); err != nil {
			return err
		}
		if err := firstBlocking(s.in.findings); err != nil {
			return err
		}
		err := c.startReplication(ctx, s)
		if err == nil {
			return c.takeOver(ctx, s)
		}
		if sqlState(err) != stateObjectInUse {
			return err
		}
		closeConn(s.replication)
		wait := backoff.Pause()
		c.cfg.Log.InfoContext(ctx, EventSlotInUse, "slot", c.cfg.Slot, "wait_ms", wait.Milliseconds())
		if err := gax.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// startReplication opens the replication connection, compares the lineage and
// starts the stream. The start LSN is 0/0, which means the slot's confirmed LSN:
// the server would silently move a lower one up, and skip what lies below a
// higher one.
func (c *Capture) startReplication(ctx context.Context, s *session) (err error) {
	if s.replication, err = c.cfg.connectPatiently(ctx, true); err != nil {
		return err
	}
	id, err := identify(ctx, s.replication)
	if err != nil {
		return findLost(err)
	}
	if err := firstBlocking(lineage(id, s.in.state)); err != nil {
		return err
	}
	err = pglogrepl.StartReplication(ctx, s.replication.PgConn(), c.cfg.Slot, 0, pglogrepl.StartReplicationOptions{
		Mode: pglogrepl.LogicalReplication,
		PluginArgs: []string{
			"proto_version '1'",
			"publication_names " + quoteLiteral(pgx.Identifier{c.cfg.Publication}.Sanitize()),
			"messages 'true'",
		},
	})
	if err != nil {
		return &Error{cause: err, finding: blocking("start_replication", "see the server's message", "start replication from slot %s", c.cfg.Slot)}
	}
	return nil
}

func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// takeOver makes the state ours now that the slot is, and compares once more:
// the former owner may have moved both since they were inspected.
func (c *Capture) takeOver(ctx context.Context, s *session) error {
	acquiring, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	st, err := s.store.Acquire(acquiring)
	if err != nil {
		return wrapState(err)
	}
	slot, err := catalog.ReadSlot(ctx, s.query, c.cfg.Slot)
	if err != nil {
		return findLost(err)
	}
	if st == nil || !st.Complete() || slot == nil {
		return &Error{finding: findNotInitialized("state or slot were removed while cdc-publisher was starting")}
	}
	if slot.ConfirmedFlush > st.Checkpoint {
		return &Error{finding: findSlotAdvanced(slot.ConfirmedFlush, st.Checkpoint)}
	}
	s.in.state, s.in.slot = st, slot
	var changed []Finding
	changed, s.in.rewritten = c.cfg.compare(st.Tables, s.in.published)
	if err := firstBlocking(changed); err != nil {
		return err
	}
	return checkAsync(ctx, s.query, s.replication.PgConn().PID())
}

// knownTables returns the captured tables by oid, as the stored state describes
// them.
func (c *Capture) knownTables(in *inspection) (map[uint32]*known, error) {
	source := schema.Source{Database: c.cfg.Database, DB: in.server.Database, SystemID: in.state.SystemID}
	tables := make(map[uint32]*known, len(in.state.Tables))
	for _, t := range c.cfg.captured(in.published) {
		i := slices.IndexFunc(in.state.Tables, func(st state.Table) bool { return st.OID == t.OID })
		if i < 0 {
			return nil, &Error{finding: findTableAdded(t)}
		}
		described, err := t.Describe(source, in.state.Tables[i].SchemaVersion)
		if err != nil {
			return nil, &Error{cause: err, finding: blocking("table_unusable", "leave the table out of tables and publication", "describe table %s", t)}
		}
		tables[t.OID] = &known{live: t, table: described}
	}
	return tables, nil
}

// isLost reports whether err means that nothing may be confirmed any more.
func isLost(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.lost
}
