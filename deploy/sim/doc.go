// Sim runs the product's state machines in a made-up world until something
// breaks: no goroutine, clock, lock or I/O within a run, a seed picks each next
// step, and the checkers of schematest run beside it.
//
//	make sim                 10,000 new seeds on all processors; prints the first
//	SEED=n make sim          one seed once more, with its last steps in words
//	go run ./deploy/sim --help
//	go test ./deploy/sim     500 seeds, the same ones every time, and the planted bugs
//
// The tests' seeds are fixed, so that they fail for a change of the code only;
// make sim starts at the clock's time, so that every run looks at new ones. A
// seed is the whole run, as long as this package stays as it is: a new step
// gives all seeds another meaning, so keep a finding as a test of its machine.
//
// # The world
//
// The machines are the product's own: confirm.Window, queue.Queue, pull.Order.
// What stands around them is modelled, one file a part:
//
//	source      transactions of schematest.Workload; streamed again from the slot's
//	            confirmed LSN; a crash moves that back to what was saved; keepalives
//	publisher   one process: receives, publishes with one or several changes a
//	            request, retries; checkpoint and status are steps of their own
//	            (confirming); the watch with its gate, which doesn't open again
//	topic       stores requests as they arrive, late ones too, in one time each;
//	            delivers a key in order, several outstanding; repeats a message with
//	            all later ones of its key, acked ones too; drops or defers an ack
//	            that came before an earlier one's; while it has a fault (no
//	            subscription, a transform) what is published is accepted and gone
//	sink        one process: ack order, and a queue, batches and held keys for each
//	            table that stand for the real batcher
//	bigquery    the highest Position of a row wins (schematest.Convergence)
//	call        every request: it arrives, is answered, refused, times out, its
//	            answer is lost; after a time-out or a crash it may still arrive
//
// What the documents leave open, and sizes and frequencies, are drawn for each
// seed (nature). After some chaos the world heals and has to come to rest.
//
// # What is checked
//
//	order        first occurrences are stored in commit order without a gap
//	confirmed    nothing is confirmed that wasn't stored
//	checkpoint   nothing is confirmed above the durable checkpoint
//	window       nothing is handed on while the window's bytes are in flight
//	in flight    one publish request a key
//	ack          nothing is acked that isn't written
//	ack order    nothing is acked before an earlier message of its key
//	give back    nothing later of a key stays when a message is given back
//	convergence  in the end BigQuery has what the source has
//	stuck        in the end everything has arrived, is confirmed and acked
//
// Each of them is shown to fail by planted bugs, which replace one of the
// product's decisions. Findings and traces tell tables, Positions and hashes of
// keys, never values.
//
// # What isn't
//
// Time plays no part beyond back-offs and rests: no lease times, retention,
// forgotten deletes, schema delays. Not yet here: the unordered topic, snapshots,
// floors and sweeps, unchanged TOAST, dead letters, two sinks or publishers at
// once, epochs. A publish request that is on its way when a fault of the topic
// ends is gone: stored then, it would follow what the fault swallowed, and
// nothing in the product could prevent that. A message of a key that was on its
// way when an earlier one was given back may be acked first: Pub/Sub repeats it.
//
// # To add a machine
//
// Give it a file with its state and a table of steps, put the table into
// allSteps, let its owner's crash forget it, and add its decisions and checkers
// with a planted bug each.
package main
