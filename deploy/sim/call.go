package main

import "slices"

// kind is which service a call goes to, and for what.
type kind int

const (
	publishing kind = iota // Pub/Sub, a publish request
	appending              // BigQuery, an append
	acking                 // Pub/Sub, an Acknowledge
	kinds
)

var kindNames = [kinds]string{"publish", "append", "ack"}

// call is one request on its way to a service and back. The service does it when
// it arrives, once; the caller may have stopped waiting long before, and may
// have died.
type call struct {
	arrive  func()        // what the service does
	answer  func(ok bool) // what the caller does; not ok: failed, perhaps done, perhaps not
	caller  any           // the process that waits; nil: nobody
	arrived bool
}

// send puts a call on its way.
func (w *world) send(k kind, c *call) { w.calls[k] = append(w.calls[k], c) }

// abandon is the death of a process: nobody waits for its calls, which may still
// arrive.
func (w *world) abandon(process any) {
	for _, calls := range w.calls {
		for _, c := range calls {
			if c.caller == process {
				c.caller = nil
			}
		}
	}
	for k := range w.calls {
		w.calls[k] = slices.DeleteFunc(w.calls[k], func(c *call) bool { return c.caller == nil && c.arrived })
	}
}

// callSteps are what can happen to a call, for each kind.
func callSteps() (all []step) {
	for k := range kinds {
		name := kindNames[k]
		for _, s := range []struct {
			name   string
			weight int
			chaos  bool
			fits   func(*call) bool
			do     func(*world, *call)
		}{
			{"arrives", 40, false, onItsWay, func(w *world, c *call) { w.arrive(k, c) }},
			{"is answered", 40, false, func(c *call) bool { return c.arrived }, func(w *world, c *call) { w.remove(k, c); c.answer(true) }},
			{"answer lost", 6, true, func(c *call) bool { return c.arrived }, func(w *world, c *call) { w.remove(k, c); c.answer(false) }},
			{"refused", 4, true, waitedFor, func(w *world, c *call) { w.remove(k, c); c.answer(false) }},
			{"times out", 6, true, waitedFor, func(_ *world, c *call) { c.caller = nil; c.answer(false) }},
			{"vanishes", 3, true, func(c *call) bool { return onItsWay(c) && c.caller == nil }, func(w *world, c *call) { w.remove(k, c) }},
		} {
			all = append(all, step{
				name + " " + s.name, s.weight, s.chaos,
				func(w *world) bool { return slices.ContainsFunc(w.calls[k], s.fits) },
				func(w *world) { s.do(w, choose(w, w.calls[k], s.fits)) },
			})
		}
	}
	return all
}

func onItsWay(c *call) bool  { return !c.arrived }
func waitedFor(c *call) bool { return !c.arrived && c.caller != nil }

// arrive lets the service do the call. One that nobody waits for comes late.
func (w *world) arrive(k kind, c *call) {
	c.arrived = true
	if c.caller == nil {
		w.counts.late[k]++
		w.remove(k, c)
	}
	c.arrive()
}

func (w *world) remove(k kind, c *call) {
	i := slices.Index(w.calls[k], c)
	w.calls[k] = slices.Delete(w.calls[k], i, i+1)
}

// choose draws one of those that fit; there is one.
func choose[T any](w *world, list []T, fits func(T) bool) T {
	from := w.r.IntN(len(list))
	for i := range list {
		if x := list[(from+i)%len(list)]; fits(x) {
			return x
		}
	}
	panic("nothing to choose")
}
