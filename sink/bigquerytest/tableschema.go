package bigquerytest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	bq "google.golang.org/api/bigquery/v2"
)

// Limits of a table's schema.
const (
	maxKeyColumns     = 16     // https://docs.cloud.google.com/bigquery/docs/primary-foreign-keys
	maxClusterColumns = 4      // https://docs.cloud.google.com/bigquery/docs/clustered-tables
	maxNameCharacters = 300    // https://docs.cloud.google.com/bigquery/docs/schemas#column_names
	maxColumns        = 10_000 // https://docs.cloud.google.com/bigquery/quotas#standard_tables
	maxCDCColumns     = 2_000  // https://docs.cloud.google.com/bigquery/docs/change-data-capture#limitations
)

// reservedPrefixes may not start a column's name, in any case.
//
// https://docs.cloud.google.com/bigquery/docs/schemas#column_names
var reservedPrefixes = []string{
	"_CHANGE_SEQUENCE_NUMBER", "_CHANGE_TIMESTAMP", "_CHANGE_TYPE", "_COLIDENTIFIER",
	"_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "_TABLE_", "__ROOT__",
}

// newColumn checks one field of a table's schema.
func newColumn(id int32, f *bq.TableFieldSchema) (*column, *restError) {
	if e := checkColumnName(f.Name); e != nil {
		return nil, e
	}
	typeName := strings.ToUpper(f.Type)
	k, ok := typeNames[typeName]
	switch {
	case unhandledTypes[typeName]:
		return nil, restUnhandled("columns of type " + typeName + " aren't built (column " + f.Name + ")")
	case !ok:
		return nil, restInvalid(ruleColumnType, fmt.Sprintf("Invalid value for type: %s is not a valid value", f.Type))
	case utf8.RuneCountInString(f.Description) > maxColumnDescription:
		return nil, checkColumnDescription(f.Name, f.Description)
	case f.DefaultValueExpression != "":
		return nil, restUnhandled("default values aren't built (column " + f.Name + ")")
	}
	c := &column{id: id, name: f.Name, kind: k, precision: f.Precision, scale: f.Scale, maxLength: f.MaxLength}
	mode := strings.ToUpper(f.Mode)
	switch mode {
	case "", "NULLABLE":
		mode = "NULLABLE"
	case "REQUIRED":
		c.required = true
	case "REPEATED":
		c.repeated = true
	default:
		return nil, restInvalid(ruleColumnMode, fmt.Sprintf("Invalid value for mode: %s is not a valid value", f.Mode))
	}
	if e := c.checkParameters(); e != nil {
		return nil, e
	}
	field := *f
	field.Type, field.Mode = k.restName(), mode
	c.field = &field
	return c, nil
}

func checkColumnName(name string) *restError {
	invalid := func(why string) *restError {
		return restInvalid(ruleColumnName, fmt.Sprintf("Invalid field name %q. %s", name, why))
	}
	switch {
	case name == "" || !utf8.ValidString(name):
		return invalid("Fields must have a name.")
	case utf8.RuneCountInString(name) > maxNameCharacters:
		return invalid("Fields must be 300 characters or fewer in length.")
	case strings.ContainsAny(name, "!\"$()*,./;?@[\\]^`{}~") || strings.ContainsFunc(name, isControl):
		return invalid("The name has a character that isn't allowed.")
	}
	for _, p := range reservedPrefixes {
		if len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) {
			return restInvalid(ruleReservedPrefix, fmt.Sprintf("Invalid field name %q. Field names are not allowed to start with the (case-insensitive) prefixes %s",
				name, strings.Join(reservedPrefixes, ", ")))
		}
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7F }

// checkParameters checks NUMERIC(P, S), STRING(L) and BYTES(L).
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types#parameterized_data_types
func (c *column) checkParameters() *restError {
	invalid := func() *restError {
		return restInvalid(ruleTypeParameters, fmt.Sprintf("Invalid precision %d, scale %d or maxLength %d for field %s of type %s",
			c.precision, c.scale, c.maxLength, c.name, c.kind))
	}
	whole, scale := int64(0), int64(0)
	switch c.kind {
	case kindNumeric:
		whole, scale = 29, numericScale
	case kindBigNumeric:
		whole, scale = 38, bigNumericScale
	case kindString, kindBytes:
		if c.precision != 0 || c.scale != 0 || c.maxLength < 0 {
			return invalid()
		}
		return nil
	default:
		if c.precision != 0 || c.scale != 0 || c.maxLength != 0 {
			return invalid()
		}
		return nil
	}
	if c.maxLength != 0 || c.scale < 0 || c.scale > scale || c.precision < 0 ||
		(c.precision == 0 && c.scale != 0) ||
		(c.precision != 0 && (c.precision < max(1, c.scale) || c.precision-c.scale > whole)) {
		return invalid()
	}
	return nil
}

// checkSchema checks the columns together with the key and the clustering.
func checkSchema(columns []*column, keys, cluster []string) *restError {
	if len(columns) > maxColumns {
		return restInvalid(ruleColumnCount, fmt.Sprintf("Too many columns: %d. The limit is %d", len(columns), maxColumns))
	}
	byName := map[string]*column{}
	for _, c := range columns {
		lower := strings.ToLower(c.name)
		if byName[lower] != nil {
			return restInvalid(ruleColumnUnique, fmt.Sprintf("Field %s already exists in schema", c.name))
		}
		byName[lower] = c
	}
	if e := checkKey(keys, byName); e != nil {
		return e
	}
	return checkCluster(cluster, byName)
}

func checkKey(keys []string, byName map[string]*column) *restError {
	if len(keys) > maxKeyColumns {
		return restInvalid(ruleKeyCount, fmt.Sprintf("Primary key has %d columns. The limit is %d", len(keys), maxKeyColumns))
	}
	for i, k := range keys {
		c := byName[strings.ToLower(k)]
		switch {
		case c == nil:
			return restInvalid(ruleKeyColumn, fmt.Sprintf("Column '%s' in primary key not found in table", k))
		case c.repeated:
			return restInvalid(ruleKeyRepeated, fmt.Sprintf("Primary key column '%s' must not be REPEATED", k))
		case !c.kind.isKey():
			return restInvalid(ruleKeyType, fmt.Sprintf("Primary key column '%s' has the unsupported type %s", k, c.kind))
		case slices.ContainsFunc(keys[:i], func(o string) bool { return strings.EqualFold(o, k) }):
			return restInvalid(ruleKeyColumn, fmt.Sprintf("Column '%s' is in the primary key twice", k))
		}
	}
	return nil
}

func checkCluster(cluster []string, byName map[string]*column) *restError {
	if len(cluster) > maxClusterColumns {
		return restInvalid(ruleClusterCount, fmt.Sprintf("Too many clustering columns: %d. The limit is %d", len(cluster), maxClusterColumns))
	}
	for i, name := range cluster {
		c := byName[strings.ToLower(name)]
		switch {
		case c == nil:
			return restInvalid(ruleClusterColumn, fmt.Sprintf("The field specified for clustering cannot be found in the schema: %s", name))
		case c.repeated || !c.kind.isCluster():
			return restInvalid(ruleClusterType, fmt.Sprintf("Entity '%s' of type %s is not allowed for clustering", name, c.kind))
		case slices.ContainsFunc(cluster[:i], func(o string) bool { return strings.EqualFold(o, name) }):
			return restInvalid(ruleClusterColumn, fmt.Sprintf("The field %s is specified for clustering twice", name))
		}
	}
	return nil
}
