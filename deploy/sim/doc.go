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
//	source      transactions of schematest.Workload, some without a change of ours;
//	            streamed again, whole, from the slot's confirmed LSN; a crash moves
//	            that back to what was saved; keepalives, also for WAL of others
//	publisher   one process: receives, publishes with one or several changes a
//	            request, retries; checkpoint and status are steps of their own
//	            (confirming)
//	takeover    a process that lost its slot and doesn't know: it goes on beside the
//	            next one with what had been sent to it, and may write the state as
//	            long as nobody else has made that its own
//	watch       looks at the topic: the first look without a fault opens the gate, a
//	            later one with a fault shuts it for good; then the process ends
//	topic       stores requests as they arrive, late ones too, in one time each;
//	            delivers a key in order, several outstanding, to one sink while that
//	            has unacked ones, else to any; repeats a message with all later ones
//	            of its key, acked ones too; drops or defers an ack that came before an
//	            earlier one's; while it has a fault (no subscription, a transform)
//	            what is published is accepted and gone
//	sink        up to two processes: each an ack order, and a queue, batches and held
//	            keys for each table that stand for the real batcher
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
//	checkpoint   nothing is confirmed above the durable checkpoint, which never falls
//	window       nothing is handed on while the window's bytes are in flight; it counts
//	             what is in flight, and what may be confirmed never falls; it is settled only
//	             if all that was committed on the stream may be confirmed
//	in flight    one publish request a key, and no more in all than the limit
//	request      a publish request keeps the limits of its size
//	queue        it hands out a request if and only if it says so
//	ack          nothing is acked that isn't written or hidden by what is; a request
//	             keeps the limits of its size
//	ack order    nothing is acked before an earlier message of its key
//	give back    nothing later of a key stays when a message is given back
//	convergence  in the end BigQuery has what the source has
//	stuck        in the end everything has arrived, is confirmed, to the end of others'
//	             WAL too, and acked
//	left over    and then the window and the queue count nothing any more
//	panic        no machine is told what can't be
//
// Each of them is shown to fail by a test: most by planted bugs, which replace one
// of the product's decisions. Findings and traces tell tables, Positions and
// hashes of keys, never values.
//
// # What isn't
//
// Time plays no part beyond back-offs and rests: no lease times, retention,
// forgotten deletes, schema delays; nor does the rate of a key. Not yet here: the
// unordered topic's publisher, snapshots, floors and sweeps, unchanged TOAST, dead
// letters, epochs, a stop in good order.
//
// A fault of the topic isn't over before the watch of the process that publishes
// has seen it: a subscription that is deleted and made again between two looks is
// not noticed, and what was published meanwhile is lost. For the same reason a
// publish request that is on its way when a fault ends is gone, and an old process
// doesn't outlive the fault: stored then, a message would follow what the fault
// swallowed, and nothing in the product could prevent that.
//
// An ack id that a newer delivery of its message replaced may be sent in any
// order, and so may that of a message that was on its way when an earlier one was
// given back: Pub/Sub repeats both.
//
// # To add a machine
//
// Give it a file with its state and a table of steps, put the table into
// allSteps, let its owner's crash forget it, let quiet and rest ask whether it has
// come to its end, and add its decisions and checkers with a planted bug each.
// Then break the machine itself, one line at a time: a broken line that no seed
// finds is either harmless or something that this world doesn't do yet.
package main
