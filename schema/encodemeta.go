package schema

import (
	"slices"
	"strconv"
)

// appendSource appends the source block without its closing brace.
func appendSource(dst []byte, c *Change, later bool) []byte {
	p := c.Table.plan
	if later {
		dst = append(dst, `"source":{"ts_ms":`...)
	} else {
		dst = append(dst, p.sourceHead...)
	}
	dst = strconv.AppendInt(dst, c.CommitTime.Millis(), 10)
	dst = append(dst, `,"snapshot":"`...)
	dst = append(dst, snapshotWord(c)...)
	dst = append(dst, '"')
	if !later {
		dst = append(dst, p.sourceTail...)
	}
	if c.XID != 0 {
		dst = append(dst, `,"txId":`...)
		dst = strconv.AppendUint(dst, uint64(uint32(c.XID)), 10)
	}
	dst = append(dst, `,"lsn":`...)
	return strconv.AppendUint(dst, uint64(sourceLSN(c)), 10)
}

// snapshotWord is source.snapshot: Debezium's word for rows that are read while
// streaming goes on.
func snapshotWord(c *Change) string {
	if c.Snapshot != nil {
		return "incremental"
	}
	return "false"
}

// sourceLSN is source.lsn. The ChangeLSN of a row that was read isn't an LSN;
// F−1 is.
func sourceLSN(c *Change) LSN {
	if c.Snapshot != nil {
		return c.Position.CommitLSN
	}
	return c.Position.ChangeLSN
}

// appendShape appends types and attnums: of the columns of after (before, for a
// delete) in their order, then of those that are unchanged.
func (e *Encoder) appendShape(dst []byte, c *Change) []byte {
	p := c.Table.plan
	switch {
	case c.Op == Delete && c.Before == nil:
		return append(dst, p.keyShape...)
	case c.Op == Delete || e.Placeholder != "" || !hasUnchanged(c.After):
		return append(dst, p.shape...)
	}
	dst = append(dst, `"types":[`...)
	dst = appendByState(dst, c, func(col *columnPlan) string { return col.typ })
	dst = append(dst, `],"attnums":[`...)
	dst = appendByState(dst, c, func(col *columnPlan) string { return col.attnum })
	return append(dst, ']')
}

func hasUnchanged(row Row) bool {
	return slices.ContainsFunc(row, func(v Value) bool { return v.State == Unchanged })
}

func appendByState(dst []byte, c *Change, field func(*columnPlan) string) []byte {
	n := 0
	for _, unchanged := range [2]bool{false, true} {
		for i := range c.After {
			if (c.After[i].State == Unchanged) != unchanged {
				continue
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, field(&c.Table.plan.columns[i])...)
			n++
		}
	}
	return dst
}

func appendUnchanged(dst []byte, c *Change) []byte {
	open := `,"unchanged":[`
	for i := range c.After {
		if c.After[i].State == Unchanged {
			dst = append(dst, open...)
			open = ","
			dst = append(dst, c.Table.plan.columns[i].name...)
		}
	}
	if open == "," {
		dst = append(dst, ']')
	}
	return dst
}

func appendSnapshot(dst []byte, s *Snapshot) (_ []byte, err error) {
	dst = append(dst, `,"snapshot":{"plan":`...)
	if dst, err = appendString(dst, s.Plan); err != nil {
		return dst, err
	}
	dst = append(dst, `,"chunk":`...)
	dst = strconv.AppendInt(dst, int64(s.Chunk), 10)
	dst = append(dst, `,"attempt":`...)
	dst = strconv.AppendInt(dst, s.Attempt, 10)
	dst = append(dst, `,"part":`...)
	dst = strconv.AppendInt(dst, int64(s.Part), 10)
	dst = append(dst, `,"parts":`...)
	dst = strconv.AppendInt(dst, int64(s.Parts), 10)
	dst = append(dst, `,"floor":"`...)
	dst = s.Floor.Append(dst)
	dst = append(dst, `","as_of":"`...)
	dst = s.AsOf.Append(dst)
	return append(dst, `"}`...), nil
}
