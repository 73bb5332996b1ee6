package main

import "fmt"

// find notes a finding: the first one ends the run. what is the checker's name.
func (w *world) find(what, format string, args ...any) {
	if w.finding == "" {
		w.finding = what + ": " + fmt.Sprintf(format, args...)
	}
}

// judge asks the checkers that judge as things happen.
func (w *world) judge() {
	switch {
	case !w.order.OK():
		w.find("order", "%s", w.order.Findings()[0])
	case !w.confirmed.OK():
		w.find("confirmed", "%s", w.confirmed.Findings()[0])
	}
}

// end compares what is there with what should be.
func (w *world) end() {
	if n := w.order.End(); !n.OK() {
		w.find("order", "%s", w.order.Findings()[0])
	}
	w.source.load.Source(&w.convergence)
	if n := w.convergence.Compare(); !n.OK() {
		w.find("convergence", "%d lost, %d extra, %d different, %d ties of %d rows", n.Lost, n.Extra, n.Different, n.Ties, n.Rows)
	}
	w.counts.changes += w.order.Stored
	w.counts.copies += w.order.Copies
}
