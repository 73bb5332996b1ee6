// Package deadletter publishes what can't be written to the dead-letter topic:
// one change, or one message that can't be decoded, with why it was refused and
// where it came from. The topic is unordered.
//
// Pub/Sub is authoritative for what is stored: Send returns nil only after it
// has accepted the letter, and repeats what fails for a while. A letter whose
// answer is lost is sent again, so a letter may come twice; it carries the
// message id and the Position by which a reader can tell.
package deadletter
