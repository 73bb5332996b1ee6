package main

// The watch over the topic. While a fault is there what is published is accepted
// and vanishes.
var watchSteps = []step{
	{
		"topic fault begins", 1, true,
		func(w *world) bool { return !w.topic.fault && (w.publisher == nil || !w.publisher.broken) },
		func(w *world) { w.topic.fault = true },
	},
	{"topic fault ends", 10, false, func(w *world) bool { return w.topic.fault && !w.publisher.open() }, (*world).endFault},
	{"look at topic", 4, false, func(w *world) bool {
		return w.publisher != nil && (w.topic.fault || w.publisher.broken || !w.publisher.good)
	}, (*world).look},
}

// open reports whether p publishes, as far as it knows of the topic.
func (p *publisher) open() bool { return p != nil && p.good && !p.broken }

// look is a check of the watch. The first one without a fault opens the gate;
// the first fault after it shuts it, and nothing opens it again for this process.
// When that fault is over the process ends.
func (w *world) look() {
	p := w.publisher
	switch {
	case w.topic.fault && p.good:
		p.broken = true
		p.queue.Open(false)
	case w.topic.fault:
	case p.broken:
		w.decide.repaired(w, p)
	case !p.good:
		p.good = true
		p.queue.Open(true)
	}
}

// endFault repairs the topic. What is on its way by then is gone: an attempt
// doesn't outlive a repair, and neither does an old process.
func (w *world) endFault() {
	w.topic.fault = false
	for len(w.old) > 0 {
		w.oldEnds(w.old[0])
	}
	var gone []*call
	for _, c := range w.calls[publishing] {
		if !c.arrived {
			gone = append(gone, c)
		}
	}
	for _, c := range gone {
		w.remove(publishing, c)
		if c.caller != nil {
			c.answer(false)
		}
	}
}
