// Package bigquerytest is a local stand-in for BigQuery: a REST server for
// datasets, tables, jobs and table data, and a gRPC server for the default
// stream of the Storage Write API. Google's own clients drive both; nothing in
// a client is replaced but its endpoint.
//
// # What it does
//
// It refuses what the service's documentation says is refused, with its code.
// A message is the service's own where the rule's row or a comment names a
// report of it; every other text is ours, so a product mustn't read any. Every
// rule is a row of the table in rulelist.go with its page and its test; RULES.md
// is that table. What isn't built yet is refused aloud: REST answers 501 with the
// reason notImplemented, gRPC answers UNIMPLEMENTED, SQL answers 400 with
// invalidQuery.
//
// What the documentation leaves open is a field of [Config], so that a product
// can be tested both ways.
//
// # Who is authoritative
//
// Google's documentation decides, then reported answers of the real service,
// then the strictest reading. Nothing here was compared with the real service.
//
// # States
//
// A table holds, for each primary key, the current version of the row and what
// the baseline still shows. A background apply makes both equal and moves the
// apply watermark; it happens when an interval has passed on the server's
// clock. That clock runs with real time and can be moved by [Server.Advance].
// A query shows the baseline within max_staleness and merges beyond it. A view
// is a table without rows whose query runs each time; the schema that it shows
// is frozen until its query is set again. A name that was dropped is remembered
// for an hour: quotas go on, and streams meet a table of that name later.
//
// # SQL
//
// One table, view or subquery a SELECT: no joins, no set operations, no
// functions but COUNT, MIN, MAX, SUM and ROW_NUMBER, no arithmetic. The DDL is
// that of tables, views, columns and keys; of DML only TRUNCATE TABLE runs.
//
// A text becomes tokens (sqllex.go), then a statement (sqlparse.go; sqlselect.go
// and sqlexpr.go, sqlddl.go and sqlalter.go). DDL runs in sqlrun.go, sqlcolumn.go
// and sqlview.go. A SELECT runs in sqlexec.go, clause by clause in the service's
// order; each makes a relation of the one before it, with expressions that
// sqlcompile.go has turned into functions of a row.
//
// # On failure
//
// A request is appended whole or not at all. [Server.Inject] queues faults,
// among them an answer that is lost after its rows were stored; a server in
// another process takes them over HTTP, if [Config].ControlAddr is set (GET /help
// there lists how). Everything is in memory and gone after [Server.Close].
package bigquerytest
