// Package catalog reads what the source says about itself: the tables of a
// publication with their columns, identity and fingerprint; publications and
// slots with their flags; and the session settings on which the text of a value
// depends.
//
// The live catalog is authoritative for the moment at which it is read and for
// no other: a RELATION message describes a table as it was at the changes that
// follow it. So the caller keeps the fingerprint under which it started and
// compares (Table.Diff, Table.Matches); it never takes a column's meaning from
// the live catalog while the stream lags.
//
// Nothing here writes. A connection belongs to its caller, and every function
// takes one that isn't used by anybody else at the time.
package catalog
