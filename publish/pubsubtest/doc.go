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
// A message of a subscription is waiting, leased (delivered, not acked, its
// deadline runs), acked (only while an earlier message of its ordering key is
// not: it comes back if that one does), retained (acked and kept for seek), or
// gone. A nack or a deadline that passes is a failure: the message waits again,
// with all later ones of its key, or is forwarded as a dead letter and so done
// with. The end of the retention makes it gone from any state; a seek makes it
// waiting or done with from any state. An ordering key exists only while it has a
// message that is waiting, leased or acked; a drained key costs nothing: no
// goroutine, timer or map entry. backlog.go and redeliver.go hold this machine,
// retention.go and seek.go what is kept, without I/O, goroutines or a clock.
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
