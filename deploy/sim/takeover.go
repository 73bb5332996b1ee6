package main

import "slices"

// Another instance takes over from one that is paused or cut off: its slot is
// let go when it has been silent for too long, and it doesn't know. It goes on
// with what had been sent to it, what it had sent arrives, and it counts the
// answers, until it finds out. What it writes to the state is refused once
// another process has made the state its own.
var takeoverSteps = []step{
	{"publisher loses its slot", 1, true, func(w *world) bool { return w.publisher != nil && len(w.old) < 2 }, func(w *world) {
		p := w.publisher
		p.old, p.until = true, len(w.source.log)
		w.old = append(w.old, p)
		w.publisher = nil
	}},
	{"old publisher receives", 10, false, func(w *world) bool { return w.oldest(receivable) != nil }, func(w *world) { w.receive(w.oldest(receivable)) }},
	{"old publisher publishes", 20, false, func(w *world) bool { return w.oldest(publishable) != nil }, func(w *world) { w.publish(w.oldest(publishable)) }},
	{"old publisher confirms", 3, false, func(w *world) bool { return w.oldest(confirms) != nil }, func(w *world) { w.decide.superseded(w, w.oldest(confirms)) }},
	{"old publisher ends", 3, false, func(w *world) bool { return len(w.old) > 0 }, func(w *world) { w.oldEnds(w.old[0]) }},
}

// oldest returns the first old process that fits, or nil.
func (w *world) oldest(fits func(*world, *publisher) bool) *publisher {
	for _, p := range w.old {
		if fits(w, p) {
			return p
		}
	}
	return nil
}

// confirms reports whether p would write a checkpoint.
func confirms(w *world, p *publisher) bool { return w.decide.confirmable(p) > p.durable }

func (w *world) oldEnds(p *publisher) {
	w.abandon(p)
	w.old = slices.DeleteFunc(w.old, func(other *publisher) bool { return other == p })
}
