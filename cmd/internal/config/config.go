package config

import "time"

// Config is a decoded file. The comments of the fields here are the text of
// deploy/CONFIG.md; the tags mean:
//
//	yaml   the key
//	need   the file must set it
//	range  lowest..highest, in the field's own notation
//	enum   the allowed words
//	form   one of the forms in forms.go
type Config struct {
	// Version of the file's form. This version of cdc knows 1.
	Version int `yaml:"version" need:"yes" range:"1..1"`
	// The name of the database in messages and logs. The default of every name
	// below comes from it.
	Database string `yaml:"database" need:"yes" form:"database"`
	// Where changes come from. Read by cdc-publisher only.
	Source Source `yaml:"source" need:"yes"`
	// Topics and subscriptions between the two services.
	PubSub PubSub `yaml:"pubsub" need:"yes"`
	// Where changes go. Read by cdc-sink only.
	BigQuery BigQuery `yaml:"bigquery" need:"yes"`
	// What holds for every table that doesn't say otherwise.
	Defaults Options `yaml:"defaults"`
	// Which tables are captured and how. The first entry that matches a table
	// counts; a table that no entry matches isn't captured.
	Tables []Table `yaml:"tables" need:"yes"`
	// Addresses (host:port) of the health endpoints /healthz and /readyz. Port 0
	// takes a free port; the log then says which.
	Health Health `yaml:"health"`
	// What is logged.
	Log Log `yaml:"log"`

	keys keys
}

// Source is the Postgres side.
type Source struct {
	// Connection string of the primary, as a URL or as key=value words: whole in
	// file:/path or ${NAME}, or with its password as ${NAME}. Read again on each
	// connect. Unless the host is a loopback address or a Unix socket,
	// sslmode=verify-full is required.
	DSN Secret `yaml:"dsn" need:"yes"`
	// Name of the replication slot.
	Slot string `yaml:"slot" form:"slot"`
	// The publications that the slot reads.
	Publication Publication `yaml:"publication"`
	// Where checkpoint and lineage are kept: schema:NAME in the source, or
	// file:/path.
	State Place `yaml:"state"`
	// A file that takes over while the source can't be written; the newer
	// checkpoint of the two counts. Written file:/path.
	StateFallback Place `yaml:"state_fallback"`
	// Prefixes of logical messages (pg_logical_emit_message) that are passed on.
	Messages []string `yaml:"messages" form:"prefix"`
	// Changes in flight, both topics together.
	Window Bytes `yaml:"window" range:"16MiB..64GiB"`
	// What to do about an unchanged TOASTed value that Postgres didn't send: read
	// the row again, or stop.
	TOAST string `yaml:"toast" enum:"reread|fail"`
	// How often a heartbeat is written into the source's WAL and passed through
	// both topics.
	Heartbeat time.Duration `yaml:"heartbeat" range:"1s..10m"`
	// How far the slot may lag before the log warns, and before it says Error.
	SlotLag SlotLag `yaml:"slot_lag"`
	// How rows that were there before the slot are read.
	Snapshot Snapshot `yaml:"snapshot"`
}

// Publication names the publications of the slot.
type Publication struct {
	// Publication of the tables with usable identity.
	Name string `yaml:"name" form:"publication"`
	// Publication (inserts only) of the tables without usable identity.
	Inserts string `yaml:"inserts" form:"publication"`
	// Whether cdc-publisher changes the publications itself. If not, they are the
	// database administrator's.
	Managed bool `yaml:"managed"`
}

// SlotLag is the thresholds of the slot watch.
type SlotLag struct {
	// From here on the log warns.
	Warn Bytes `yaml:"warn" range:"1MiB..1PiB"`
	// From here on the log says Error.
	Error Bytes `yaml:"error" range:"1MiB..1PiB"`
}

// Snapshot is how existing rows are read.
type Snapshot struct {
	// Whether a table that is added later has its existing rows read.
	NewTables string `yaml:"new_tables" enum:"auto|none"`
	// Chunks read at the same time.
	Workers int `yaml:"workers" range:"1..64"`
	// Limit over all workers; 0 is no limit.
	RowsPerSecond int `yaml:"rows_per_second" range:"0..100000000"`
}

// PubSub is the topics and subscriptions.
type PubSub struct {
	// Google Cloud project of the topics and subscriptions.
	Project string `yaml:"project" need:"yes" form:"project"`
	// Region of the endpoint that is published to and received from: messages of
	// one key stay in order within one region. Required unless
	// PUBSUB_EMULATOR_HOST is set.
	Region string `yaml:"region" form:"region"`
	// Message retention of every subscription.
	Retention time.Duration `yaml:"retention" range:"10m..744h"`
	// The topic with ordering keys. Hedging doesn't exist here: a hedged copy
	// could overtake its original.
	Ordered Ordered `yaml:"ordered"`
	// The topic without ordering keys: snapshot rows, tables without usable
	// identity, ordering none.
	Unordered Unordered `yaml:"unordered"`
	// Where single changes go that can't be written.
	DeadLetter Link `yaml:"dead_letter"`
	// The way back: cdc-sink asks cdc-publisher to read rows again.
	Requests Link `yaml:"requests"`
	// What cdc-sink holds at most of each subscription.
	MaxOutstanding Outstanding `yaml:"max_outstanding"`
	// How long cdc-sink holds messages.
	Lease Lease `yaml:"lease"`
}

