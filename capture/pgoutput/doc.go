// Package pgoutput turns the bytes of a logical replication connection into
// messages and back: the pgoutput plugin's protocol version 1 with logical
// messages, the XLogData and keepalive frames around it, and the standby status
// update. Its names are the manual's
// (https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html,
// https://www.postgresql.org/docs/current/protocol-replication.html).
//
// It is pure: bytes in, values out, no state, no I/O, no clock. The server is
// authoritative; nothing here guesses. Every length is checked against the
// buffer before it is used, so foreign bytes give an error and never a panic.
//
// Rows aren't copied: the values of a RowChange are slices of the buffer that
// was parsed and are valid as long as that is. Parsing a row allocates nothing
// once the RowChange has grown to the table's width.
package pgoutput
