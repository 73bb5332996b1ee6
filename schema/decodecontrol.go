package schema

import "fmt"

// Control decodes a control message.
func (d *Decoder) Control(a *Attributes, data []byte) (*Control, error) {
	c, err := decodeControl(a, data)
	if err != nil {
		return nil, fmt.Errorf("decode control message: %w", err)
	}
	return c, nil
}

func decodeControl(a *Attributes, data []byte) (*Control, error) {
	if err := checkSingleAttributes(a, ControlOp); err != nil {
		return nil, err
	}
	top := readObject(data)
	source := readSource(top, a)
	top.constant("op", ControlOp.String())
	c := &Control{Source: source.source(a), ReadTime: ofMillis(top.integer("ts_ms"))}
	if source.has("schema") || source.has("table") {
		c.Schema, c.Name = source.string("schema"), source.string("table")
	}
	if c.Schema != a.Schema || c.Name != a.Table {
		source.fail("schema")
	}
	r := top.object("cdc")
	c.Position, c.Kind = r.position("position"), ControlKind(r.string("control"))
	if c.Position != a.Position {
		r.fail("position")
	}
	if err := c.read(r); err != nil {
		return nil, err
	}
	if err := finish(top, source, r); err != nil {
		return nil, err
	}
	return c, checkControl(c)
}

// read reads the fields that only c's kind has.
func (c *Control) read(r *objectReader) error {
	switch c.Kind {
	case ResyncStarted:
		c.Floor, c.Plan = r.position("floor"), r.string("plan")
	case SnapshotComplete:
		c.Plan, c.Revision, c.Chunks = r.string("plan"), r.integer("revision"), r.int32("chunks")
		c.Attempts, c.Rows = r.integers("attempts", MaxMessageBytes), r.integer("rows")
	case SchemaChanged:
		return c.readTable(r)
	case RowStale:
		return c.readKey(r)
	case EpochStarted:
		lsn, err := ParseLSN(r.string("start_lsn"))
		if err != nil {
			r.fail("start_lsn")
		}
		c.StartLSN = lsn
	case Heartbeat:
		c.Counter, c.Time = r.integer("counter"), r.micros("time")
	}
	return r.err
}

func (c *Control) readTable(r *objectReader) error {
	names, types, attnums := r.strings("columns"), r.strings("types"), r.integers("attnums", MaxColumns)
	keys := r.strings("key_columns")
	t := Table{Source: c.Source, Schema: c.Schema, Name: c.Name, Version: r.integer("schema_version")}
	if len(types) != len(names) || len(attnums) != len(names) {
		r.fail("columns")
	}
	if r.err != nil {
		return r.err
	}
	for i, name := range names {
		if attnums[i] != int64(int16(attnums[i])) {
			r.fail("attnums")
		}
		t.Columns = append(t.Columns, Column{name, types[i], int16(attnums[i])})
	}
	byName := columnsByName(t.Columns)
	for _, name := range keys {
		i, ok := byName[name]
		if !ok {
			r.fail("key_columns")
		}
		t.Key = append(t.Key, i)
	}
	if r.err != nil {
		return r.err
	}
	made, err := NewTable(t)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrField, err)
	}
	c.Table = made
	return nil
}

// readKey reads row_stale's key, whose members stand in the order of the index.
func (c *Control) readKey(r *objectReader) error {
	types := r.strings("types")
	c.Reason = r.string("reason")
	t, ok := r.take("key", jsonObject)
	if !ok {
		return r.err
	}
	s := scanner{data: r.s.data[:t.end], pos: int(t.start) + 1}
	var v values
	for n := 0; ; n++ {
		name, ok, err := s.member(n)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if n == len(types) {
			r.fail("types")
			return r.err
		}
		value, err := s.value(3)
		if err != nil {
			return err
		}
		k := NamedValue{Name: unescape(&s, name), Type: types[n]}
		for _, other := range c.Key {
			if other.Name == k.Name {
				return ErrDuplicate
			}
		}
		if k.Value, err = v.value(codecOf(k.Type), &s, value); err != nil {
			return fmt.Errorf("key column %q: %w", k.Name, err)
		}
		c.Key = append(c.Key, k)
	}
	if len(c.Key) != len(types) {
		r.fail("types")
	}
	return r.err
}

// readSource reads the part of source that every message has, but for the names
// of the table, and checks it against the attributes.
func readSource(top *objectReader, a *Attributes) *objectReader {
	r := top.object("source")
	if r.err == nil && r.string("version") != sourceVersion {
		r.err = ErrVersion
	}
	r.constant("connector", connector)
	r.constant("name", a.Database)
	return r
}

func (r *objectReader) source(a *Attributes) Source {
	return Source{Database: a.Database, DB: r.string("db"), SystemID: a.SourceID}
}

// Logical decodes an outbox message.
func (d *Decoder) Logical(a *Attributes, data []byte) (*LogicalMessage, error) {
	m, err := decodeLogical(a, data)
	if err != nil {
		return nil, fmt.Errorf("decode outbox message: %w", err)
	}
	return m, nil
}

func decodeLogical(a *Attributes, data []byte) (*LogicalMessage, error) {
	if err := checkSingleAttributes(a, LogicalOp); err != nil {
		return nil, err
	}
	top := readObject(data)
	source := readSource(top, a)
	top.constant("op", LogicalOp.String())
	m := &LogicalMessage{Source: source.source(a), ReadTime: ofMillis(top.integer("ts_ms"))}
	message, cdc := top.object("message"), top.object("cdc")
	m.Prefix, m.Content = message.string("prefix"), message.base64("content")
	m.Position, m.CommitTime = cdc.position("position"), cdc.micros("commit_time")
	if cdc.has("xid") {
		if m.XID = cdc.unsigned("xid"); m.XID == 0 {
			cdc.fail("xid")
		}
		if txID := source.unsigned("txId"); cdc.err == nil && txID != uint64(uint32(m.XID)) {
			source.fail("txId")
		}
	}
	source.constant("snapshot", "false")
	source.constant("schema", "")
	source.constant("table", "")
	tsMS, lsn := source.integer("ts_ms"), source.unsigned("lsn")
	if cdc.err == nil && (tsMS != m.CommitTime.Millis() || lsn != uint64(m.Position.ChangeLSN)) {
		source.fail("ts_ms or lsn")
	}
	if m.Position != a.Position || a.Table != "" {
		cdc.fail("position")
	}
	if err := finish(top, source, message, cdc); err != nil {
		return nil, err
	}
	return m, checkLogical(m)
}
