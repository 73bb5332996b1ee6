package main

import (
	"fmt"
	"strings"
)

// counts is what runs exercised: a run that exercised nothing proves nothing.
type counts struct {
	runs  int
	steps []int      // by number in the table of steps
	late  [kinds]int // calls that arrived when nobody waited any more

	changes, copies         int // stored
	many                    int // transactions in a window at once
	retries                 int // publish requests sent again
	void                    int // answers that didn't count, since the gate was shut
	vanished                int // accepted for nobody
	old                     int // stored or vanished that came from an old process
	moved                   int // keys that another sink got
	redelivered, duplicates int
	dragged                 int // acked messages that came again behind an earlier one
	stale, overtaken        int // ack ids of an earlier delivery; acks that came before an earlier one
	hidden                  int // changes that a newer one of their batch hid
	givenBack               int
}

type count struct {
	name string
	n    *int
}

// named is all counts with their names.
func (c *counts) named() []count {
	list := []count{
		{"changes stored", &c.changes},
		{"copies stored", &c.copies},
		{"window of many", &c.many},
		{"publish retried", &c.retries},
		{"publish answer void", &c.void},
		{"message vanished", &c.vanished},
		{"message of old publisher", &c.old},
		{"key moved", &c.moved},
		{"message redelivered", &c.redelivered},
		{"acked message duplicated", &c.duplicates},
		{"acked message dragged", &c.dragged},
		{"ack id stale", &c.stale},
		{"ack overtaken", &c.overtaken},
		{"change hidden in batch", &c.hidden},
		{"message given back", &c.givenBack},
	}
	for k := range c.late {
		list = append(list, count{kindNames[k] + " arrived late", &c.late[k]})
	}
	for i, s := range allSteps() {
		list = append(list, count{s.name, &c.steps[i]})
	}
	return list
}

func newCounts() counts { return counts{runs: 1, steps: make([]int, len(allSteps()))} }

func (c *counts) add(o *counts) {
	c.runs += o.runs
	if c.steps == nil {
		c.steps = make([]int, len(o.steps))
	}
	others := o.named()
	for i, mine := range c.named() {
		*mine.n += *others[i].n
	}
}

// total is the number of steps.
func (c *counts) total() (n int) {
	for _, s := range c.steps {
		n += s
	}
	return n
}

// idle names what never happened.
func (c *counts) idle() (names []string) {
	for _, k := range c.named() {
		if *k.n == 0 {
			names = append(names, k.name)
		}
	}
	return names
}

// String is three counts a line.
func (c *counts) String() string {
	var b strings.Builder
	for i, k := range c.named() {
		fmt.Fprintf(&b, "  %-26s %11d", k.name, *k.n)
		if i%3 == 2 {
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n"
}
