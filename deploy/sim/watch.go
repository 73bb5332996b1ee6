package main

// The watch over the topic. While a fault is there what is published is accepted
// and vanishes.
var watchSteps = []step{
	{
		"topic fault begins", 1, true,
		func(w *world) bool { return w.publisher != nil && !w.topic.fault && !w.publisher.broken },
		func(w *world) { w.topic.fault = true },
	},
	{"topic fault ends", 10, false, func(w *world) bool { return w.topic.fault && (w.publisher == nil || w.publisher.broken) }, (*world).endFault},
	{"look at topic", 4, false, func(w *world) bool { return w.publisher != nil && (w.topic.fault || w.publisher.broken) }, (*world).look},
}

// look is a check of the watch: it shuts the gate while there is a fault, and
// never opens it again for this process. When the fault is over the process ends.
func (w *world) look() {
	p := w.publisher
	switch {
	case w.topic.fault:
		p.broken = true
		p.queue.Open(false)
	case p.broken:
		w.decide.repaired(w, p)
	}
}

// endFault repairs the topic. What is on its way by then is gone: an attempt
// doesn't outlive a repair.
func (w *world) endFault() {
	w.topic.fault = false
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