// Link is a topic and the subscription that is read from it.
type Link struct {
	// Name of the topic, without its project.
	Topic string `yaml:"topic" form:"pubsub"`
	// Name of the subscription, without its project.
	Subscription string `yaml:"subscription" form:"pubsub"`
}

// Ordered is the topic with ordering keys.
type Ordered struct {
	Link
	// Deadline of one publish request. After it the request is sent again, for
	// ever; a message stored later than this after its attempt began counts as a
	// late copy.
	AttemptTimeout time.Duration `yaml:"attempt_timeout" range:"1s..10m"`
	// Publish requests in flight.
	MaxInFlight int `yaml:"max_in_flight" range:"1..16384"`
}

// Unordered is the topic without ordering keys.
type Unordered struct {
	Link
	// Deadline of one attempt of a publish request.
	AttemptTimeout time.Duration `yaml:"attempt_timeout" range:"100ms..10m"`
	// Deadline of a publish request with its retries and hedges, after which it
	// is published anew.
	TotalTimeout time.Duration `yaml:"total_timeout" range:"100ms..1h"`
	// A second copy of a request that is slow to be answered: off, or how it is
	// sent.
	Hedging Hedging `yaml:"hedging"`
}

// Hedging is when a request is sent a second time.
type Hedging struct {
	Off bool `yaml:"-"`
	// How long a request may go unanswered before it is hedged; shorter than both
	// timeouts.
	Delay time.Duration `yaml:"delay" range:"100ms..10s"`
	// Size of the bucket that hedges are paid from.
	MaxTokens int `yaml:"max_tokens" range:"1..250"`
	// Tokens that each successful request puts into the bucket.
	RefillRatio float64 `yaml:"refill_ratio" range:"0.001..0.2"`
}

// Outstanding is a limit on messages held.
type Outstanding struct {
	// In messages.
	Messages int `yaml:"messages" range:"1..1000000"`
	// In bytes. One message may have 10 MB.
	Bytes Bytes `yaml:"bytes" range:"16MiB..64GiB"`
}

// Lease is for how long messages are held.
type Lease struct {
	// Acknowledgement deadline of a message, extended while it is held: how long
	// its redelivery takes when a sink dies.
	Min time.Duration `yaml:"min" range:"10s..600s"`
	// A message held longer is given back.
	Max time.Duration `yaml:"max" range:"10s..744h"`
}

// BigQuery is the destination.
type BigQuery struct {
	// Google Cloud project of the dataset.
	Project string `yaml:"project" need:"yes" form:"project"`
	// Location of the dataset, such as EU or europe-west3.
	Location string `yaml:"location" need:"yes" form:"location"`
	// Name of the dataset.
	Dataset string `yaml:"dataset" form:"dataset"`
	// Template of the tables' names: {table} and {schema} stand for Postgres'
	// names. Without {schema} it holds for the schema public, and tables of other
	// schemas get {schema}_ before {table}. Two tables of one name are found at start.
	Table string `yaml:"table" form:"template"`
	// How old what a query shows may be at most: auto computes it from
	// apply_budget, or a duration. Each apply reads the whole table, so short
	// times cost money; 0s merges in every query.
	MaxStaleness Staleness `yaml:"max_staleness"`
	// US dollars a day and table that the applies may cost, for max_staleness auto.
	ApplyBudget float64 `yaml:"apply_budget" range:"0.01..1000000"`
	// What one append holds.
	Batch Batch `yaml:"batch"`
}

// Batch is the limits of one append.
type Batch struct {
	// Rows at most.
	Rows int `yaml:"rows" range:"1..50000"`
	// Bytes at most, unless one row has more; BigQuery takes 20 MB.
	Bytes Bytes `yaml:"bytes" range:"64KiB..9MB"`
	// How long an append may wait for more rows; 0ms doesn't wait.
	Age time.Duration `yaml:"age" range:"0ms..1m"`
}

// Health is the addresses of the health endpoints.
type Health struct {
	// Of cdc-publisher.
	Publisher string `yaml:"publisher" form:"address"`
	// Of cdc-sink.
	Sink string `yaml:"sink" form:"address"`
}

// Log is what is logged.
type Log struct {
	// Lowest level that is logged. SIGUSR1 switches between it and debug.
	Level string `yaml:"level" enum:"debug|info|warn|error"`
	// How often the progress line is logged.
	Progress time.Duration `yaml:"progress" range:"1s..1h"`
}
