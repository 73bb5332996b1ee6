package capture

import (
	"fmt"
	"strings"

	"cdc/capture/catalog"
	"cdc/capture/state"
	"cdc/schema"
)

// Finding is something that keeps capture from running, or that endangers it.
type Finding struct {
	Code    string // stable, snake_case
	Problem string // what is wrong, with names and never a row's value
	Fix     string // what to do
	Blocks  bool   // Run stops because of it; the others are warnings of Check
}

// Error is why Run, Init or Check stopped. It has the methods Code and Fix.
type Error struct {
	finding Finding
	cause   error
	lost    bool // the replication connection is gone or must go: nothing more is confirmed
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.finding.Problem + ": " + e.cause.Error()
	}
	return e.finding.Problem
}

// Unwrap returns what caused it, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Code returns the stable name of the error.
func (e *Error) Code() string { return e.finding.Code }

// Fix says what to do.
func (e *Error) Fix() string { return e.finding.Fix }

// firstBlocking returns the first finding that blocks as an error that counts
// the others, nil if none blocks.
func firstBlocking(findings []Finding) error {
	var first *Error
	more := 0
	for _, f := range findings {
		switch {
		case !f.Blocks:
		case first == nil:
			first = &Error{finding: f}
		default:
			more++
		}
	}
	if first == nil {
		return nil
	}
	if more > 0 {
		first.finding.Problem += fmt.Sprintf(" (and %d more: cdc-publisher check shows all)", more)
	}
	return first
}

func blocking(code, fix, format string, args ...any) Finding {
	return Finding{Code: code, Problem: fmt.Sprintf(format, args...), Fix: fix, Blocks: true}
}

// startAnew is the way out of what this version doesn't handle.
const startAnew = "this version can't carry on with it: stop cdc-publisher, drop the slot, remove the state of the slot, " +
	"empty the tables on both sides or set snapshot: none for them, and run cdc-publisher init"

func findTableGone(t state.Table) Finding {
	return blocking("table_missing", startAnew,
		"table %s.%s (oid %d) was dropped, recreated, moved or taken out of the publication", t.Schema, t.Name, t.OID)
}

func findTableChanged(t state.Table) Finding {
	return blocking("schema_changed", startAnew,
		"table %s.%s isn't what it was when its changes were last handed on: columns, key, name, partitions, contents or publication were changed", t.Schema, t.Name)
}

func findTableAdded(t *catalog.Table) Finding {
	return blocking("table_added", "take the table out of the publication or of the configuration; adding one to a running slot isn't handled yet: "+startAnew,
		"table %s was added to the publication after cdc-publisher init", t)
}

func findTruncated(names []string) Finding {
	return blocking("truncated", startAnew, "TRUNCATE of %s", strings.Join(names, ", "))
}

func findUnchangedTOAST(table, column string) Finding {
	return blocking("unchanged_toast", "ALTER TABLE "+table+" REPLICA IDENTITY FULL makes Postgres send such values from now on; "+
		"for the change that stopped the stream: "+startAnew,
		"table %s: the unchanged TOASTed value of column %q wasn't sent", table, column)
}

func findNotConfigured(name string) Finding {
	return blocking("table_not_configured", "add the table to the configuration's tables, or take it out of the publication",
		"table %s is published but no entry of tables matches it", name)
}

func findNotPublished(what, publication string) Finding {
	return blocking("table_not_published", "run cdc-publisher init before the slot is made, or ALTER PUBLICATION "+publication+
		" ADD TABLE …, or correct the configuration's tables", "%s is configured but not in publication %s", what, publication)
}

func findNoIdentity(t *catalog.Table) Finding {
	return blocking("no_usable_identity", "give it a primary key that isn't deferrable, or REPLICA IDENTITY USING INDEX with a unique index "+
		"on NOT NULL columns, or leave it out of tables and publication",
		"table %s has no usable identity (valid, immediate, not partial, unique, on NOT NULL columns, the replica identity)", t)
}

func findFiltered(t *catalog.Table, publication string) Finding {
	return blocking("publication_filter", "publish the table without WHERE and column list: ALTER PUBLICATION "+publication+" SET TABLE …",
		"table %s is published with a row filter or a column list, which isn't handled yet", t)
}

func findUnlogged(t *catalog.Table) Finding {
	return blocking("table_unlogged", "ALTER TABLE … SET LOGGED before cdc-publisher init, or leave it out",
		"table %s is unlogged: its changes aren't in the WAL", t)
}

func findExistingRows(names []string) Finding {
	return blocking("existing_rows", "empty them, or set snapshot: none for tables whose present rows aren't wanted; reading them isn't handled yet",
		"rows were there before the slot in %s", strings.Join(names, ", "))
}

func findSlotAdvanced(confirmed, checkpoint schema.LSN) Finding {
	return blocking("slot_advanced", startAnew,
		"the slot was advanced or recreated by somebody else: it confirms %s, the checkpoint is %s; changes between them weren't published", confirmed, checkpoint)
}

func findNotInitialized(what string) Finding {
	return blocking("not_initialized", "run cdc-publisher init", "%s", what)
}

func findLost(err error) *Error {
	return &Error{cause: err, lost: true, finding: blocking("connection_lost",
		"nothing if it happens seldom: the next start carries on where this one stopped; otherwise look at the network and the server's log",
		"the connection to the source was lost")}
}

func findUnreachable(err error) *Error {
	return &Error{cause: err, lost: true, finding: blocking("source_unreachable",
		"start the server, or correct source.dsn, or open the network between here and there", "the source can't be reached")}
}
