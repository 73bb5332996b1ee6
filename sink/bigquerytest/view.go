package bigquerytest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/encoding/protowire"
)

// Row is one row by column name. A value is nil for NULL, a string with the
// column's canonical text, or a []any of such strings for a REPEATED column
// (never nil: the service reads a NULL array as an empty one).
//
// Canonical texts: BOOL true or false; INT64 decimal; FLOAT64 shortest, NaN,
// Infinity, -Infinity; NUMERIC and BIGNUMERIC without trailing zeros, after the
// service's rounding; STRING itself; BYTES base64; DATE 2006-01-02; DATETIME
// 2006-01-02T15:04:05.999999 and TIME 15:04:05.999999 without trailing zeros;
// TIMESTAMP 2006-01-02T15:04:05.000000Z; JSON without spaces, members sorted.
type Row = map[string]any

// Rows returns the current state of a table, everything merged, whatever a
// query would show: rows with a key in the order of an internal form of it,
// then inserted rows in the order they came. It is nil for a table that
// doesn't exist.
func (s *Server) Rows(project, dataset, table string) []Row {
	t := s.catalog.table(project, dataset, table)
	if t == nil {
		return nil
	}
	return s.view(t, false)
}

// Baseline returns what a query within max_staleness shows: the state as of
// the last apply.
func (s *Server) Baseline(project, dataset, table string) []Row {
	t := s.catalog.table(project, dataset, table)
	if t == nil {
		return nil
	}
	return s.view(t, true)
}

func (s *Server) view(t *table, baseline bool) []Row {
	columns, rows := t.read(s.clock.now(), baseline)
	out := make([]Row, 0, len(rows))
	for _, r := range rows {
		row, values := Row{}, r.plan.decode(r.row)
		for _, c := range columns {
			row[c.name] = c.shown(values)
		}
		out = append(out, row)
	}
	return out
}

// read returns a table's columns and its rows in the order of their keys.
func (t *table) read(now time.Time, baseline bool) ([]*column, []storedRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.catchUp(now)
	rows := make([]storedRow, 0, len(t.entries)+len(t.inserted))
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		v := t.entries[key].cur
		if baseline {
			v = t.baseline(t.entries[key])
		}
		if !v.gone() {
			rows = append(rows, storedRow{v.plan, v.row})
		}
	}
	return t.schema().columns, append(rows, t.inserted...)
}

// shown is a column's value among decoded ones.
func (c *column) shown(values map[int32]any) any {
	v, ok := values[c.id]
	if !ok && c.repeated {
		return []any{}
	}
	if text, ok := v.(string); ok && c.retyped && c.kind == kindFloat64 {
		return floatText(floatOf(text)) // the other types have one text for a number
	}
	return v
}

// decode reads a row that was checked before: column ids to texts.
func (p *rowPlan) decode(row []byte) map[int32]any {
	out := make(map[int32]any, len(p.fields))
	_ = eachField(row, func(number protowire.Number, typ protowire.Type, v wireValue) error {
		switch f := p.field(number); {
		case f == nil || f.column == nil:
		case f.column.repeated:
			list, _ := out[f.column.id].([]any)
			out[f.column.id] = f.items(list, typ, v)
		default:
			out[f.column.id] = f.text(v)
		}
		return nil
	})
	return out
}

// items appends the text of one element, or of a packed list of them.
func (f *fieldPlan) items(list []any, typ protowire.Type, v wireValue) []any {
	want := f.wire
	if typ != protowire.BytesType || want == protowire.BytesType {
		return append(list, f.text(v))
	}
	for b := v.b; len(b) > 0; {
		item, n := consume(b, want)
		if n < 0 {
			break
		}
		list = append(list, f.text(item))
		b = b[n:]
	}
	return list
}

var storageTypes = map[kind]storagepb.TableFieldSchema_Type{
	kindBool: storagepb.TableFieldSchema_BOOL, kindInt64: storagepb.TableFieldSchema_INT64,
	kindFloat64: storagepb.TableFieldSchema_DOUBLE, kindNumeric: storagepb.TableFieldSchema_NUMERIC,
	kindBigNumeric: storagepb.TableFieldSchema_BIGNUMERIC, kindString: storagepb.TableFieldSchema_STRING,
	kindBytes: storagepb.TableFieldSchema_BYTES, kindJSON: storagepb.TableFieldSchema_JSON,
	kindDate: storagepb.TableFieldSchema_DATE, kindDatetime: storagepb.TableFieldSchema_DATETIME,
	kindTime: storagepb.TableFieldSchema_TIME, kindTimestamp: storagepb.TableFieldSchema_TIMESTAMP,
}

// storage is the schema in the Storage Write API's form.
func (s *schema) storage() *storagepb.TableSchema {
	out := &storagepb.TableSchema{}
	for _, c := range s.columns {
		mode := storagepb.TableFieldSchema_Mode_value[strings.ToUpper(c.field.Mode)]
		out.Fields = append(out.Fields, &storagepb.TableFieldSchema{
			Name: c.name, Type: storageTypes[c.kind], Mode: storagepb.TableFieldSchema_Mode(mode),
			Description: c.field.Description, MaxLength: c.maxLength, Precision: c.precision, Scale: c.scale,
		})
	}
	return out
}
