package config

import (
	"strings"
	"time"
)

// Options is what can be said about a table, under defaults and under an entry
// of tables. An empty field of an entry takes the value of defaults.
type Options struct {
	// Which tables BigQuery gets: the current rows, the history of changes, or
	// both. A table without usable identity has history only.
	Mode string `yaml:"mode" enum:"current|history|both"`
	// What keeps its order: primary_key (each key), hash: N (each of N buckets of
	// keys; many changes a message, at most 1 MB/s a bucket), or none (the
	// unordered topic; Positions put it right).
	Ordering Ordering `yaml:"ordering"`
	// Whether rows that are there before the slot are read: auto, or none.
	Snapshot string `yaml:"snapshot" enum:"auto|none"`
	// What a rewrite of the table that left its columns alone (VACUUM FULL,
	// CLUSTER) leads to: a warning, or reading the table again.
	OnRewrite string `yaml:"on_rewrite" enum:"warn|refresh"`
	// How an unchanged TOASTed value that stays unknown is sent: left out of
	// after, or as a placeholder. It is listed in unchanged either way.
	Unchanged string `yaml:"unchanged" enum:"omit|placeholder"`
	// What happens to a change that is larger than a message may be.
	Oversize string `yaml:"oversize" enum:"dead_letter|fail"`
	// What happens to a value that its BigQuery column can't hold: the change
	// goes to the dead letter, the value becomes null, or the nearest that fits.
	BadValue string `yaml:"bad_value" enum:"dead_letter|null|clamp"`
}

// Table is one entry of tables.
type Table struct {
	// Which tables this is about, as schema.table. * stands for any characters; a
	// name in double quotes is taken as it stands.
	Match Pattern `yaml:"match" need:"yes"`
	Options
	// What is done to single columns, by name.
	Columns map[string]Column `yaml:"columns"`
	// How the history table is partitioned and kept.
	History History `yaml:"history"`
}

// Column is what is done to one column.
type Column struct {
	// Leave the column out.
	Exclude bool `yaml:"exclude"`
	// Replace the value by its hash.
	Mask string `yaml:"mask" enum:"sha256"`
	// What goes into the hash before the value, as ${NAME} or file:/path.
	Salt Secret `yaml:"salt"`
	// Type of the BigQuery column.
	Type string `yaml:"type" enum:"BOOL|INT64|FLOAT64|NUMERIC|BIGNUMERIC|STRING|BYTES|JSON|DATE|DATETIME|TIME|TIMESTAMP"`
	// As bad_value of the table, for this column.
	BadValue string `yaml:"bad_value" enum:"dead_letter|null|clamp"`
}

// History is how a history table is kept.
type History struct {
	// The time that one partition holds.
	Partition string `yaml:"partition" enum:"hour|day|month|year"`
	// How long a partition is kept; for ever if not set.
	Keep time.Duration `yaml:"keep" range:"1h..36500d"`
}

// The words of Options.
const (
	ModeCurrent = "current"
	ModeHistory = "history"
	ModeBoth    = "both"

	OrderPrimaryKey = "primary_key"
	OrderHash       = "hash"
	OrderNone       = "none"
)

// Match returns the options of schema.name: those of the first entry that
// matches, completed from Defaults. It returns false if no entry matches: the
// table isn't captured.
func (c *Config) Match(schema, name string) (Table, bool) {
	for _, t := range c.Tables {
		if t.Match.Matches(schema, name) {
			t.Options = t.Options.or(c.Defaults)
			return t, true
		}
	}
	return Table{}, false
}

func (o Options) or(d Options) Options {
	pick := func(s, d string) string {
		if s == "" {
			return d
		}
		return s
	}
	o.Mode = pick(o.Mode, d.Mode)
	if o.Ordering == (Ordering{}) {
		o.Ordering = d.Ordering
	}
	o.Snapshot = pick(o.Snapshot, d.Snapshot)
	o.OnRewrite = pick(o.OnRewrite, d.OnRewrite)
	o.Unchanged = pick(o.Unchanged, d.Unchanged)
	o.Oversize = pick(o.Oversize, d.Oversize)
	o.BadValue = pick(o.BadValue, d.BadValue)
	return o
}

// TableName returns the name of the BigQuery table of schema.name.
func (b *BigQuery) TableName(schema, name string) string {
	template := b.Table
	if schema != "public" && !strings.Contains(template, "{schema}") {
		template = strings.Replace(template, "{table}", "{schema}_{table}", 1)
	}
	return strings.NewReplacer("{schema}", schema, "{table}", name).Replace(template)
}
