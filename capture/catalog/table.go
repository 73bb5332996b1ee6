package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"cdc/schema"
)

// The values of pg_class.relreplident.
const (
	IdentityDefault = "d"
	IdentityNothing = "n"
	IdentityFull    = "f"
	IdentityIndex   = "i"
)

// Table is what the catalog says about a table at one moment.
type Table struct {
	OID             uint32
	Schema          string
	Name            string
	Kind            string // pg_class.relkind: r or p
	Persistence     string // pg_class.relpersistence: p or u
	ReplicaIdentity string // pg_class.relreplident
	Filenode        uint32 // changes with every rewrite, VACUUM FULL too; 0 for a partitioned table
	Filtered        bool   // published with a row filter or a column list

	// Fingerprint changes whenever the meaning of the table's rows may have
	// changed, or rows may have been written that weren't published: it covers
	// kind, identity, every pg_attribute row with its xmin, dropped ones too, a
	// partitioned table's leaves with their filenodes and the xmin of their
	// attachment, and the publication's xmin with what makes the table part of
	// it. Taken out and put back again, a table or a leaf has another one.
	Fingerprint string

	// Columns are the columns that are streamed: neither dropped nor generated,
	// in the order of their number, which is that of the wire.
	Columns []Column
	// Key has the indexes into Columns of the usable identity in index order. It
	// is empty if there is none: no valid, immediate, non-partial unique index
	// on plain NOT NULL columns that is the replica identity (under REPLICA
	// IDENTITY FULL: that is the primary key).
	Key []int
}

// Column is one streamed column.
type Column struct {
	Name    string
	Type    string // format_type, a domain as its base type
	TypeOID uint32 // the column's own type, a domain as itself, as RELATION has it
	TypeMod int32
	AttNum  int16
}

// AttNums returns the numbers of the columns.
func (t *Table) AttNums() []int16 {
	nums := make([]int16, len(t.Columns))
	for i, c := range t.Columns {
		nums[i] = c.AttNum
	}
	return nums
}

// String returns schema.name.
func (t *Table) String() string { return t.Schema + "." + t.Name }

// Describe returns t as the encoder needs it, with its schema version.
func (t *Table) Describe(source schema.Source, version int64) (*schema.Table, error) {
	d := schema.Table{Source: source, Schema: t.Schema, Name: t.Name, Key: t.Key, Version: version}
	for _, c := range t.Columns {
		d.Columns = append(d.Columns, schema.Column{Name: c.Name, Type: c.Type, AttNum: c.AttNum})
	}
	return schema.NewTable(d)
}

