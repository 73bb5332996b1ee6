package bigquerytest

import (
	"strconv"
	"strings"
	"time"
)

// informationSchema is one view of dataset.INFORMATION_SCHEMA: TABLES,
// TABLE_OPTIONS or COLUMNS, with the columns that are useful here.
//
// https://docs.cloud.google.com/bigquery/docs/information-schema-tables
func (s *Server) informationSchema(qualifier []string, view string, q queryContext) (*relation, *restError) {
	project, dataset := q.project, q.dataset
	switch len(qualifier) {
	case 2:
		project, dataset = qualifier[0], qualifier[1]
	case 1:
		dataset = qualifier[0]
	}
	if dataset == "" {
		return nil, sqlInvalid(ruleSQL, "INFORMATION_SCHEMA."+view+" must be qualified with a dataset")
	}
	tables, e := s.catalog.tables(project, dataset)
	if e != nil {
		return nil, e
	}
	now := s.clock.now()
	rel := &relation{rows: []map[int32]any{}}
	var extra []infoColumn
	var fill func(t *table, base []any)
	switch strings.ToUpper(view) {
	case "TABLES":
		extra, fill = infoTables, func(t *table, base []any) { rel.add(append(base, t.tablesRow()...)) }
	case "TABLE_OPTIONS":
		extra, fill = infoOptions, func(t *table, base []any) {
			for _, row := range t.optionRows() {
				rel.add(append(base[:3:3], row...))
			}
		}
	case "COLUMNS":
		extra, fill = infoColumns, func(t *table, base []any) {
			for i, c := range t.schema().columns {
				rel.add(append(base[:3:3], c.columnsRow(i)...))
			}
		}
	default:
		return nil, sqlInvalid(ruleSQL, "INFORMATION_SCHEMA."+view+" isn't known by this server")
	}
	for i, c := range append(append([]infoColumn(nil), infoBase...), extra...) {
		rel.columns = append(rel.columns, plainColumn(int32(i), c.name, c.kind))
	}
	for _, t := range tables {
		t.mu.Lock()
		t.catchUp(now)
		fill(t, []any{t.project, t.dataset, t.name})
		t.mu.Unlock()
	}
	return rel, nil
}

type infoColumn struct {
	name string
	kind kind
}

var (
	infoBase    = []infoColumn{{"table_catalog", kindString}, {"table_schema", kindString}, {"table_name", kindString}}
	infoTables  = []infoColumn{{"table_type", kindString}, {"creation_time", kindTimestamp}, {"upsert_stream_apply_watermark", kindTimestamp}}
	infoOptions = []infoColumn{{"option_name", kindString}, {"option_type", kindString}, {"option_value", kindString}}
	infoColumns = []infoColumn{{"column_name", kindString}, {"ordinal_position", kindInt64}, {"is_nullable", kindString}, {"data_type", kindString}}
)

// add appends one row; nil is NULL.
func (rel *relation) add(values []any) {
	row := map[int32]any{}
	for i, v := range values {
		if v != nil {
			row[int32(i)] = v
		}
	}
	rel.rows = append(rel.rows, row)
}

// tablesRow shows the watermark once an apply has run on rows with a change type.
func (t *table) tablesRow() []any {
	var watermark any
	if t.everApply {
		watermark = timestampText(t.applied.UnixMicro())
	}
	return []any{"BASE TABLE", timestampText(t.created.UnixMicro()), watermark}
}

func (t *table) optionRows() [][]any {
	var out [][]any
	if t.stale {
		out = append(out, []any{"max_staleness", "INTERVAL", intervalText(t.staleness)})
	}
	if t.meta.Description != "" {
		out = append(out, []any{"description", "STRING", strconv.Quote(t.meta.Description)})
	}
	return out
}

func (c *column) columnsRow(i int) []any {
	nullable, typ := "YES", c.typeText()
	if c.required {
		nullable = "NO"
	}
	if c.repeated {
		nullable, typ = "NO", "ARRAY<"+typ+">"
	}
	return []any{c.name, strconv.Itoa(i + 1), nullable, typ}
}

// typeText is the type as GoogleSQL writes it.
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

// parseTimestamp reads a TIMESTAMP literal: a date, with an optional time and
// an optional zone of Z, UTC or ±hh:mm; UTC without one.
func parseTimestamp(text string) (int64, bool) {
	text = strings.Replace(strings.TrimSuffix(text, " UTC"), " ", "T", 1)
	for _, layout := range []string{
		"2006-01-02T15:04:05.999999Z07:00", "2006-01-02T15:04:05.999999-07", "2006-01-02T15:04:05.999999", "2006-01-02",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			n, err := within(t.UnixMicro(), minTimestampMicros, maxTimestampMicros)
			return n, err == nil
		}
	}
	return 0, false
}
