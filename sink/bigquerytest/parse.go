package bigquerytest

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// change is what a row does to its key.
type change uint8

const (
	changeInsert change = iota
	changeUpsert
	changeDelete
)

// parsedRow is what is kept of a row besides its bytes. Its key may be reused
// by the next row.
type parsedRow struct {
	change      change
	hasSequence bool
	sequence    sequence
	key         []byte
	position    []byte // of _cdc_position, inside the row
	commit      int64  // of _cdc_commit_time, microseconds; 0 without one
}

// rowReader checks rows one after the other; its buffers are reused.
type rowReader struct {
	plan     *rowPlan
	nullKeys bool
	strict   bool   // DELETE rows need their REQUIRED columns
	seen     []bool // by slot
	keys     [maxKeyColumns]wireValue
	keySeen  [maxKeyColumns]bool
	row      parsedRow
}

func newRowReader(p *rowPlan, c *Config) *rowReader {
	return &rowReader{plan: p, nullKeys: c.NullKeys, strict: c.StrictDeletes, seen: make([]bool, len(p.fields))}
}

// read checks one row and returns what it says. The result is valid until the
// next call.
func (r *rowReader) read(row []byte) (*parsedRow, *rowProblem) {
	clear(r.seen)
	r.keySeen = [maxKeyColumns]bool{}
	r.row = parsedRow{key: r.row.key[:0]}
	changeText, sequenceText := []byte(nil), []byte(nil)
	for b := row; len(b) > 0; {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, malformed(protowire.ParseError(n))
		}
		b = b[n:]
		f := r.plan.field(number)
		if f == nil {
			return nil, malformed(fmt.Errorf("field number %d isn't in the writer schema", number))
		}
		v, n := consume(b, typ)
		if n < 0 {
			return nil, malformed(protowire.ParseError(n))
		}
		b = b[n:]
		switch f.role {
		case roleChangeType:
			changeText = v.b
		case roleSequence:
			sequenceText = v.b
		default:
			if p := r.value(f, typ, v); p != nil {
				return nil, p
			}
			continue
		}
		if typ != protowire.BytesType {
			return nil, malformed(fmt.Errorf("field number %d has wire type %d", number, typ))
		}
		r.seen[f.slot] = true
	}
	return r.finish(changeText, sequenceText)
}

// value checks one column's value, or a packed list of them.
func (r *rowReader) value(f *fieldPlan, typ protowire.Type, v wireValue) *rowProblem {
	want := f.wire
	if f.column.repeated && typ == protowire.BytesType && want != protowire.BytesType {
		for b := v.b; len(b) > 0; {
			item, n := consume(b, want)
			if n < 0 {
				return malformed(protowire.ParseError(n))
			}
			item, err := f.open(item)
			if err == nil {
				err = f.check(item)
			}
			if err != nil {
				return f.problem(item, err)
			}
			b = b[n:]
		}
		return nil
	}
	if typ != want {
		return malformed(fmt.Errorf("column %s has wire type %d", f.column.name, typ))
	}
	v, err := f.open(v)
	if err == nil {
		err = f.check(v)
	}
	if err != nil {
		return f.problem(v, err)
	}
	r.seen[f.slot] = true
	if f.keyAt >= 0 {
		r.keys[f.keyAt], r.keySeen[f.keyAt] = v, true
	}
	switch f {
	case r.plan.position:
		r.row.position = v.b
	case r.plan.commit:
		r.row.commit = f.integer(v)
	}
	return nil
}

func (r *rowReader) finish(changeText, sequenceText []byte) (*parsedRow, *rowProblem) {
	for _, f := range r.plan.labelled {
		if !r.seen[f.slot] {
			return nil, malformed(fmt.Errorf("a field that the writer schema has as required is missing"))
		}
	}
	if p := r.changeType(changeText); p != nil {
		return nil, p
	}
	if sequenceText != nil {
		s, err := parseSequence(sequenceText)
		if err != nil {
			return nil, &rowProblem{ruleSequenceFormat, fmt.Sprintf("Invalid _CHANGE_SEQUENCE_NUMBER %.80q: %v", sequenceText, err)}
		}
		r.row.sequence, r.row.hasSequence = s, true
	}
	if r.row.change != changeDelete || r.strict {
		if p := r.checkRequired(); p != nil {
			return nil, p
		}
	}
	if r.row.change == changeInsert {
		return &r.row, nil
	}
	return &r.row, r.buildKey()
}

func (r *rowReader) changeType(text []byte) *rowProblem {
	switch {
	case !r.plan.cdc || len(text) == 0 || string(text) == "INSERT":
		r.row.change = changeInsert
	case string(text) == "UPSERT":
		r.row.change = changeUpsert
	case string(text) == "DELETE":
		r.row.change = changeDelete
	default:
		return &rowProblem{ruleChangeType, fmt.Sprintf("The given value is not a valid CHANGE_TYPE: %.40q", text)}
	}
	return nil
}

func (r *rowReader) checkRequired() *rowProblem {
	for _, c := range r.plan.absent {
		return &rowProblem{ruleRequired, "Field " + c.name + " is required and missing"}
	}
	for _, f := range r.plan.required {
		if !r.seen[f.slot] {
			return &rowProblem{ruleRequired, "Field " + f.column.name + " is required and missing"}
		}
	}
	return nil
}

func (r *rowReader) buildKey() *rowProblem {
	for i, c := range r.plan.schema.keys {
		if !r.keySeen[i] {
			if !r.nullKeys {
				return &rowProblem{ruleKeyInRow, "Primary key column " + c.name + " has no value"}
			}
			r.row.key = append(r.row.key, 0)
			continue
		}
		r.row.key = r.plan.keys[i].appendKey(append(r.row.key, 1), r.keys[i])
	}
	return nil
}

// consume reads one value. n is negative for what protobuf can't read.
func consume(b []byte, typ protowire.Type) (v wireValue, n int) {
	switch typ {
	case protowire.VarintType:
		v.bits, n = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(b)
		v.bits = uint64(bits)
	case protowire.Fixed64Type:
		v.bits, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		v.b, n = protowire.ConsumeBytes(b)
	default:
		n = -1 // groups have no column type
	}
	return v, n
}

func malformed(err error) *rowProblem {
	return &rowProblem{ruleMalformed, "The row isn't a message of the writer schema: " + err.Error()}
}