// tablesSQL follows a CTE scope(relid). Domains are followed to their base type,
// whose modifier is that of the innermost domain.
const tablesSQL = `, domains(oid, base, typmod) AS (
	SELECT oid, typbasetype, typtypmod FROM pg_type WHERE typtype = 'd'
	UNION ALL
	SELECT d.oid, t.typbasetype, t.typtypmod FROM domains d JOIN pg_type t ON t.oid = d.base AND t.typtype = 'd'
), bases AS (
	SELECT d.* FROM domains d JOIN pg_type t ON t.oid = d.base AND t.typtype <> 'd'
), columns AS (
	SELECT a.attrelid,
		array_agg(a.attname::text ORDER BY a.attnum) AS names,
		array_agg(format_type(coalesce(b.base, a.atttypid), CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE b.typmod END) ORDER BY a.attnum) AS types,
		array_agg(a.atttypid::int8 ORDER BY a.attnum) AS typeoids,
		array_agg(a.atttypmod ORDER BY a.attnum) AS typmods,
		array_agg(a.attnum ORDER BY a.attnum) AS attnums
	FROM pg_attribute a JOIN scope s ON s.relid = a.attrelid LEFT JOIN bases b ON b.oid = a.atttypid
	WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
	GROUP BY a.attrelid
), keys AS (
	SELECT i.indrelid, array_agg(k.attnum ORDER BY k.ord) AS attnums
	FROM pg_index i JOIN scope s ON s.relid = i.indrelid JOIN pg_class c ON c.oid = i.indrelid
		CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, ord)
		LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
	WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND k.ord <= i.indnkeyatts
		AND CASE c.relreplident WHEN 'i' THEN i.indisreplident WHEN 'n' THEN false ELSE i.indisprimary END
	GROUP BY i.indexrelid, i.indrelid
	HAVING bool_and(k.attnum > 0 AND a.attnotnull AND a.attgenerated = '')
), attributes AS (
	SELECT a.attrelid, string_agg(concat_ws(',', a.attnum, quote_ident(a.attname), a.atttypid, a.atttypmod, a.attnotnull,
		a.attisdropped, a.attgenerated, a.xmin), ';' ORDER BY a.attnum) AS text
	FROM pg_attribute a JOIN scope s ON s.relid = a.attrelid WHERE a.attnum > 0 GROUP BY a.attrelid
), leaves AS (
	SELECT c.oid, string_agg(concat_ws(',', l.oid, l.relfilenode, i.xmin), ';' ORDER BY l.oid) AS text
	FROM scope s JOIN pg_class c ON c.oid = s.relid AND c.relkind = 'p', pg_partition_tree(c.oid) p JOIN pg_class l ON l.oid = p.relid
		LEFT JOIN pg_inherits i ON i.inhrelid = l.oid
	GROUP BY c.oid
), memberships AS (
	SELECT c.oid, concat_ws(',', p.oid, p.xmin, coalesce(r.oid, 0), coalesce(ns.oid, 0)) AS text
	FROM scope s JOIN pg_class c ON c.oid = s.relid JOIN pg_publication p ON p.pubname = $1
		LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
		LEFT JOIN pg_publication_namespace ns ON ns.pnpubid = p.oid AND ns.pnnspid = c.relnamespace
)
SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text, c.relreplident::text, c.relfilenode::int8,
	EXISTS (SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
		WHERE r.prrelid = c.oid AND p.pubname = $1 AND (r.prqual IS NOT NULL OR r.prattrs IS NOT NULL)),
	encode(sha256(convert_to(concat_ws('|', c.relkind, c.relreplident, c.relpersistence, k.attnums::text, a.text, l.text, m.text), 'UTF8')), 'hex'),
	coalesce(co.names, '{}'), coalesce(co.types, '{}'), coalesce(co.typeoids, '{}'), coalesce(co.typmods, '{}'),
	coalesce(co.attnums, '{}'), coalesce(k.attnums, '{}')
FROM scope s JOIN pg_class c ON c.oid = s.relid JOIN pg_namespace n ON n.oid = c.relnamespace
	LEFT JOIN columns co ON co.attrelid = c.oid LEFT JOIN keys k ON k.indrelid = c.oid
	LEFT JOIN attributes a ON a.attrelid = c.oid LEFT JOIN leaves l ON l.oid = c.oid LEFT JOIN memberships m ON m.oid = c.oid
ORDER BY n.nspname, c.relname`

// Published returns the tables of a publication.
func Published(ctx context.Context, q Querier, publication string) ([]*Table, error) {
	return load(ctx, q, publication, `WITH RECURSIVE scope AS (
	SELECT c.oid AS relid FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname
		JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
	WHERE p.pubname = $1
)`+tablesSQL)
}

// All returns the database's tables, partitioned ones by their root only,
// without temporary ones and those of the system.
func All(ctx context.Context, q Querier, publication string) ([]*Table, error) {
	return load(ctx, q, publication, `WITH RECURSIVE scope AS (
	SELECT c.oid AS relid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
		AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
)`+tablesSQL)
}

// One returns the table with this oid, nil if there is none.
func One(ctx context.Context, q Querier, publication string, oid uint32) (*Table, error) {
	tables, err := load(ctx, q, publication, `WITH RECURSIVE scope AS (SELECT $2::int8::oid AS relid)`+tablesSQL, int64(oid))
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	return tables[0], nil
}

func load(ctx context.Context, q Querier, publication, sql string, args ...any) ([]*Table, error) {
	rows, err := q.Query(ctx, sql, append([]any{publication}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read tables from the catalog: %w", err)
	}
	tables, err := pgx.CollectRows(rows, scanTable)
	if err != nil {
		return nil, fmt.Errorf("read tables from the catalog: %w", err)
	}
	return tables, nil
}

func scanTable(row pgx.CollectableRow) (*Table, error) {
	var (
		t            Table
		oid, node    int64
		names, types []string
		oids         []int64
		mods         []int32
		nums, key    []int16
	)
	err := row.Scan(&oid, &t.Schema, &t.Name, &t.Kind, &t.Persistence, &t.ReplicaIdentity, &node, &t.Filtered, &t.Fingerprint,
		&names, &types, &oids, &mods, &nums, &key)
	if err != nil {
		return nil, err
	}
	t.OID, t.Filenode = uint32(oid), uint32(node)
	for i := range names {
		t.Columns = append(t.Columns, Column{names[i], types[i], uint32(oids[i]), mods[i], nums[i]})
	}
	for _, num := range key {
		t.Key = append(t.Key, slices.Index(nums, num))
	}
	return &t, nil
}
