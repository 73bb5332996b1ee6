package storagewrite

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"cdc/schema"
)

// Plan says how the rows of one schema.Table become rows of a Layout. It holds
// scratch space and isn't safe for concurrent use.
type Plan struct {
	layout  *Layout
	columns []columnPlan // in the order of the schema.Table's columns; nil without them
	key     []columnPlan // in the order of its key
	encoder encoder
}

type columnPlan struct {
	name     string
	tag      []byte
	repeated bool
	key      bool
	append   appendValue
}

// appendValue appends tag and value of a column's text, as often as there are
// elements. It returns a Code, and a dst that is to be thrown away, if the value
// can't be written.
type appendValue func(e *encoder, dst, tag, text []byte) ([]byte, Code)

// encoder is scratch space for values that aren't written as they come: for the
// whole value, and for the element of an array that it is made from.
type encoder struct {
	scratch, element []byte
	names            memberNames
}

// Plan returns the plan for t's rows. t may be the Table of a Delete, which has
// the key's columns alone: then only its deletes can be encoded. It returns an
// error if a column isn't in the layout or the keys differ.
func (l *Layout) Plan(t *schema.Table) (*Plan, error) {
	p := &Plan{layout: l}
	for i, c := range t.Columns {
		cp, err := l.column(c, slices.Contains(t.Key, i))
		if err != nil {
			return nil, err
		}
		p.columns = append(p.columns, cp)
	}
	if len(t.Key) != len(l.table.Key) {
		return nil, fmt.Errorf("table %s: %d key columns, the destination has %d", t, len(t.Key), len(l.table.Key))
	}
	for i, k := range t.Key {
		if !strings.EqualFold(t.Columns[k].Name, l.table.Key[i]) {
			return nil, fmt.Errorf("table %s: key column %q, the destination has %q", t, t.Columns[k].Name, l.table.Key[i])
		}
		p.key = append(p.key, p.columns[k])
	}
	return p, nil
}

func (l *Layout) column(c schema.Column, key bool) (columnPlan, error) {
	i, ok := l.fields[strings.ToLower(c.Name)]
	if !ok {
		return columnPlan{}, fmt.Errorf("column %q isn't in the destination", c.Name)
	}
	dest := l.table.Columns[i]
	f, wire, err := valueEncoder(dest, schema.ParseType(c.Type))
	if err != nil {
		return columnPlan{}, fmt.Errorf("column %q: %w", c.Name, err)
	}
	return columnPlan{
		name: c.Name, tag: protowire.AppendTag(nil, protowire.Number(i+1), wire),
		repeated: dest.Repeated, key: key, append: f,
	}, nil
}

// AppendRow appends the wire bytes of c's row to dst: an UPSERT of After, or a
// DELETE of Key. Both carry the Position as sequence number. If the row can't be
// written, dst is returned as it was. It allocates nothing but dst's growth.
func (p *Plan) AppendRow(dst []byte, c *schema.Change) ([]byte, *RowError) {
	start := len(dst)
	var refused *RowError
	if c.Op == schema.Delete {
		dst = append(dst, p.layout.deleteTag...)
		dst, refused = p.appendValues(dst, p.key, c.Key)
	} else {
		dst = append(dst, p.layout.upsertTag...)
		dst, refused = p.appendValues(dst, p.columns, c.After)
	}
	if refused != nil {
		return dst[:start], refused
	}
	l := p.layout
	dst = append(dst, l.seqTag...)
	dst = append(dst, schema.PositionLen)
	dst = c.Position.Append(dst)
	dst = append(dst, l.posTag...)
	dst = append(dst, schema.PositionLen)
	dst = c.Position.Append(dst)
	dst = append(dst, l.timeTag...)
	return protowire.AppendVarint(dst, uint64(c.CommitTime)), nil
}

func (p *Plan) appendValues(dst []byte, columns []columnPlan, row schema.Row) ([]byte, *RowError) {
	if len(row) != len(columns) {
		return dst, &RowError{Reason: InvalidValue}
	}
	var code Code
	for i := range row {
		c := &columns[i]
		switch v := &row[i]; {
		case v.State == schema.Text:
			if dst, code = c.append(&p.encoder, dst, c.tag, v.Text); code != "" {
				return dst, &RowError{c.name, code}
			}
		case v.State == schema.Unchanged:
			return dst, &RowError{c.name, UnchangedTOAST}
		case c.key:
			return dst, &RowError{c.name, KeyNull}
		case c.repeated:
			return dst, &RowError{c.name, ArrayNull}
		}
	}
	return dst, nil
}

// valueEncoder picks the encoder of a column by the destination's type and the
// Postgres type whose text comes.
func valueEncoder(dest Column, pt schema.Type) (appendValue, protowire.Type, error) {
	base := pt.Base[strings.LastIndexByte(pt.Base, '.')+1:]
	scalar, wire := appendText, protowire.BytesType
	switch dest.Type {
	case "BOOL":
		scalar, wire = appendBool, protowire.VarintType
	case "INT64":
		scalar, wire = appendInt64, protowire.VarintType
	case "FLOAT64":
		scalar, wire = appendFloat64, protowire.Fixed64Type
	case "NUMERIC":
		scalar = appendNumeric
	case "BIGNUMERIC":
		scalar = appendBigNumeric
	case "STRING":
	case "BYTES":
		scalar = appendBytes
	case "DATE":
		scalar, wire = appendDate, protowire.VarintType
	case "TIME":
		scalar = appendTime
	case "DATETIME":
		scalar = appendDateTime
	case "TIMESTAMP":
		scalar, wire = appendTimestamp, protowire.VarintType
	case "JSON":
		switch base {
		case "jsonb":
			scalar = appendJSON
		case "hstore":
			scalar = appendHstore
		default:
			scalar = appendJSONText
		}
	default:
		return nil, 0, fmt.Errorf("no encoding for type %s", dest.Type)
	}
	switch {
	case !dest.Repeated && dest.Type == "JSON" && pt.Array:
		return arrayAsJSON(base), wire, nil
	case !dest.Repeated:
		return scalar, wire, nil
	case base == "vector" && !pt.Array:
		return appendVector, wire, nil
	case !pt.Array:
		return nil, 0, fmt.Errorf("%s isn't an array", pt.Base)
	case base == "box":
		return arrayOf(scalar, ';'), wire, nil // the one type with another delimiter
	default:
		return arrayOf(scalar, ','), wire, nil
	}
}
