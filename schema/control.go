package schema

// ControlKind names a control message.
type ControlKind string

// The kinds of control messages. Table-level ones go to the ordered topic under
// the key schema.table|; RowStale goes under the row's own ordering key; the
// last two go to both topics, on the ordered one under the key |.
const (
	Truncated        ControlKind = "truncated"
	ResyncStarted    ControlKind = "resync_started"    // Floor, Plan
	SnapshotComplete ControlKind = "snapshot_complete" // Plan, Revision, Chunks, Attempts, Rows
	SchemaChanged    ControlKind = "schema_changed"    // Table's columns, types, attnums and version
	RowStale         ControlKind = "row_stale"         // Key, Reason
	EpochStarted     ControlKind = "epoch_started"     // StartLSN
	Heartbeat        ControlKind = "heartbeat"         // Counter, Time
)

// Control is a control message (ControlOp). Only the fields that its Kind names
// are set.
type Control struct {
	Kind     ControlKind
	Position Position
	Source   Source
	Schema   string // empty for EpochStarted and Heartbeat
	Name     string // the table's name; likewise
	ReadTime Micros

	Floor    Position
	Plan     string
	Revision int64   // of one plan's snapshot_complete messages the highest counts
	Chunks   int32   // how many chunks the plan has
	Attempts []int64 // for each chunk, the attempt that counts
	Rows     int64
	Table    *Table
	Key      []NamedValue
	Reason   string
	StartLSN LSN
	Counter  int64
	Time     Micros
}

// NamedValue is a column's name, type and value.
type NamedValue struct {
	Name  string
	Type  string
	Value Value
}

// LogicalMessage is a message of pg_logical_emit_message that is passed on
// (LogicalOp): an outbox message.
type LogicalMessage struct {
	Position   Position
	Source     Source
	Prefix     string
	Content    []byte
	XID        uint64
	CommitTime Micros
	ReadTime   Micros
}

// Request is the sink's request that capture read rows again (RequestOp).
// Exactly one of Keys, Chunk and All is set.
type Request struct {
	ID     string
	Schema string
	Table  string
	Keys   []RequestKey
	Chunk  *RequestChunk
	All    bool
	Reason string
}

// RequestKey is one key as it came: for each key column its name and its JSON
// value. Request.KeyRow turns it into Postgres text by a Table's types.
type RequestKey map[string]RequestValue

// RequestValue is the JSON text of one value.
type RequestValue []byte

// RequestChunk names a chunk of a plan.
type RequestChunk struct {
	Plan  string
	Chunk int32
}
