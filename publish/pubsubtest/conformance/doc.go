// Package conformance holds one suite of cases about Google Pub/Sub that runs
// against several servers: pubsubtest, Google's pstest, Google's Java emulator
// and the service itself. It has tests only.
//
// Who is authoritative: the service's documents. A case is a row {id, page, text,
// want}: what the page says and the outcome that follows from it. The same code,
// with Google's raw clients, runs on every server and returns an outcome: a short
// text of codes, texts in their order, counts and attribute names, without times
// and ids of the server. It asserts nothing. testdata/differences.json lists each
// case and server whose outcome isn't the one of the documents, and the page that
// decides.
//
// # Which servers
//
//	go test ./publish/pubsubtest/conformance                  pubsubtest and pstest
//	go test ./publish/pubsubtest/conformance -emulator        Google's emulator (Java), which it starts
//	go test ./publish/pubsubtest/conformance -emulator=JAR    the same from that jar
//	go test ./publish/pubsubtest/conformance -project=NAME    the service, in that project
//
// The emulator's differences are those of version 0.8.20.
//
// -update writes the file of differences anew for the cases and servers that were
// run. pubsubtest may differ only where the case itself gives the reason.
//
// Each case has topics and subscriptions of its own. The two servers in this
// process are started anew for every case, and pubsubtest's clock is moved instead
// of waiting. A case that would end the process (pstest panics at a seek) runs in
// a child process.
//
// The service needs application default credentials that may create and delete
// topics and subscriptions, and -endpoint=REGION-pubsub.googleapis.com:443 to
// stay within one region. All names begin with cdc-conformance- and a random
// prefix that is printed, and are deleted after each case. Nobody has run this
// against the service yet: the documents' outcomes are its promises, not observations.
// The dead-letter cases need what
// https://docs.cloud.google.com/pubsub/docs/dead-letter-topics#grant_forwarding_permissions
// says for the project's service agent. The cases about time wait for real there,
// and one about an age of 45 hours looks only at its first seconds.
//
// # What happens on failure
//
// A difference that appears, vanishes or changes fails its case; on other servers
// than pubsubtest only if it shows twice in a row within three tries, since on a
// busy machine leases run out early and messages come late. A missing jar or Java
// fails -emulator with what to do. A service that can't be reached or refuses to list
// topics fails before any case. The emulator's process ends with the test, also if that is killed: a
// shell holds it and kills it when its input ends.
package conformance
