package pgoutput

import (
	"fmt"

	"cdc/schema"
)

// The letters of protocol version 1's messages.
const (
	BeginByte    byte = 'B'
	CommitByte   byte = 'C'
	OriginByte   byte = 'O'
	RelationByte byte = 'R'
	TypeByte     byte = 'Y'
	InsertByte   byte = 'I'
	UpdateByte   byte = 'U'
	DeleteByte   byte = 'D'
	TruncateByte byte = 'T'
	MessageByte  byte = 'M'
)

// Letter returns the letter of a message, or an error: ErrShort if there is
// none, an *UnknownError if it isn't one of version 1.
func Letter(b []byte) (byte, error) {
	if len(b) == 0 {
		return 0, ErrShort
	}
	switch b[0] {
	case BeginByte, CommitByte, OriginByte, RelationByte, TypeByte,
		InsertByte, UpdateByte, DeleteByte, TruncateByte, MessageByte:
		return b[0], nil
	default:
		return 0, &UnknownError{b[0]}
	}
}

// Begin opens a transaction.
type Begin struct {
	FinalLSN   schema.LSN // of the commit record; rises strictly along the stream
	CommitTime schema.Micros
	XID        uint32
}

// Commit ends a transaction.
type Commit struct {
	CommitLSN  schema.LSN // Begin's FinalLSN
	EndLSN     schema.LSN // confirming this and nothing less keeps the transaction from being sent again
	CommitTime schema.Micros
}

// Origin says that a transaction was replicated from another server.
type Origin struct {
	CommitLSN schema.LSN // on the origin
	Name      string
}

// Relation describes a table as it was at the changes that follow it.
type Relation struct {
	OID             uint32
	Namespace       string // empty means pg_catalog
	Name            string
	ReplicaIdentity byte // pg_class.relreplident: d, n, f or i
	Columns         []RelationColumn
}

// RelationColumn is one column of a Relation.
type RelationColumn struct {
	Key     bool // part of the replica identity; under FULL every column is
	Name    string
	TypeOID uint32
	TypeMod int32
}

// Type names a type that isn't built in; for a domain, its base type.
type Type struct {
	OID       uint32
	Namespace string
	Name      string
}

// Truncate says that tables were emptied together.
type Truncate struct {
	Cascade         bool
	RestartIdentity bool
	RelationOIDs    []uint32
}

// Message is what pg_logical_emit_message wrote. Content aliases the buffer.
type Message struct {
	Transactional bool
	LSN           schema.LSN
	Prefix        string
	Content       []byte
}

// open checks the letter and returns a reader of what follows.
func open(b []byte, letter byte) reader {
	if len(b) == 0 {
		return reader{err: ErrShort}
	}
	if b[0] != letter {
		return reader{err: &UnknownError{b[0]}}
	}
	return reader{b: b[1:]}
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("parse %s: %w", what, err)
}

// ParseBegin parses a BEGIN message.
func ParseBegin(b []byte) (Begin, error) {
	r := open(b, BeginByte)
	m := Begin{FinalLSN: r.lsn(), CommitTime: r.time(), XID: r.uint32()}
	return m, wrap("BEGIN", r.end())
}

// ParseCommit parses a COMMIT message.
func ParseCommit(b []byte) (Commit, error) {
	r := open(b, CommitByte)
	if flags := r.byte(); flags != 0 {
		r.fail(ErrValue)
	}
	m := Commit{CommitLSN: r.lsn(), EndLSN: r.lsn(), CommitTime: r.time()}
	return m, wrap("COMMIT", r.end())
}

// ParseOrigin parses an ORIGIN message.
func ParseOrigin(b []byte) (Origin, error) {
	r := open(b, OriginByte)
	m := Origin{CommitLSN: r.lsn(), Name: r.string()}
	return m, wrap("ORIGIN", r.end())
}

// ParseType parses a TYPE message.
func ParseType(b []byte) (Type, error) {
	r := open(b, TypeByte)
	m := Type{OID: r.uint32(), Namespace: r.string(), Name: r.string()}
	return m, wrap("TYPE", r.end())
}

// ParseRelation parses a RELATION message.
func ParseRelation(b []byte) (Relation, error) {
	r := open(b, RelationByte)
	m := Relation{OID: r.uint32(), Namespace: r.string(), Name: r.string(), ReplicaIdentity: r.byte()}
	n := int(r.uint16())
	// A column takes 10 bytes or more: a wrong count can't make us reserve more
	// than the message itself.
	m.Columns = make([]RelationColumn, 0, min(n, len(r.b)/10))
	for range n {
		flags := r.byte()
		c := RelationColumn{Key: flags&1 != 0, Name: r.string(), TypeOID: r.uint32(), TypeMod: int32(r.uint32())}
		if r.err != nil {
			break
		}
		m.Columns = append(m.Columns, c)
	}
	return m, wrap("RELATION", r.end())
}

// ParseTruncate parses a TRUNCATE message.
func ParseTruncate(b []byte) (Truncate, error) {
	r := open(b, TruncateByte)
	n := r.uint32()
	options := r.byte()
	m := Truncate{Cascade: options&1 != 0, RestartIdentity: options&2 != 0}
	if uint64(n)*4 != uint64(len(r.b)) {
		r.fail(ErrShort)
		return m, wrap("TRUNCATE", r.err)
	}
	m.RelationOIDs = make([]uint32, n)
	for i := range m.RelationOIDs {
		m.RelationOIDs[i] = r.uint32()
	}
	return m, wrap("TRUNCATE", r.end())
}

// ParseMessage parses a logical decoding message.
func ParseMessage(b []byte) (Message, error) {
	r := open(b, MessageByte)
	flags := r.byte()
	m := Message{Transactional: flags&1 != 0, LSN: r.lsn(), Prefix: r.string(), Content: r.bytes()}
	return m, wrap("logical message", r.end())
}
