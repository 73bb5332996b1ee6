// Package schema holds the words that both services share and the wire format
// between them: Position, Change, Row, Key, Table, control messages, requests,
// and their encoding as Pub/Sub messages (version 1, drawn field by field in
// WIRE.md).
//
// It is a leaf: it imports the standard library only and does no I/O. Nothing
// in it is authoritative; Postgres is for rows, and a Position decides which of
// two rows is newer, never the order of arrival.
//
// A row exists in two representations and no third: the bytes that were
// received, and a Change whose values alias those bytes. Values are Postgres
// text on both sides: the encoder turns them into JSON, the decoder turns the
// JSON back into the same text, so canonical keys are equal everywhere.
package schema
