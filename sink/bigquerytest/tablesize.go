package bigquerytest

import "google.golang.org/protobuf/encoding/protowire"

// tableSize is the size of a table's baseline, computed when it is asked for
// and kept until the next apply.
type tableSize struct {
	known    bool
	epoch    uint32
	inserted int
	rows     uint64
	bytes    int64
}

// size is what tables.get answers: without what waits to be applied. The table
// is locked.
//
// https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/tables
func (t *table) size() tableSize {
	if t.measured.known && t.measured.epoch == t.epoch && t.measured.inserted == len(t.inserted) {
		return t.measured
	}
	rows := make([]storedRow, 0, len(t.entries)+len(t.inserted))
	for _, e := range t.entries {
		if v := t.baseline(e); !v.gone() {
			rows = append(rows, storedRow{v.plan, v.row})
		}
	}
	rows = append(rows, t.inserted...)
	t.measured = tableSize{true, t.epoch, len(t.inserted), uint64(len(rows)), logicalBytes(rows, nil)}
	return t.measured
}

// logicalBytes is what rows count for in a query that reads the columns with
// the used ids, or all of them for nil. NULL counts nothing.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types#data_type_sizes
func logicalBytes(rows []storedRow, used map[int32]int) int64 {
	total := int64(0)
	for _, r := range rows {
		_ = eachField(r.row, func(number protowire.Number, typ protowire.Type, v wireValue) error {
			f := r.plan.field(number)
			if f == nil || f.column == nil {
				return nil
			}
			if _, ok := used[f.column.id]; ok || used == nil {
				total += f.logicalBytes(typ, v)
			}
			return nil
		})
	}
	return total
}

func (f *fieldPlan) logicalBytes(typ protowire.Type, v wireValue) int64 {
	size := int64(8)
	switch f.column.kind {
	case kindString, kindBytes:
		return 2 + int64(len(v.b))
	case kindJSON:
		return int64(len(v.b))
	case kindBool:
		size = 1
	case kindNumeric:
		size = 16
	case kindBigNumeric:
		size = 32
	}
	want := wireType(f.proto)
	if !f.column.repeated || typ != protowire.BytesType || want == protowire.BytesType {
		return size
	}
	items := int64(0) // of a packed list
	for b := v.b; len(b) > 0; items++ {
		_, n := consume(b, want)
		if n < 0 {
			break
		}
		b = b[n:]
	}
	return items * size
}
