package capture

import (
	"bytes"
	"errors"

	"cdc/capture/pgoutput"
	"cdc/schema"
)

var (
	errWidth = errors.New("a row has another number of columns than its RELATION message")
	errKey   = errors.New("a row without a value in a key column")
)

// row turns an INSERT, UPDATE or DELETE message into one Change, or two if the
// key changed, and hands them on.
func (s *stream) row(data []byte, lsn schema.LSN) error {
	r := &s.rowChange
	if err := r.Parse(data); err != nil {
		return protocolError(err)
	}
	rel := s.relations[r.RelationOID]
	if rel == nil {
		return protocolError(errors.New("a row of a relation that wasn't described"))
	}
	if rel.problem != nil {
		return rel.problem
	}
	width := len(rel.table.Columns)
	if r.Letter != pgoutput.DeleteByte && len(r.New) != width || r.OldKind != pgoutput.OldNone && len(r.Old) != width {
		return protocolError(errWidth)
	}
	c := &s.change
	*c = schema.Change{Table: rel.table, XID: s.xid, CommitTime: s.commitTime}
	if r.OldKind == pgoutput.OldFull {
		c.Before = r.Old
	}
	switch r.Letter {
	case pgoutput.InsertByte:
		return s.insert(lsn)
	case pgoutput.UpdateByte:
		return s.update(lsn)
	default:
		return s.delete(lsn)
	}
}

func (s *stream) insert(lsn schema.LSN) error {
	c := &s.change
	c.Op, c.After = schema.Create, s.rowChange.New
	s.key = c.Table.KeyOf(s.key[:0], c.After)
	c.Key = s.key
	if err := s.complete(); err != nil {
		return err
	}
	return s.emit(lsn)
}

// update hands on an Update, or after a change of the key a Delete of the old
// key and a Create of the new one: they go to different ordering keys, and only
// their Positions order them. An old key that was sent doesn't mean that it
// changed: Postgres also sends one that is TOASTed.
func (s *stream) update(lsn schema.LSN) error {
	c, r := &s.change, &s.rowChange
	c.Op, c.After = schema.Update, r.New
	if r.OldKind != pgoutput.OldNone {
		for _, k := range c.Table.Key {
			if r.New[k].State == schema.Unchanged {
				r.New[k] = r.Old[k]
			}
		}
		s.oldKey = c.Table.KeyOf(s.oldKey[:0], r.Old)
	}
	if r.OldKind == pgoutput.OldFull {
		for i := range r.New {
			if r.New[i].State == schema.Unchanged {
				r.New[i] = r.Old[i]
			}
		}
	}
	s.key = c.Table.KeyOf(s.key[:0], r.New)
	c.Key = s.key
	if err := s.complete(); err != nil {
		return err
	}
	if r.OldKind == pgoutput.OldNone || equalKeys(s.oldKey, s.key) {
		return s.emit(lsn)
	}
	c.Op, c.After, c.Key = schema.Delete, nil, s.oldKey
	if err := s.emit(lsn); err != nil {
		return err
	}
	c.Op, c.After, c.Key = schema.Create, r.New, s.key
	c.Before, c.PreviousKey = nil, s.oldKey
	return s.emit(lsn)
}

func (s *stream) delete(lsn schema.LSN) error {
	c := &s.change
	c.Op = schema.Delete
	s.key = c.Table.KeyOf(s.key[:0], s.rowChange.Old)
	c.Key = s.key
	return s.emit(lsn)
}

// complete reports a value that wasn't sent and that isn't known from the old
// row.
func (s *stream) complete() error {
	for i := range s.change.After {
		if s.change.After[i].State == schema.Unchanged {
			return &Error{finding: findUnchangedTOAST(s.change.Table.String(), s.change.Table.Columns[i].Name)}
		}
	}
	return nil
}

// equalKeys compares texts: two keys that the index holds for equal but that
// are written differently are two keys downstream.
func equalKeys(a, b schema.Row) bool {
	for i := range a {
		if !bytes.Equal(a[i].Text, b[i].Text) {
			return false
		}
	}
	return true
}

func protocolError(err error) error {
	return &Error{cause: err, finding: blocking("protocol",
		"report it with the server's version: cdc-publisher doesn't understand what the server sent", "the stream isn't understood")}
}
