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
//
// The codec has no states beyond one message. A message that breaks a rule of
// version 1 or a limit is refused as a whole with one of the errors in errors.go;
// its text names fields and columns, never a value. What to do with such a
// message is its caller's business. A Decoder keeps Tables and strings from
// message to message, all of them bounded, and loses nothing but time when it
// forgets them.
package schema
