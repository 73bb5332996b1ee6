// Package pubsubtest is a stand-in for Google Pub/Sub: an in-process server
// that speaks the real gRPC protocol on a loopback port and fails what the real
// service fails. Real Google clients drive it; nothing of them is mocked.
//
// Who is authoritative: the service's documentation. Each rule that the server
// follows is a row of [Rules] with the page that states it and the test that
// breaks it with a raw Google client; RULES.md is generated from that table.
// What the documentation leaves open is a setting in [Config], so that a product
// can be tested both ways. A rule is never bent to make a product pass.
//
// Refused with UNIMPLEMENTED: what rule not-implemented lists. Not followed: quotas
// of a project or a region, the number of resources in a project, the about 10 MB/s
// of one StreamingPull stream, and client_id, by which the state of a stream can go
// over to its successor.
//
// # States
//
// A message of a subscription:
//
//	publish, seek ──▶ waiting ──take──▶ leased ──ack, out of order──▶ acked
//	                     ▲                │ │                          │ │
//	                     └───giveBack─────┴─┼──────────────────────────┘ │
//	           ack, all earlier ones of its │                            │ the earlier ones
//	                   key too; or bury     ▼                            │ are acked now
//	                                      finish ◀───────────────────────┘
//	                                        ├──▶ retained   with retain_acked_messages
//	                                        └──▶ gone
//
// giveBack and bury follow a failure, which is a nack or a deadline that passes.
// giveBack brings back an ordered message with all later ones of its key, leased or
// acked; bury makes it a dead letter, which is forwarded. From any state, retained
// too, a message is gone when its retention is over, and a seek makes it waiting
// (to before its time) or finishes it. These are methods of backlog, in backlog.go,
// redeliver.go, deadletter.go, retention.go and seek.go; hold.go has a fault. They
// work without I/O, goroutines or a clock.
//
// An ordering key with a message to deliver stands in one place: among the fresh
// keys, which any consumer may take; in the list of the stream that has messages of
// it outstanding (affinity); in the heap of those that wait for their back-off; or
// nowhere, while unary Pulls have a batch of it outstanding, or if its stream has
// ended and [KeyHeld] says so. The fault [HoldOthers] lets no key be taken while a
// lease that it marked is left. A key exists only while it has a message that is
// waiting, leased or acked; a drained key costs nothing: no goroutine, timer or map
// entry.
//
// A subscription is there until it is deleted or expires; a topic's own retention
// keeps its messages for seek whatever its subscriptions do.
//
// Time is the machine's clock plus what [Server.Advance] added, to the year 2200. Leases, back-off,
// retention, expiration, late storing and the rate of an ordering key follow that
// clock; faults that delay an answer wait in real time, since the caller's
// deadline does.
//
// # What happens on failure
//
// All state is in memory and gone with [Server.Close]. A fault queued with
// [Server.Inject] fails one call in the named way; a damage done with
// [Server.Sabotage] breaks the service's own promises, so that a checker can
// show that it notices. A server in another process can be asked for all that
// over HTTP, if [Config].ControlAddr is set: GET /help there lists how.
package pubsubtest
