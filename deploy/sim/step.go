package main

import "slices"

// step is one thing that can happen next. A machine that joins the simulation
// brings its own table of them; allSteps puts the tables together.
type step struct {
	name     string
	weight   int  // usual; the seed's nature changes it
	chaos    bool // doesn't happen any more once the world is healed
	possible func(*world) bool
	do       func(*world)
}

func allSteps() []step {
	return slices.Concat(sourceSteps, publisherSteps, takeoverSteps, confirmSteps, watchSteps, topicSteps, sinkSteps, ackSteps, callSteps())
}
