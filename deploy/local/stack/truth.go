package stack

import (
	"context"
	"fmt"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"cdc/schema"
)

// truthSlot is a second replication slot. What it holds is read after the
// workload with pglogrepl's decoder, not with ours.
const truthSlot = "cdc_demo_truth"

// sourceChange is a committed row change as the second slot tells it.
type sourceChange struct {
	table    string
	key      string // canonical
	op       schema.Op
	position schema.Position // Epoch is left zero: it isn't the source's to tell
}

func createTruthSlot(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, `SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, truthSlot); err != nil {
		return fmt.Errorf("create the second slot: %w", err)
	}
	return nil
}

// committedChanges returns everything that was committed since the slot was
// made, in commit order.
func committedChanges(ctx context.Context, conn *pgx.Conn) ([]sourceChange, error) {
	keys, err := keyColumns(ctx, conn)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT lsn::text, data FROM pg_logical_slot_get_binary_changes($1, NULL, NULL,
		'proto_version', '1', 'publication_names', $2)`, truthSlot, publication)
	if err != nil {
		return nil, fmt.Errorf("read the second slot: %w", err)
	}
	defer rows.Close()
	t := truthReader{keys: keys, relations: map[uint32]*pglogrepl.RelationMessage{}}
	for rows.Next() {
		var lsn string
		var data []byte
		if err := rows.Scan(&lsn, &data); err != nil {
			return nil, fmt.Errorf("read the second slot: %w", err)
		}
		at, err := schema.ParseLSN(lsn)
		if err != nil {
			return nil, err
		}
		if err := t.read(at, data); err != nil {
			return nil, fmt.Errorf("read the second slot at %v: %w", at, err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the second slot: %w", err)
	}
	return t.changes, nil
}

// keyColumns returns the primary key's column names of every table, in the
// order of the index.
func keyColumns(ctx context.Context, conn *pgx.Conn) (map[string][]string, error) {
	rows, err := conn.Query(ctx, `SELECT c.relname, a.attname FROM pg_index i
		JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace
		CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k(attnum, n)
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
		WHERE i.indisprimary ORDER BY c.relname, k.n`)
	if err != nil {
		return nil, fmt.Errorf("read primary keys: %w", err)
	}
	keys := map[string][]string{}
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		keys[table] = append(keys[table], column)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read primary keys: %w", err)
	}
	return keys, nil
}

type truthReader struct {
	keys      map[string][]string
	relations map[uint32]*pglogrepl.RelationMessage
	commit    schema.LSN
	lastLSN   schema.LSN
	index     uint32
	changes   []sourceChange
}

func (t *truthReader) read(at schema.LSN, data []byte) error {
	m, err := pglogrepl.Parse(data)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case *pglogrepl.BeginMessage:
		t.commit, t.lastLSN, t.index = schema.LSN(m.FinalLSN), 0, 0
	case *pglogrepl.RelationMessage:
		t.relations[m.RelationID] = m
	case *pglogrepl.InsertMessage:
		t.add(at, m.RelationID, schema.Create, m.Tuple)
	case *pglogrepl.DeleteMessage:
		t.add(at, m.RelationID, schema.Delete, m.OldTuple)
	case *pglogrepl.UpdateMessage:
		rel := t.relations[m.RelationID]
		if m.OldTuple != nil && t.key(rel, m.OldTuple) != t.key(rel, m.NewTuple) {
			t.add(at, m.RelationID, schema.Delete, m.OldTuple)
			t.add(at, m.RelationID, schema.Create, m.NewTuple)
			return nil
		}
		t.add(at, m.RelationID, schema.Update, m.NewTuple)
	}
	return nil
}

func (t *truthReader) add(at schema.LSN, relation uint32, op schema.Op, tuple *pglogrepl.TupleData) {
	if at != t.lastLSN {
		t.lastLSN, t.index = at, 0
	}
	rel := t.relations[relation]
	t.changes = append(t.changes, sourceChange{
		table: rel.RelationName, key: t.key(rel, tuple), op: op,
		position: schema.Position{CommitLSN: t.commit, ChangeLSN: at, Index: t.index},
	})
	t.index++
}

func (t *truthReader) key(rel *pglogrepl.RelationMessage, tuple *pglogrepl.TupleData) string {
	var key schema.Row
	for _, name := range t.keys[rel.RelationName] {
		for i, c := range rel.Columns {
			if c.Name == name {
				key = append(key, schema.Value{State: schema.Text, Text: tuple.Columns[i].Data})
			}
		}
	}
	return string(schema.AppendKey(nil, key))
}
