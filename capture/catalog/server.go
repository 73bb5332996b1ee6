package catalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"cdc/schema"
)

// Server is what a server and its database say about themselves.
type Server struct {
	Version           int // server_version_num
	Database          string
	Encoding          string
	InRecovery        bool
	WALLevel          string
	SlotKeepSizeUnset bool // max_slot_wal_keep_size is -1: nothing bounds the WAL that a slot keeps
	Slots, MaxSlots   int
	Senders           int
	MaxSenders        int
	XID               uint64 // the next transaction id, with its epoch
	CanReplicate      bool   // the role has REPLICATION or is a superuser
	CanCreate         bool   // the role may create schemas in the database
}

// ReadServer reads it.
func ReadServer(ctx context.Context, q Querier) (Server, error) {
	var s Server
	var xid int64
	err := q.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_database()::text, current_setting('server_encoding'),
		pg_is_in_recovery(), current_setting('wal_level'), current_setting('max_slot_wal_keep_size') = '-1',
		(SELECT count(*)::int FROM pg_replication_slots), current_setting('max_replication_slots')::int,
		(SELECT count(*)::int FROM pg_stat_replication), current_setting('max_wal_senders')::int,
		pg_snapshot_xmax(pg_current_snapshot())::text::int8,
		(SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user),
		has_database_privilege(current_database(), 'CREATE')`).
		Scan(&s.Version, &s.Database, &s.Encoding, &s.InRecovery, &s.WALLevel, &s.SlotKeepSizeUnset,
			&s.Slots, &s.MaxSlots, &s.Senders, &s.MaxSenders, &xid, &s.CanReplicate, &s.CanCreate)
	if err != nil {
		return Server{}, fmt.Errorf("read the server's settings: %w", err)
	}
	s.XID = uint64(xid)
	return s, nil
}

// ExtendXID returns the 64-bit transaction id whose lower half is xid and that
// is nearest to reference, a recent 64-bit id. Transaction ids that are in use
// at the same time are less than 2^31 apart.
func ExtendXID(xid uint32, reference uint64) uint64 {
	return reference + uint64(int64(int32(xid-uint32(reference))))
}

// Visible reports whether what transaction xid did is visible to the statements
// that follow. A transaction is streamed before that: its commit record is in the
// WAL first.
func Visible(ctx context.Context, q Querier, xid uint64) (visible bool, err error) {
	err = q.QueryRow(ctx, `SELECT pg_visible_in_snapshot($1::text::xid8, pg_current_snapshot())`, strconv.FormatUint(xid, 10)).Scan(&visible)
	if err != nil {
		return false, fmt.Errorf("ask whether a transaction is visible: %w", err)
	}
	return visible, nil
}

// Publication is a publication's row in pg_publication.
type Publication struct {
	Name                             string
	AllTables                        bool
	Insert, Update, Delete, Truncate bool
	ViaRoot                          bool // publish_via_partition_root
}

// ReadPublication reads it; nil if there is none of that name.
func ReadPublication(ctx context.Context, q Querier, name string) (*Publication, error) {
	p := Publication{Name: name}
	err := q.QueryRow(ctx, `SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot
		FROM pg_publication WHERE pubname = $1`, name).
		Scan(&p.AllTables, &p.Insert, &p.Update, &p.Delete, &p.Truncate, &p.ViaRoot)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the publication: %w", err)
	}
	return &p, nil
}

// Slot is a slot's row in pg_replication_slots.
type Slot struct {
	Name           string
	Plugin         string // empty for a physical slot
	Database       string
	Temporary      bool
	TwoPhase       bool
	ActivePID      int // 0 if nobody streams from it
	WALStatus      string
	SafeWALSize    int64 // bytes until the slot may be lost; -1 if unbounded
	ConfirmedFlush schema.LSN
	RestartLSN     schema.LSN
}

// ReadSlot reads it; nil if there is none of that name.
func ReadSlot(ctx context.Context, q Querier, name string) (*Slot, error) {
	s := Slot{Name: name}
	var confirmed, restart string
	err := q.QueryRow(ctx, `SELECT coalesce(plugin::text, ''), coalesce(database::text, ''), temporary, two_phase, coalesce(active_pid, 0),
		coalesce(wal_status, 'lost'), coalesce(safe_wal_size, -1), coalesce(confirmed_flush_lsn, '0/0')::text, coalesce(restart_lsn, '0/0')::text
		FROM pg_replication_slots WHERE slot_name = $1`, name).
		Scan(&s.Plugin, &s.Database, &s.Temporary, &s.TwoPhase, &s.ActivePID, &s.WALStatus, &s.SafeWALSize, &confirmed, &restart)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the slot: %w", err)
	}
	if s.ConfirmedFlush, err = schema.ParseLSN(confirmed); err != nil {
		return nil, fmt.Errorf("read the slot: %w", err)
	}
	if s.RestartLSN, err = schema.ParseLSN(restart); err != nil {
		return nil, fmt.Errorf("read the slot: %w", err)
	}
	return &s, nil
}

// SyncState returns the sync_state of the walsender with this process id, empty
// if it isn't there. The server shows it to members of pg_read_all_stats only;
// for others it is derived from synchronous_standby_names: unknown if that names
// the session's application_name, else async.
func SyncState(ctx context.Context, q Querier, pid uint32) (string, error) {
	var state, names, application string
	err := q.QueryRow(ctx, `SELECT coalesce(sync_state, ''), current_setting('synchronous_standby_names'), current_setting('application_name')
		FROM pg_stat_replication WHERE pid = $1`, int64(pid)).Scan(&state, &names, &application)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read pg_stat_replication: %w", err)
	}
	if state != "" {
		return state, nil
	}
	if NamesStandby(names, application) {
		return "unknown", nil
	}
	return "async", nil
}

// NamesStandby reports whether a value of synchronous_standby_names
// (https://www.postgresql.org/docs/current/runtime-config-replication.html)
// covers a standby of this name: by it, whatever its case, or by *.
func NamesStandby(setting, name string) bool {
	if open := strings.IndexByte(setting, '('); open >= 0 { // FIRST n (…), ANY n (…), n (…)
		setting = strings.TrimRight(strings.TrimSpace(setting[open+1:]), ")")
	}
	for one := range strings.SplitSeq(setting, ",") {
		one = strings.Trim(strings.TrimSpace(one), `"`)
		if one == "*" || strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}
