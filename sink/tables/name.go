package tables

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The columns that every destination table has beside the source's. The
// pseudo-columns of change data capture can't be queried; these can.
const (
	PositionColumn   = "_cdc_position"
	CommitTimeColumn = "_cdc_commit_time"
)

// reservedPrefixes may start no column's name, in any case
// (https://cloud.google.com/bigquery/docs/schemas#column_names). The last is ours.
var reservedPrefixes = []string{
	"_change_type", "_change_sequence_number", "_change_timestamp", "_partition", "_table_",
	"_file_", "_row_timestamp", "__root__", "_colidentifier", "_cdc_",
}

// checkTemplate checks a template of table names: it holds {table}, and no
// other placeholder than {schema}.
func checkTemplate(template string) error {
	rest := strings.NewReplacer("{schema}", "s", "{table}", "t").Replace(template)
	if !strings.Contains(template, "{table}") || strings.ContainsAny(rest, "{}") {
		return refuse("table_template", `use {table} and {schema}, such as "{schema}_{table}"`, "bigquery.table %q has no {table} or an unknown placeholder", template)
	}
	return nil
}

// tableName makes the destination's name: the template, filled in, for public;
// outside of public the schema leads unless the template has it.
func tableName(template, schemaName, table string) (string, error) {
	if schemaName != "public" && !strings.Contains(template, "{schema}") {
		template = strings.Replace(template, "{table}", "{schema}_{table}", 1)
	}
	name := strings.NewReplacer("{schema}", schemaName, "{table}", table).Replace(template)
	if !validTableName(name) {
		return "", refuse("table_name", "set bigquery.table to a template that gives a valid name, or rename the table",
			"table %s.%s: BigQuery refuses the name %q", schemaName, table, name)
	}
	return name, nil
}

// validTableName: up to 1,024 bytes of letters, marks, numbers, connectors,
// dashes and spaces (https://cloud.google.com/bigquery/docs/tables#table_naming).
func validTableName(name string) bool {
	if name == "" || len(name) > 1024 || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc, unicode.Pd, unicode.Zs) {
			return false
		}
	}
	return true
}

// checkColumnName returns why BigQuery refuses the name, empty if it doesn't.
// Names may be flexible: 300 characters, but not these
// (https://cloud.google.com/bigquery/docs/schemas#flexible-column-names).
func checkColumnName(name string) (reason string) {
	lower := strings.ToLower(name)
	for _, p := range reservedPrefixes {
		if strings.HasPrefix(lower, p) {
			return "the prefix " + p + " is reserved"
		}
	}
	switch {
	case utf8.RuneCountInString(name) > 300:
		return "it has more than 300 characters"
	case strings.ContainsAny(name, "!\"$()*,./;?@[\\]^`{}~"):
		return "it has a character that BigQuery refuses"
	}
	return ""
}
