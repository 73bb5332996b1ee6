package schema

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// AppendControl appends the body of a control message.
func (e *Encoder) AppendControl(dst []byte, c *Control) ([]byte, error) {
	out, err := e.appendControl(dst, c)
	if err != nil {
		return dst, fmt.Errorf("encode control message at %s: %w", c.Position, err)
	}
	return out, nil
}

func (e *Encoder) appendControl(dst []byte, c *Control) ([]byte, error) {
	if err := checkControl(c); err != nil {
		return dst, err
	}
	head, tail, err := sourceJSON(c.Source, c.Schema, c.Name)
	if err != nil {
		return dst, err
	}
	if c.Schema == "" {
		db, err := quote(c.Source.DB)
		if err != nil {
			return dst, err
		}
		tail = `,"db":` + db
	}
	dst = fmt.Appendf(dst, `{%s%s},"op":"k","ts_ms":%d,"cdc":{"position":"%s","control":"%s"`,
		head, tail, c.ReadTime.Millis(), c.Position, c.Kind)
	switch c.Kind {
	case ResyncStarted:
		dst = fmt.Appendf(dst, `,"floor":"%s","plan":`, c.Floor)
		dst, err = appendString(dst, c.Plan)
	case SnapshotComplete:
		dst, err = appendManifest(dst, c)
	case SchemaChanged:
		dst, err = appendColumns(dst, c.Table)
	case RowStale:
		dst, err = e.appendStale(dst, c)
	case EpochStarted:
		dst = fmt.Appendf(dst, `,"start_lsn":"%s"`, c.StartLSN)
	case Heartbeat:
		dst = fmt.Appendf(dst, `,"counter":%d,"time":"%s"`, c.Counter, c.Time.Append(nil))
	}
	return append(dst, "}}"...), err
}

func appendManifest(dst []byte, c *Control) (_ []byte, err error) {
	if dst, err = appendString(append(dst, `,"plan":`...), c.Plan); err != nil {
		return dst, err
	}
	dst = fmt.Appendf(dst, `,"revision":%d,"chunks":%d,"attempts":[`, c.Revision, c.Chunks)
	for i, n := range c.Attempts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return fmt.Appendf(dst, `],"rows":%d`, c.Rows), nil
}

// appendColumns appends what a table looks like, for schema_changed.
func appendColumns(dst []byte, t *Table) ([]byte, error) {
	dst = append(dst, `,"columns":[`...)
	for i := range t.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, t.plan.columns[i].name...)
	}
	dst = append(dst, "],"...)
	dst = append(dst, t.plan.shape...)
	dst = append(dst, `,"key_columns":[`...)
	for i, k := range t.Key {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, t.plan.columns[k].name...)
	}
	dst = append(dst, ']')
	return append(dst, t.plan.version...), nil
}

func (e *Encoder) appendStale(dst []byte, c *Control) (_ []byte, err error) {
	open := `,"key":{`
	for _, k := range c.Key {
		if dst, err = appendString(append(dst, open...), k.Name); err != nil {
			return dst, err
		}
		open = ","
		if dst, err = e.appendValue(append(dst, ':'), codecOf(k.Type), k.Value.Text); err != nil {
			return dst, fmt.Errorf("key column %q: %w", k.Name, err)
		}
	}
	open = `},"types":[`
	for _, k := range c.Key {
		if dst, err = appendString(append(dst, open...), k.Type); err != nil {
			return dst, err
		}
		open = ","
	}
	return appendString(append(dst, `],"reason":`...), c.Reason)
}

// AppendLogical appends the body of an outbox message.
func (e *Encoder) AppendLogical(dst []byte, m *LogicalMessage) ([]byte, error) {
	out, err := appendLogical(dst, m)
	if err != nil {
		return dst, fmt.Errorf("encode outbox message at %s: %w", m.Position, err)
	}
	return out, nil
}

func appendLogical(dst []byte, m *LogicalMessage) ([]byte, error) {
	if err := checkLogical(m); err != nil {
		return dst, err
	}
	head, tail, err := sourceJSON(m.Source, "", "")
	if err != nil {
		return dst, err
	}
	dst = fmt.Appendf(dst, `{%s,"ts_ms":%d,"snapshot":"false"%s`, head, m.CommitTime.Millis(), tail)
	if m.XID != 0 {
		dst = fmt.Appendf(dst, `,"txId":%d`, uint32(m.XID))
	}
	dst = fmt.Appendf(dst, `,"lsn":%d},"op":"m","ts_ms":%d,"message":{"prefix":`, uint64(m.Position.ChangeLSN), m.ReadTime.Millis())
	if dst, err = appendString(dst, m.Prefix); err != nil {
		return dst, err
	}
	dst = append(dst, `,"content":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, m.Content)
	dst = fmt.Appendf(dst, `"},"cdc":{"position":"%s"`, m.Position)
	if m.XID != 0 {
		dst = fmt.Appendf(dst, `,"xid":%d`, m.XID)
	}
	dst = append(dst, `,"commit_time":"`...)
	return append(m.CommitTime.Append(dst), `"}}`...), nil
}
