// Package control is the small HTTP endpoint by which a stand-in is asked from
// outside: what it has counted, which faults wait in it, what its clock says. A
// test whose stand-in runs in another process uses it, and a person with curl.
//
// It knows nothing of the product and nothing of a service: a stand-in brings
// its own [Endpoint] list, and [Standard] makes those that every stand-in has.
//
// # What goes over the wire
//
// A request has a JSON object as its body or none, and no query. Decoding is
// strict: an unknown field, a wrong type or a body over 64 KiB is refused. Field
// names are the Go names in snake_case (Counters.AcksOutOfOrder is
// acks_out_of_order), durations are Go's texts ("1h30m", from 0 to 87600h),
// status codes are gRPC's names ("UNAVAILABLE").
//
// Every answer is JSON, but that of GET /help, which is GET / as text. A refusal
// is {"error": "what is wrong and what is allowed"} with status 400 (what was
// asked), 404 or 405 (where) or 413 (too large); it changed nothing.
//
// # Life
//
// [Listen] serves until [Server.Close], on a loopback address only: whoever
// reaches it may do everything. It holds no state of its own.
package control
