package capture

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"cdc/capture/state"
	"cdc/schema"
)

// identity is what IDENTIFY_SYSTEM answers
// (https://www.postgresql.org/docs/current/protocol-replication.html).
type identity struct {
	systemID string
	timeline int64
	walEnd   schema.LSN
}

func identify(ctx context.Context, conn *pgx.Conn) (identity, error) {
	r, err := pglogrepl.IdentifySystem(ctx, conn.PgConn())
	if err != nil {
		return identity{}, fmt.Errorf("identify system: %w", err)
	}
	return identity{r.SystemID, int64(r.Timeline), schema.LSN(r.XLogPos)}, nil
}

// lineage finds whether the server isn't the one, or no longer the same history,
// that the state was written for. A checkpoint that is kept in the source is
// written after the LSN that it names, so it proves nothing after a failover.
func lineage(id identity, st *state.State) []Finding {
	switch {
	case id.systemID != st.SystemID:
		return []Finding{blocking("another_system", startAnew,
			"the server's system identifier is %s, the state was written for %s: it is another cluster", id.systemID, st.SystemID)}
	case id.timeline != st.Timeline:
		return []Finding{blocking("another_timeline", startAnew,
			"the server is on timeline %d, the state was written on %d: there was a failover, and changes that were published may not exist there", id.timeline, st.Timeline)}
	case id.walEnd < st.Checkpoint:
		return []Finding{blocking("wal_behind_checkpoint", startAnew,
			"the server's WAL ends at %s, before the checkpoint %s: it lost WAL or was restored", id.walEnd, st.Checkpoint)}
	default:
		return nil
	}
}

func (c *Config) checkLineage(ctx context.Context, st *state.State) ([]Finding, error) {
	conn, err := c.connect(ctx, true)
	if err != nil {
		return nil, wrapConnect(err)
	}
	defer closeConn(conn)
	id, err := identify(ctx, conn)
	if err != nil {
		return nil, err
	}
	return lineage(id, st), nil
}

// closeTimeout bounds a polite end; what doesn't answer is dropped.
const closeTimeout = 2 * time.Second

func closeConn(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

func closeStore(s stateStore) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.Close(ctx)
}
