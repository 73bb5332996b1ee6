// Package tables makes and checks the destination tables: one BigQuery table for
// each captured table, with the primary key that change data capture needs
// (https://cloud.google.com/bigquery/docs/change-data-capture).
//
// A schema.Table, which came with a message, is authoritative for what a table
// must have; BigQuery is authoritative for what it has. Ensure compares the two:
// it creates what is missing, accepts what another sink has created meanwhile,
// and refuses, with a Code and a Fix, what doesn't fit. A table is never dropped
// or recreated: streams, policies, grants and views hang on it. Columns that the
// table has beyond the message's are left alone and read as NULL in new rows.
//
// An error that is an *Error needs a person; any other is worth a retry.
package tables
