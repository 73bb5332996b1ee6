package schema

import "fmt"

// ofTable reports whether messages of this kind are about one table.
func (k ControlKind) ofTable() bool { return k != EpochStarted && k != Heartbeat }

// checkControl refuses a Control that lacks what its Kind needs, on both sides
// of the wire.
func checkControl(c *Control) error {
	ok := true
	switch c.Kind {
	case Truncated, EpochStarted:
	case ResyncStarted:
		ok = !c.Floor.IsZero() && len(c.Plan) <= MaxPlanBytes
	case SnapshotComplete:
		ok = len(c.Plan) <= MaxPlanBytes && c.Chunks >= 0 && int(c.Chunks) == len(c.Attempts)
	case SchemaChanged:
		ok = c.Table != nil && c.Table.plan != nil &&
			c.Table.Source == c.Source && c.Table.Schema == c.Schema && c.Table.Name == c.Name
	case RowStale:
		ok = len(c.Key) > 0
		for i := range c.Key {
			ok = ok && c.Key[i].Value.State == Text
		}
	case Heartbeat:
		ok = c.Time.inRange()
	default:
		return fmt.Errorf("unknown kind of control message: %w", ErrField)
	}
	if !ok || c.Position.IsZero() || !c.ReadTime.inRange() || (c.Schema != "") != c.Kind.ofTable() || (c.Name != "") != c.Kind.ofTable() {
		return fmt.Errorf("control message %s lacks a field or has a wrong one: %w", c.Kind, ErrField)
	}
	return nil
}

// MaxPrefixBytes is the most bytes that an outbox message's prefix has: its
// ordering key is the prefix and a |.
const MaxPrefixBytes = MaxOrderingKey - len("|")

func checkLogical(m *LogicalMessage) error {
	if len(m.Prefix) > MaxPrefixBytes {
		return fmt.Errorf("prefix over %d bytes: %w", MaxPrefixBytes, ErrField)
	}
	if m.Position.IsZero() || !m.CommitTime.inRange() || !m.ReadTime.inRange() {
		return fmt.Errorf("position, ts_ms or commit_time: %w", ErrField)
	}
	return nil
}
