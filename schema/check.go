package schema

import (
	"bytes"
	"fmt"
)

// MaxPlanBytes is the most bytes that a plan's name has.
const MaxPlanBytes = 64

func tableName(t *Table) string {
	if t == nil {
		return "no table"
	}
	return t.String()
}

// checkChange refuses a Change that contradicts itself, on both sides of the
// wire.
func checkChange(c *Change) error {
	t := c.Table
	switch {
	case t == nil || t.plan == nil:
		return fmt.Errorf("table wasn't made by NewTable: %w", ErrField)
	case c.Position.IsZero():
		return fmt.Errorf("no position: %w", ErrField)
	case c.After != nil && len(c.After) != len(t.Columns), c.Before != nil && len(c.Before) != len(t.Columns):
		return fmt.Errorf("a row hasn't as many values as its table has columns: %w", ErrField)
	case c.Before != nil && hasUnchanged(c.Before):
		return fmt.Errorf("before has an unchanged value: %w", ErrField)
	case len(c.Key) != len(t.Key), c.PreviousKey != nil && len(c.PreviousKey) != len(t.Key):
		return fmt.Errorf("a key hasn't as many values as its table has key columns: %w", ErrField)
	case (c.Key == nil) != (len(t.Key) == 0):
		return fmt.Errorf("key and table disagree about identity: %w", ErrField)
	case !c.CommitTime.inRange() || !c.ReadTime.inRange():
		return fmt.Errorf("commit_time or ts_ms outside the years 0001–9999: %w", ErrField)
	}
	if err := checkOp(c); err != nil {
		return err
	}
	if err := checkSnapshot(c.Snapshot); err != nil {
		return err
	}
	row := c.After
	if c.Op == Delete {
		row = c.Before
	}
	if err := checkKey(c.Key, t, row); err != nil {
		return err
	}
	return checkKey(c.PreviousKey, t, nil)
}

// checkOp refuses rows that don't go with the op.
func checkOp(c *Change) error {
	ok := false
	switch c.Op {
	case Create:
		ok = c.After != nil && c.Before == nil && c.Snapshot == nil
	case Update:
		ok = c.After != nil && c.Snapshot == nil
	case Delete:
		ok = c.After == nil && (c.Before != nil || c.Key != nil) && c.PreviousKey == nil && !c.RowGone
	case Read:
		ok = c.After != nil && c.Before == nil && c.PreviousKey == nil && !c.RowGone && c.Snapshot != nil
	}
	if ok && (c.XID == 0) != (c.Snapshot != nil) {
		return fmt.Errorf("xid: a change has one, a row that was read has none: %w", ErrField)
	}
	if ok && (c.Op == Read || c.RowGone) && hasUnchanged(c.After) != c.RowGone {
		return fmt.Errorf("unchanged doesn't go with op or row_gone: %w", ErrField)
	}
	if !ok {
		return fmt.Errorf("op %q doesn't go with before, after, previous_key, snapshot or row_gone: %w", byte(c.Op), ErrField)
	}
	return nil
}

func checkSnapshot(s *Snapshot) error {
	switch {
	case s == nil:
		return nil
	case len(s.Plan) > MaxPlanBytes || s.Chunk < 0 || s.Part < 0 || s.Part >= s.Parts:
		return fmt.Errorf("snapshot: plan over 64 bytes, chunk below 0, or part outside parts: %w", ErrField)
	case !s.AsOf.inRange():
		return fmt.Errorf("snapshot: as_of outside the years 0001–9999: %w", ErrField)
	}
	return nil
}

// checkKey refuses nulls in a key and a key that isn't the one of its row.
func checkKey(key Row, t *Table, row Row) error {
	for i := range key {
		if key[i].State != Text {
			return fmt.Errorf("key column %q is null or unchanged: %w", t.Columns[t.Key[i]].Name, ErrField)
		}
		if row == nil {
			continue
		}
		if v := &row[t.Key[i]]; v.State == Null || v.State == Text && !bytes.Equal(v.Text, key[i].Text) {
			return fmt.Errorf("key column %q has another value than its row: %w", t.Columns[t.Key[i]].Name, ErrField)
		}
	}
	return nil
}
