// Package publish brings messages to Pub/Sub: the ordered Dispatcher, the Watch
// over topics and subscriptions, and the Admin that creates them.
//
// # Dispatcher
//
// Publish copies a message into the queue of its ordering key. One request is in
// flight per key and it carries that key's messages only (production refuses a
// mix with FAILED_PRECONDITION); what gathers meanwhile goes into the key's next
// request. So Pub/Sub stores the first occurrences of a key's messages in the
// order of the Publish calls, without a gap. Copies may follow: an attempt whose
// answer was lost or came too late is sent again.
//
// What is sent next is decided by the room queue, whose comment has the states of
// a key. A key that drains leaves nothing behind: no map entry, goroutine or timer. It
// is drained when its rest is over as well; at most throughput ÷ 0.9 MB/s keys
// rest at a time.
//
// # Failure
//
// Pub/Sub's answer is authoritative for what is stored, and only a positive one
// counts. A code that can pass by itself is retried for ever with back-off; any
// other ends Run with an error that has Code and Fix, and nothing later of that
// key was published (errors.go has each code with its reason). There is no
// resume: the confirmed LSN hasn't moved past what wasn't accepted, a restart
// publishes it again, and Positions make the copies harmless. After Run has
// returned nothing more is sent.
//
// # The Watch and the gate
//
// Pub/Sub drops what is published to a topic without a subscription. While the
// Watch finds fault the Dispatcher's gate is shut: nothing is sent, and an
// answer to what was sent before doesn't count, whenever it comes. Only holding
// back the calls of accepted would be wrong: when the subscription is there again
// they would be let go, and what was published without it is gone.
//
// What was accepted between the last good check and the one that found the fault
// can't be told apart any more. So whoever confirms asks Vouch first: it checks
// anew, and after a fault it refuses until the process is started again, which
// sends everything again that wasn't confirmed. Until then the gate stays shut,
// also when the fault is repaired (then the Watch's Run ends with an error):
// what came next would be stored before what was dropped. A subscription that is deleted
// and made again between two checks is not noticed.
package publish
