package tables

import (
	"slices"
	"strings"

	"cloud.google.com/go/bigquery"

	"cdc/schema"
)

const (
	maxKeyColumns     = 16 // https://cloud.google.com/bigquery/docs/primary-foreign-keys
	maxClusterColumns = 4  // https://cloud.google.com/bigquery/docs/clustered-tables
	maxTableColumns   = 2000
)

// Column is one column of a destination table.
type Column struct {
	Name     string
	Type     Type
	Repeated bool
}

// Destination is a BigQuery table as one schema.Table wants it.
type Destination struct {
	Project, Dataset, Name string
	Columns                []Column // the source's in its order, then PositionColumn and CommitTimeColumn
	Key                    []string // the primary key, in the order of the index
	Cluster                []string
}

// Path returns the table's resource name, projects/P/datasets/D/tables/T.
func (d *Destination) Path() string {
	return "projects/" + d.Project + "/datasets/" + d.Dataset + "/tables/" + d.Name
}

// Covers reports whether rows that want other can be written with d: it has all
// of its columns, with the same types, and the same key.
func (d *Destination) Covers(other *Destination) bool {
	for _, c := range other.Columns {
		if !slices.Contains(d.Columns, c) {
			return false
		}
	}
	return d.Path() == other.Path() && slices.Equal(d.Key, other.Key)
}

// plan says what the destination of t must look like, or why there can be none.
func plan(cfg Config, t *schema.Table) (*Destination, error) {
	name, err := tableName(cfg.Template, t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case len(t.Key) == 0:
		return nil, refuse("table_without_key", "give the table a primary key; tables without one come with a later release", "table %s has no usable key", t)
	case len(t.Key) > maxKeyColumns:
		return nil, refuse("key_too_wide", "use a unique index with fewer columns as the replica identity, or leave the table out", "table %s: the key has %d columns, BigQuery allows %d", t, len(t.Key), maxKeyColumns)
	case len(t.Columns)+2 > maxTableColumns:
		return nil, refuse("table_too_wide", "leave columns out (columns: exclude)", "table %s has %d columns, a table with change data capture may have %d", t, len(t.Columns)+2, maxTableColumns)
	}
	d := &Destination{Project: cfg.Project, Dataset: cfg.Dataset, Name: name}
	inKey := make(map[int]bool, len(t.Key))
	for _, k := range t.Key {
		inKey[k] = true
	}
	seen := make(map[string]string, len(t.Columns))
	for i, c := range t.Columns {
		if reason := checkColumnName(c.Name); reason != "" {
			return nil, refuse("column_name", "rename the column or leave it out (columns: exclude)", "table %s: column %q: %s", t, c.Name, reason)
		}
		lower := strings.ToLower(c.Name)
		if other, ok := seen[lower]; ok {
			return nil, refuse("column_collision", "rename one of the columns or leave it out (columns: exclude)", "table %s: columns %q and %q differ in case only, BigQuery's names don't", t, other, c.Name)
		}
		seen[lower] = c.Name
		typ, repeated := columnType(c.Type, inKey[i])
		d.Columns = append(d.Columns, Column{c.Name, typ, repeated})
	}
	for _, k := range t.Key {
		d.Key = append(d.Key, d.Columns[k].Name)
		if len(d.Cluster) < maxClusterColumns && clusterTypes[d.Columns[k].Type] {
			d.Cluster = append(d.Cluster, d.Columns[k].Name)
		}
	}
	d.Columns = append(d.Columns, Column{PositionColumn, String, false}, Column{CommitTimeColumn, Timestamp, false})
	return d, nil
}

// metadata is the definition with which the table is created. All columns are
// NULLABLE, those of the key too: a row of a delete has the key alone, and a
// column can't become NULLABLE to REQUIRED later anyway.
func (d *Destination) metadata() *bigquery.TableMetadata {
	md := &bigquery.TableMetadata{
		TableConstraints: &bigquery.TableConstraints{PrimaryKey: &bigquery.PrimaryKey{Columns: d.Key}},
	}
	for _, c := range d.Columns {
		md.Schema = append(md.Schema, &bigquery.FieldSchema{Name: c.Name, Type: restType(c.Type), Repeated: c.Repeated})
	}
	if len(d.Cluster) > 0 {
		md.Clustering = &bigquery.Clustering{Fields: d.Cluster}
	}
	return md
}

// restType returns the name that the REST API uses.
func restType(t Type) bigquery.FieldType {
	switch t {
	case Bool:
		return bigquery.BooleanFieldType
	case Int64:
		return bigquery.IntegerFieldType
	case Float64:
		return bigquery.FloatFieldType
	default:
		return bigquery.FieldType(t)
	}
}

// sqlType undoes restType, for both of the names that a type may have.
func sqlType(t bigquery.FieldType) Type {
	switch t {
	case bigquery.BooleanFieldType:
		return Bool
	case bigquery.IntegerFieldType:
		return Int64
	case bigquery.FloatFieldType:
		return Float64
	default:
		return Type(t)
	}
}

// fits returns why the existing table md can't take d's rows, nil if it can.
func (d *Destination) fits(md *bigquery.TableMetadata) error {
	if md.Type != "" && md.Type != bigquery.RegularTable {
		return refuse("destination_not_a_table", "rename or remove it, or set another bigquery.table", "%s is a %s, not a table", d.Path(), md.Type)
	}
	var key []string
	if md.TableConstraints != nil && md.TableConstraints.PrimaryKey != nil {
		key = md.TableConstraints.PrimaryKey.Columns
	}
	if !equalFold(key, d.Key) {
		return refuse("key_changed", "the table's key must be the source's: see the runbook on a changed key", "table %s: primary key (%s), the source has (%s)", d.Path(), strings.Join(key, ", "), strings.Join(d.Key, ", "))
	}
	have := make(map[string]*bigquery.FieldSchema, len(md.Schema))
	for _, f := range md.Schema {
		have[strings.ToLower(f.Name)] = f
	}
	for _, c := range d.Columns {
		f := have[strings.ToLower(c.Name)]
		switch {
		case f == nil:
			return refuse("schema_change", "add the column by hand with the type "+string(c.Type)+" and restart cdc-sink; adding columns by itself comes with a later release", "table %s has no column %q", d.Path(), c.Name)
		case sqlType(f.Type) != c.Type || f.Repeated != c.Repeated:
			return refuse("schema_change", "change the column by hand and restart cdc-sink; changing types by itself comes with a later release", "table %s: column %q is %s, the source needs %s", d.Path(), c.Name, describe(sqlType(f.Type), f.Repeated), describe(c.Type, c.Repeated))
		case f.Required:
			return refuse("column_required", "drop the column's NOT NULL (ALTER COLUMN … DROP NOT NULL)", "table %s: column %q is REQUIRED", d.Path(), c.Name)
		}
	}
	return nil
}

func describe(t Type, repeated bool) string {
	if repeated {
		return "ARRAY<" + string(t) + ">"
	}
	return string(t)
}

func equalFold(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !strings.EqualFold(a[i], b[i]) {
			return false
		}
	}
	return true
}
