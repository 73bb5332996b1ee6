// Package storagewrite turns changes into protobuf rows and appends them to
// BigQuery's default stream with change data capture
// (https://cloud.google.com/bigquery/docs/change-data-capture).
//
// Encoding: a Layout gives the columns of a destination table field numbers and
// a descriptor; a Plan says how the columns of one schema.Table become fields;
// AppendRow writes a row straight to wire bytes. What BigQuery would change
// silently (a scale that is too long, an integer in JSON above 64 bit, a null in
// an array) is refused here with a RowError, whose row goes to the dead letter.
//
// Appending: a Writer holds one Stream for each table and schema version. A
// Stream is closed (its connection isn't open), open, or broken; the next append
// opens it. BigQuery is authoritative for what was written: an append without an
// answer may have been applied, and is sent again, which the sequence number on
// every row makes harmless. Append makes one attempt and says what its failure
// means (see Verdict); the caller repeats, splits, or stops.
//
// Why not the library's retries: they pause the goroutine that receives all
// answers of a connection, and give up after four attempts.
package storagewrite
