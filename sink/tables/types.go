package tables

import (
	"strings"

	"cdc/schema"
)

// Type is a BigQuery type by its GoogleSQL name.
type Type string

// The types that columns get.
const (
	Bool       Type = "BOOL"
	Int64      Type = "INT64"
	Float64    Type = "FLOAT64"
	Numeric    Type = "NUMERIC"
	BigNumeric Type = "BIGNUMERIC"
	String     Type = "STRING"
	Bytes      Type = "BYTES"
	Date       Type = "DATE"
	Time       Type = "TIME"
	DateTime   Type = "DATETIME"
	Timestamp  Type = "TIMESTAMP"
	JSON       Type = "JSON"
)

// byName maps the names that format_type writes. What isn't here is STRING, in
// Postgres text: money, timetz, interval, network and bit types, xml, tsvector,
// pg_lsn, ranges, composites, geometry, enums, uuid, and all texts.
var byName = map[string]Type{
	"boolean":                     Bool,
	"smallint":                    Int64,
	"integer":                     Int64,
	"bigint":                      Int64,
	"oid":                         Int64,
	"real":                        Float64,
	"double precision":            Float64,
	"json":                        JSON,
	"jsonb":                       JSON,
	"bytea":                       Bytes,
	"date":                        Date,
	"timestamp without time zone": DateTime,
	"timestamp with time zone":    Timestamp,
	"time without time zone":      Time,
}

// byExtension maps types of extensions, which can live in any schema.
var byExtension = map[string]Type{"hstore": JSON}

// columnType maps the type of a column (DESIGN §9). A column of the key gets a
// type that BigQuery accepts in a primary key.
func columnType(pgType string, key bool) (t Type, repeated bool) {
	pt := schema.ParseType(pgType)
	t = scalarType(pt)
	if isVector(pt) {
		t, repeated = Float64, true
	}
	switch {
	case pt.Array && repeated:
		t, repeated = JSON, false // an array of vectors
	case pt.Array:
		repeated = true
	}
	if key && (repeated || !keyTypes[t]) {
		return String, false
	}
	return t, repeated
}

func scalarType(pt schema.Type) Type {
	if pt.Base == "numeric" {
		return numericType(pt.Mods)
	}
	if t, ok := byName[pt.Base]; ok {
		return t
	}
	if t, ok := byExtension[unqualified(pt.Base)]; ok {
		return t
	}
	return String
}

func isVector(pt schema.Type) bool { return unqualified(pt.Base) == "vector" }

// unqualified returns the name after the schema; a type of pg_catalog has none.
func unqualified(base string) string {
	_, name, ok := strings.Cut(base, ".")
	if !ok {
		return ""
	}
	return name
}

// numericType picks by numeric's precision and scale. NUMERIC has 29 digits
// before and 9 after the point, BIGNUMERIC 38 and 38
// (https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#decimal_types).
// Without a precision a value may be larger than BIGNUMERIC: the encoder checks it.
func numericType(mods []int) Type {
	if len(mods) == 0 {
		return BigNumeric
	}
	p, s := mods[0], 0
	if len(mods) > 1 {
		s = mods[1]
	}
	switch {
	case s <= 9 && p-s <= 29:
		return Numeric
	case s <= 38 && p-s <= 38:
		return BigNumeric
	default:
		return String
	}
}

// keyTypes are the types that a primary key may have
// (https://cloud.google.com/bigquery/docs/primary-foreign-keys).
var keyTypes = map[Type]bool{
	BigNumeric: true, Bool: true, Bytes: true, Date: true, DateTime: true,
	Int64: true, Numeric: true, String: true, Timestamp: true,
}

// clusterTypes are the key types by which a table may be clustered
// (https://cloud.google.com/bigquery/docs/clustered-tables).
var clusterTypes = map[Type]bool{
	BigNumeric: true, Bool: true, Date: true, DateTime: true,
	Int64: true, Numeric: true, String: true, Timestamp: true,
}
