package config

import (
	"fmt"
	"slices"
	"strings"
)

// Service is one of the two services.
type Service string

// The services.
const (
	Publisher Service = "cdc-publisher"
	Sink      Service = "cdc-sink"
)

// later is a key that the file may set and that this version does nothing about.
// It is refused when a service starts instead of being ignored.
type later struct {
	key  string   // with all that is under it
	by   string   // p: cdc-publisher reads it, s: cdc-sink, ps: both
	does []string // the values that are what this version does
	what string   // what comes later
}

// laters is the whole list, but for max_staleness auto, which is refused as a
// default too: what a later version does, it takes out here.
var laters = []later{
	{"source.publication.inserts", "p", nil, "capture of tables without usable identity"},
	{"source.publication.managed", "p", []string{"false"}, "managed publications"},
	{"source.state_fallback", "p", nil, "the fallback file for state"},
	{"source.messages", "p", nil, "passing on logical messages"},
	{"source.toast", "p", nil, "reading unchanged TOASTed values again"},
	{"source.heartbeat", "p", nil, "heartbeats"},
	{"source.slot_lag", "p", nil, "the slot watch"},
	{"source.snapshot", "p", nil, "snapshots"},
	{"pubsub.unordered", "ps", nil, "the unordered topic"},
	{"pubsub.requests", "ps", nil, "requests"},
	{"bigquery.apply_budget", "s", nil, "max_staleness by budget"},
	{"bigquery.batch.age", "s", []string{"0ms", "0s"}, "waiting for fuller batches"},
}

// laterOptions is the same for what stands under defaults and an entry of tables.
var laterOptions = []later{
	{"mode", "ps", []string{ModeCurrent}, "history tables"},
	{"ordering", "ps", []string{OrderPrimaryKey}, "this ordering"},
	{"snapshot", "p", []string{"auto", "none"}, "snapshots"},
	{"on_rewrite", "p", []string{"warn"}, "refresh after a rewrite"},
	{"unchanged", "p", []string{"omit"}, "placeholders for unchanged values"},
	{"oversize", "p", []string{"fail"}, "the dead letter for oversized changes"},
	{"bad_value", "s", []string{"dead_letter"}, "this policy for bad values"},
	{"columns", "ps", nil, "rules for columns"},
	{"history", "s", nil, "history tables"},
}

// NotYet returns a finding for each key that the file sets, that service reads
// and that this version doesn't act on; nil if there is none. A service doesn't
// run with one.
func (c *Config) NotYet(service Service, file string) error {
	letter := "p"
	if service == Sink {
		letter = "s"
	}
	var all Findings
	add := func(l later, path string) {
		if !strings.Contains(l.by, letter) {
			return
		}
		k, ok := c.keys[path]
		if !ok || slices.Contains(l.does, k.text) {
			return
		}
		do := "take the key out"
		if len(l.does) > 0 {
			do += ", or write " + strings.Join(l.does, " or ")
		}
		all = append(all, Finding{file, k.line, k.column, path, "not in this version of " + string(service) + " yet: " + l.what, do})
	}
	for _, l := range laters {
		add(l, l.key)
	}
	for _, l := range laterOptions {
		add(l, "defaults."+l.key)
		for i := range c.Tables {
			add(l, fmt.Sprintf("tables[%d].%s", i, l.key))
		}
	}
	for i, t := range c.Tables {
		if _, ok := t.Match.Plain(); !ok && service == Publisher {
			path := fmt.Sprintf("tables[%d].match", i)
			line, column := c.keys.at(path)
			all = append(all, Finding{
				file, line, column, path,
				"not in this version of " + string(service) + " yet: names that hold a dot or an asterisk", "match the table by a pattern",
			})
		}
	}
	if service == Sink && c.BigQuery.MaxStaleness.Auto {
		const key = "bigquery.max_staleness"
		line, column := c.keys.at(key)
		all = append(all, Finding{
			file, line, column, key,
			"not in this version of " + string(service) + " yet: max_staleness auto, which is the default too", "write a duration, such as 15m or 0s",
		})
	}
	return all.orNil()
}
