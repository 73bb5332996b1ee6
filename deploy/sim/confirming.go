package main

import "cdc/schema"

// confirming is the way from confirmable to confirmed. Each stage is a step of
// its own, so that a crash can come between any two.
type confirming struct {
	stage   stage
	taken   schema.LSN // what is on its way to the checkpoint
	durable schema.LSN // the checkpoint as this process knows it: what its status says
}

type stage int

const (
	idle stage = iota
	taken
	vouched
)

var confirmSteps = []step{
	{"read confirmable", 8, false, func(w *world) bool {
		p := w.publisher
		return p != nil && p.stage == idle && w.decide.confirmable(p) > p.durable
	}, func(w *world) {
		p := w.publisher
		p.stage, p.taken = taken, w.decide.confirmable(p)
		if w.trace != nil {
			w.trace.note("%s", p.taken)
		}
	}},
	{"vouch", 30, false, func(w *world) bool { return w.publisher != nil && w.publisher.stage == taken }, (*world).vouch},
	{"save checkpoint", 30, false, func(w *world) bool { return w.publisher != nil && w.publisher.stage == vouched }, func(w *world) {
		p := w.publisher
		w.checkpoint(p.taken)
		p.stage, p.durable = idle, p.taken
		if w.trace != nil {
			w.trace.note("%s", p.taken)
		}
	}},
	{"send status", 15, false, func(w *world) bool {
		return w.publisher != nil && w.decide.status(w.publisher) > w.source.confirmed
	}, func(w *world) {
		w.source.confirmed = w.decide.status(w.publisher)
		w.confirmed.Add(w.source.confirmed)
		if w.trace != nil {
			w.trace.note("%s", w.source.confirmed)
		}
		if w.source.confirmed > w.source.checkpoint {
			w.find("checkpoint", "confirmed %s, the checkpoint is %s", w.source.confirmed, w.source.checkpoint)
		}
	}},
}

// checkpoint writes the state.
func (w *world) checkpoint(lsn schema.LSN) {
	if lsn < w.source.checkpoint {
		w.find("checkpoint", "it falls from %s to %s", w.source.checkpoint, lsn)
	}
	w.source.checkpoint = lsn
}

// vouch looks at the topic anew before what was accepted is counted on. After a
// fault this process may not confirm any more: it ends.
func (w *world) vouch() {
	p := w.publisher
	switch {
	case w.decide.vouch(w, p):
		p.stage = vouched
	case p.broken:
		w.publisherEnds()
	default: // the topic has never been good: asked again
		p.stage = idle
	}
}
