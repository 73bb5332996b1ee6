package schema

// Op is what a message says, as one letter in its attribute op.
type Op byte

// The operations. Create, Update, Delete and Read are row changes; Batch is
// several of them in one message.
const (
	Create    Op = 'c'
	Update    Op = 'u'
	Delete    Op = 'd'
	Read      Op = 'r' // a snapshot row
	LogicalOp Op = 'm' // an outbox message, pg_logical_emit_message
	BatchOp   Op = 'b'
	ControlOp Op = 'k'
	RequestOp Op = 'q'
)

// String returns the letter.
func (o Op) String() string { return string(rune(o)) }

// Change is one row change. Its values alias the buffer they were read from.
type Change struct {
	Op       Op
	Position Position
	Table    *Table

	// After is the new row; nil for a Delete.
	After Row
	// Before is the complete old row where Postgres sent it (REPLICA IDENTITY
	// FULL). For a Delete it may be nil: the message then carries the key alone.
	Before Row
	// Key is the row's identity after the change (for a Delete: before it), in
	// the order of Table.Key; nil without usable identity.
	Key Row
	// PreviousKey is set on the second half of a key change: the key that the
	// Delete at the preceding Index removed.
	PreviousKey Row

	XID        uint64 // the transaction, extended by the xid epoch; 0 for a snapshot row
	CommitTime Micros // of the transaction; for a snapshot row, the read
	ReadTime   Micros // when capture handled it (Debezium's ts_ms, cut to the millisecond)

	// RowGone: the unchanged values couldn't be read again because the row is
	// gone; its Delete follows.
	RowGone bool
	// Snapshot is set on a Read and on a Delete that answers a request, nil
	// otherwise.
	Snapshot *Snapshot
}

// Snapshot says which part of which plan a snapshot row came in.
type Snapshot struct {
	Plan    string // names the plan, at most 64 bytes
	Chunk   int32
	Attempt int64 // a unique number of this reading of the chunk
	Part    int32 // 0 ≤ Part < Parts
	Parts   int32
	Floor   Position // rows of the table below it don't count any more
	AsOf    Micros   // oldest start of any transaction that held an xid at the read
}

// Message is one Pub/Sub message before or after the wire.
type Message struct {
	OrderingKey []byte // empty on an unordered topic
	Attributes  Attributes
	Data        []byte
}
