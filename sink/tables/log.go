package tables

// The events of this package.
const (
	EventTableCreated     = "table created"             // Info: table
	EventTableFound       = "table found"               // Info: table
	EventDatasetCreated   = "dataset created"           // Info: dataset
	EventStalenessSet     = "max_staleness set"         // Info: table, max_staleness_ms
	EventStalenessUnequal = "max_staleness didn't take" // Error: table, max_staleness_ms, want_ms, code, fix
)
