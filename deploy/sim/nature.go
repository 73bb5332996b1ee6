package main

import "math/rand/v2"

// nature is what a seed fixes for a whole run, so that runs differ in character:
// what the services' documents leave open, the sizes, and how often each thing
// happens.
type nature struct {
	deferAcks    bool // an ack that came before an earlier one of its key waits; else it is dropped
	staleAcks    bool // an ack id of an earlier delivery still counts
	buckets      int  // ordering keys a table; 0: one a row
	window       int64
	requests     int // of the dispatcher in flight
	messages     int // in a publish request
	outlet       int // messages outstanding at the sink
	batchRows    int
	keyRate      float64
	ackIDs       int  // in an Acknowledge request
	ackBytes     int  // of them
	sinks        int  // processes
	keyless      bool // the subscription has no ordering
	burst        int  // records or messages that come at once
	transactions int  // in all
	chaosScale   int  // sixths of the usual chaos; 0: a quiet run
}

func newNature(r *rand.Rand) nature {
	n := nature{
		deferAcks: r.IntN(2) == 0, staleAcks: r.IntN(2) == 0,
		window: 256 << r.IntN(10), requests: 1 + r.IntN(8), messages: 1 + r.IntN(5),
		outlet: 2 << r.IntN(6), batchRows: 1 << r.IntN(6), ackIDs: 1 << r.IntN(6),
		ackBytes: 4 << r.IntN(8), sinks: 1 + r.IntN(2),
		burst: 1 + r.IntN(6), transactions: 10 + r.IntN(50), chaosScale: r.IntN(5),
	}
	if r.IntN(8) == 0 {
		n.transactions, n.window = 5*n.transactions, 1<<20
	}
	n.keyless = r.IntN(8) == 0
	if r.IntN(3) == 0 {
		n.buckets = 1 + r.IntN(3)
	}
	if r.IntN(2) == 0 {
		n.keyRate = 20_000 // a message of 300 bytes rests its key for 15 ms
	}
	return n
}

// weigh draws the weight of each step: its usual one up to sixteen times; some
// kinds of chaos are left out of a run.
func (n *nature) weigh(r *rand.Rand, steps []step) []int {
	weights := make([]int, len(steps))
	for i, s := range steps {
		weights[i] = max(1, s.weight<<r.IntN(5))
		if s.chaos {
			weights[i] = weights[i] * n.chaosScale / 6
			if r.IntN(4) == 0 {
				weights[i] = 0
			}
		}
	}
	return weights
}
