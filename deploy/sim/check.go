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

// rest looks at the machines when everything has come to its end: what they still
// count would never be given back.
func (w *world) rest() {
	p := w.publisher
	for at, rests := p.queue.Wake(); rests; at, rests = p.queue.Wake() {
		w.now = max(w.now, at)
		if p.queue.Sendable(w.now) {
			w.find("left over", "the queue has something to send")
			return
		}
	}
	win, q := p.window, p.queue
	if win.Bytes() != 0 || win.Messages() != 0 || win.Transactions() != 0 || win.Open() || !win.Settled() {
		w.find("left over", "the window counts %d bytes, %d messages, %d transactions", win.Bytes(), win.Messages(), win.Transactions())
	}
	if win.Published() < w.source.end() {
		w.find("left over", "the window has published %s of %s", win.Published(), w.source.end())
	}
	if q.Keys() != 0 || q.Bytes() != 0 || q.InFlight() != 0 || q.Retrying() != 0 || q.Resting() != 0 {
		w.find("left over", "the queue counts %d keys, %d bytes, %d in flight, %d that retry, %d that rest",
			q.Keys(), q.Bytes(), q.InFlight(), q.Retrying(), q.Resting())
	}
}

// end compares what is there with what should be.
func (w *world) end() {
	w.rest()
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
