package capture

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"cdc/capture/catalog"
	"cdc/capture/state"
)

// watch polls the catalog for what sends no message, and is the first to notice
// that the server shuts down: a fast shutdown ends its session at once, but
// waits for the replication connection for as long as that one is open.
type watch struct {
	cfg       *Config
	conn      *pgx.Conn
	senderPID uint32
	known     []state.Table
	rewritten func([]state.Table)
	requests  chan question
	xid       atomic.Uint64 // a recent 64-bit transaction id
}

func newWatch(cfg *Config, conn *pgx.Conn, senderPID uint32, known []state.Table, rewritten func([]state.Table), xid uint64) *watch {
	w := &watch{cfg: cfg, conn: conn, senderPID: senderPID, known: known, rewritten: rewritten, requests: make(chan question)}
	w.xid.Store(xid)
	return w
}

// lookTimeout bounds one look at the catalog; a server that needs longer is lost.
const lookTimeout = 30 * time.Second

// visibleEvery is how often it is asked whether a transaction is visible yet.
const visibleEvery = 5 * time.Millisecond

// question asks for a look at one table.
type question struct {
	oid    uint32
	xid    uint64     // the look counts once this transaction is visible to it
	answer chan error // nil: the zero question, nobody asked
}

// check has a table looked at, as transaction xid left it, and returns what the
// look found. It is called from another goroutine than run's.
func (w *watch) check(ctx context.Context, oid uint32, xid uint64) error {
	q := question{oid, xid, make(chan error, 1)}
	select {
	case w.requests <- q:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-q.answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run looks at the whole catalog at once, every so often, and at one table when asked,
// until ctx is cancelled (it returns nil) or a look finds what stops the stream.
func (w *watch) run(ctx context.Context) error {
	next := time.Now()
	for {
		asked, err := w.idle(ctx, time.Until(next))
		if err == nil && asked.answer != nil {
			err = w.lookAt(ctx, asked)
		} else if err == nil {
			err = w.look(ctx)
			next = time.Now().Add(w.cfg.pace.pollEvery)
		}
		if ctx.Err() != nil {
			return nil
		}
		if asked.answer != nil {
			asked.answer <- err
		}
		if err != nil {
			return err
		}
	}
}

// idle waits until the next look or a question, reading from the connection
// meanwhile, so that its end is noticed at once.
func (w *watch) idle(ctx context.Context, limit time.Duration) (asked question, err error) {
	waiting, stop := context.WithTimeout(ctx, limit)
	var asking sync.WaitGroup
	asking.Go(func() {
		select {
		case asked = <-w.requests:
			stop()
		case <-waiting.Done():
		}
	})
	for err == nil && waiting.Err() == nil {
		_, err = w.conn.WaitForNotification(waiting)
	}
	stop()
	asking.Wait()
	if w.conn.IsClosed() {
		return asked, findLost(fmt.Errorf("watch the catalog: %w", err))
	}
	return asked, nil
}

// awaitVisible waits until transaction xid is visible. With a synchronous standby
// that may take as long as the application's own COMMIT.
func (w *watch) awaitVisible(ctx context.Context, xid uint64) error {
	tick := time.NewTicker(visibleEvery)
	defer tick.Stop()
	for {
		visible, err := catalog.Visible(ctx, w.conn, xid)
		if err != nil {
			return findLost(err)
		}
		if visible {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lookAt compares one table with what it was. Before the transaction that is on
// the stream is visible the catalog still shows the table as it was before it.
func (w *watch) lookAt(ctx context.Context, asked question) error {
	if err := w.awaitVisible(ctx, asked.xid); err != nil {
		return err
	}
	oid := asked.oid
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	i := slices.IndexFunc(w.known, func(t state.Table) bool { return t.OID == oid })
	if i < 0 {
		return nil
	}
	var is []*catalog.Table
	switch t, err := catalog.One(ctx, w.conn, w.cfg.Publication, oid); {
	case err != nil:
		return findLost(err)
	case t != nil:
		is = append(is, t)
	}
	changed, _ := w.cfg.compare(w.known[i:i+1], is)
	return firstBlocking(changed)
}

// look compares the source with what it was.
func (w *watch) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	server, err := catalog.ReadServer(ctx, w.conn)
	if err != nil {
		return findLost(err)
	}
	w.xid.Store(server.XID)
	if err := checkAsync(ctx, w.conn, w.senderPID); err != nil {
		return err
	}
	in := &inspection{server: server}
	if in.published, err = catalog.Published(ctx, w.conn, w.cfg.Publication); err != nil {
		return findLost(err)
	}
	if in.publication, err = catalog.ReadPublication(ctx, w.conn, w.cfg.Publication); err != nil {
		return findLost(err)
	}
	w.cfg.inspectPublication(in) // read after its tables, see inspect
	changed, rewritten := w.cfg.compare(w.known, in.published)
	in.find(changed...)
	for _, t := range w.cfg.captured(in.published) {
		in.find(w.cfg.unusable(t)...)
	}
	if err := firstBlocking(in.findings); err != nil {
		return err
	}
	if len(rewritten) > 0 {
		w.note(ctx, rewritten)
	}
	return nil
}

// note remembers tables whose storage alone is new.
func (w *watch) note(ctx context.Context, rewritten []state.Table) {
	for _, t := range rewritten {
		w.cfg.Log.WarnContext(ctx, EventRewritten, "table", t.Schema+"."+t.Name)
		for i := range w.known {
			if w.known[i].OID == t.OID {
				w.known[i] = t
			}
		}
	}
	w.rewritten(rewritten)
}

// checkAsync refuses to be a synchronous standby: the application's commits
// would wait for our confirming, and our checkpoint for itself.
func checkAsync(ctx context.Context, q catalog.Querier, pid uint32) error {
	sync, err := catalog.SyncState(ctx, q, pid)
	if err != nil {
		return findLost(err)
	}
	if sync == "" || sync == "async" {
		return nil
	}
	return &Error{finding: blocking("synchronous_standby",
		"name the real standbys in synchronous_standby_names instead of *, or take application_name of cdc-publisher out of it",
		"the server treats cdc-publisher as a synchronous standby (sync_state %s)", sync)}
}
