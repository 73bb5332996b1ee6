package bigquerytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// patchSchema changes columns, key and clustering as tables.patch may: columns
// are added at the end, as NULLABLE or REPEATED, and REQUIRED is relaxed.
//
// https://docs.cloud.google.com/bigquery/docs/managing-table-schemas
func (t *table) patchSchema(in *bq.Table, named map[string]json.RawMessage, now time.Time) *restError {
	old := t.schema()
	columns, keys, cluster := old.columns, old.keyNames(), old.cluster
	if in.Schema != nil {
		var e *restError
		if columns, e = t.patchColumns(in.Schema.Fields); e != nil {
			return e
		}
	}
	if in.TableConstraints != nil {
		keys = primaryKey(in)
		if t.active && strings.Join(keys, ",") != strings.Join(old.keyNames(), ",") {
			return restUnhandled("changing the primary key of a table with rows isn't built")
		}
	}
	if named["clustering"] != nil {
		cluster = clusterFields(in)
	}
	if in.Schema == nil && in.TableConstraints == nil && named["clustering"] == nil {
		return nil
	}
	return t.setSchema(columns, keys, cluster, now)
}

// setSchema makes another version of the schema, if anything in it changed.
func (t *table) setSchema(columns []*column, keys, cluster []string, now time.Time) *restError {
	if e := checkSchema(columns, keys, cluster); e != nil {
		return e
	}
	next := newSchema(t.schema().version+1, columns, keys, cluster)
	t.schemas = append(t.schemas, schemaAt{next, now})
	if len(t.schemas) > maxSchemas {
		t.schemas = t.schemas[len(t.schemas)-maxSchemas:]
	}
	return nil
}

// maxSchemas bounds the versions of a schema that are kept for streams.
const maxSchemas = 64

func (t *table) patchColumns(fields []*bq.TableFieldSchema) ([]*column, *restError) {
	old := t.schema().columns
	if len(fields) < len(old) {
		return nil, t.patchInvalid("Field %s is missing in new schema", missingName(old, fields))
	}
	out := make([]*column, 0, len(fields))
	for i, f := range fields {
		if f == nil {
			return nil, restInvalid(ruleColumnName, "Fields must have a name.")
		}
		if i >= len(old) {
			c, e := t.addedColumn(f)
			if e != nil {
				return nil, e
			}
			out = append(out, c)
			continue
		}
		c, e := newColumn(old[i].id, f)
		if e != nil {
			return nil, e
		}
		if e := t.sameColumn(old[i], c); e != nil {
			return nil, e
		}
		out = append(out, c)
	}
	return out, nil
}

func missingName(old []*column, fields []*bq.TableFieldSchema) string {
	for i, c := range old {
		if i >= len(fields) || fields[i] == nil || !strings.EqualFold(fields[i].Name, c.name) {
			return c.name
		}
	}
	return ""
}

// addedColumn checks a column that is added to a table that exists.
func (t *table) addedColumn(f *bq.TableFieldSchema) (*column, *restError) {
	t.columnID++
	c, e := newColumn(t.columnID, f)
	if e != nil {
		return nil, e
	}
	if c.required {
		return nil, t.patchInvalid("Cannot add required fields to an existing schema. (field: %s)", c.name)
	}
	return c, nil
}

// sameColumn allows REQUIRED to become NULLABLE, and nothing else.
func (t *table) sameColumn(old, c *column) *restError {
	switch {
	case !strings.EqualFold(old.name, c.name):
		return t.patchInvalid("Field %s is missing in new schema", old.name)
	case old.kind != c.kind:
		return t.patchInvalid("Field %s has changed type from %s to %s", old.name, old.kind, c.kind)
	case old.repeated != c.repeated, !old.required && c.required:
		return t.patchInvalid("Field %s has changed mode from %s to %s", old.name, old.field.Mode, c.field.Mode)
	case old.precision != c.precision, old.scale != c.scale, old.maxLength != c.maxLength:
		return restUnhandled("changing a type's parameters isn't built (column " + old.name + ")")
	}
	return nil
}

func (t *table) patchInvalid(format string, args ...any) *restError {
	return restInvalid(rulePatchSchema, "Provided Schema does not match Table "+t.id()+". "+fmt.Sprintf(format, args...))
}
