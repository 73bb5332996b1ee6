package bigquerytest

import (
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// kind is a column type of the service, by its GoogleSQL name.
type kind string

const (
	kindBool       kind = "BOOL"
	kindInt64      kind = "INT64"
	kindFloat64    kind = "FLOAT64"
	kindNumeric    kind = "NUMERIC"
	kindBigNumeric kind = "BIGNUMERIC"
	kindString     kind = "STRING"
	kindBytes      kind = "BYTES"
	kindJSON       kind = "JSON"
	kindDate       kind = "DATE"
	kindDatetime   kind = "DATETIME"
	kindTime       kind = "TIME"
	kindTimestamp  kind = "TIMESTAMP"
)

// typeNames maps the REST API's and GoogleSQL's names, upper-case, to kinds.
var typeNames = map[string]kind{
	"BOOL": kindBool, "BOOLEAN": kindBool,
	"INT64": kindInt64, "INTEGER": kindInt64, "INT": kindInt64, "SMALLINT": kindInt64,
	"BIGINT": kindInt64, "TINYINT": kindInt64, "BYTEINT": kindInt64,
	"FLOAT64": kindFloat64, "FLOAT": kindFloat64,
	"NUMERIC": kindNumeric, "DECIMAL": kindNumeric,
	"BIGNUMERIC": kindBigNumeric, "BIGDECIMAL": kindBigNumeric,
	"STRING": kindString, "BYTES": kindBytes, "JSON": kindJSON,
	"DATE": kindDate, "DATETIME": kindDatetime, "TIME": kindTime, "TIMESTAMP": kindTimestamp,
}

// unhandledTypes exist in the service and not here.
var unhandledTypes = map[string]bool{
	"RECORD": true, "STRUCT": true, "GEOGRAPHY": true, "INTERVAL": true, "RANGE": true, "FOREIGN": true,
}

// restName is the type name that tables.get answers (the legacy name where
// there are two).
func (k kind) restName() string {
	switch k {
	case kindBool:
		return "BOOLEAN"
	case kindInt64:
		return "INTEGER"
	case kindFloat64:
		return "FLOAT"
	}
	return string(k)
}

// isKey says whether a primary key may have a column of this type.
//
// https://docs.cloud.google.com/bigquery/docs/primary-foreign-keys
func (k kind) isKey() bool {
	switch k {
	case kindBigNumeric, kindBool, kindBytes, kindDate, kindDatetime, kindInt64, kindNumeric, kindString, kindTimestamp:
		return true
	}
	return false
}

// isCluster says whether a table may be clustered by a column of this type.
//
// https://docs.cloud.google.com/bigquery/docs/clustered-tables
func (k kind) isCluster() bool {
	switch k {
	case kindBigNumeric, kindBool, kindDate, kindDatetime, kindInt64, kindNumeric, kindString, kindTimestamp:
		return true
	}
	return false
}

// column is one column of a table. It never changes; another version of the
// schema holds another column with the same id.
type column struct {
	id        int32 // the same through renames
	name      string
	kind      kind
	required  bool
	repeated  bool
	precision int64 // 0: not parameterised
	scale     int64
	maxLength int64 // 0: unlimited; characters of a STRING, bytes of BYTES
	retyped   bool  // rows may have been written when it had another type
	field     *bq.TableFieldSchema
}

// schema is one version of a table's columns and key. It never changes.
type schema struct {
	version int
	columns []*column
	byName  map[string]*column // by lower-case name
	keys    []*column          // in key order; empty without a primary key
	cluster []string
}

func newSchema(version int, columns []*column, keys, cluster []string) *schema {
	s := &schema{version: version, columns: columns, byName: map[string]*column{}, cluster: cluster}
	for _, c := range columns {
		s.byName[strings.ToLower(c.name)] = c
	}
	for _, k := range keys {
		s.keys = append(s.keys, s.byName[strings.ToLower(k)])
	}
	return s
}

func (s *schema) column(name string) *column { return s.byName[strings.ToLower(name)] }

func (s *schema) keyNames() []string {
	var names []string
	for _, k := range s.keys {
		names = append(names, k.name)
	}
	return names
}

func (s *schema) rest() *bq.TableSchema {
	out := &bq.TableSchema{}
	for _, c := range s.columns {
		out.Fields = append(out.Fields, c.field)
	}
	return out
}

// typeName is the type without its parameters.
func (c *column) typeName() string {
	if c.repeated {
		return "ARRAY<" + string(c.kind) + ">"
	}
	return string(c.kind)
}

// fullType is the type as CREATE TABLE takes it.
func (c *column) fullType() string {
	if c.repeated {
		return "ARRAY<" + c.typeText() + ">"
	}
	return c.typeText()
}

// typeText is the type of a value as GoogleSQL writes it.
func (c *column) typeText() string {
	switch {
	case c.maxLength > 0:
		return string(c.kind) + "(" + strconv.FormatInt(c.maxLength, 10) + ")"
	case c.precision > 0 && c.scale > 0:
		return string(c.kind) + "(" + strconv.FormatInt(c.precision, 10) + ", " + strconv.FormatInt(c.scale, 10) + ")"
	case c.precision > 0:
		return string(c.kind) + "(" + strconv.FormatInt(c.precision, 10) + ")"
	}
	return string(c.kind)
}
