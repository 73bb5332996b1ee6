package main

import (
	"fmt"
	"strings"

	"cdc/schema/schematest"
)

// trace keeps the last steps in words. It tells tables, Positions and hashes of
// keys, never values.
type trace struct{ lines []string }

// traceLines is how many are kept.
const traceLines = 60

// begin notes that a step begins.
func (t *trace) begin(number int, name string) {
	if t == nil {
		return
	}
	if len(t.lines) >= 2*traceLines {
		t.lines = append(t.lines[:0], t.lines[len(t.lines)-traceLines:]...)
	}
	t.lines = append(t.lines, fmt.Sprintf("%6d  %s", number, name))
}

// note adds to the line of the present step.
func (t *trace) note(format string, args ...any) {
	if t != nil {
		t.lines[len(t.lines)-1] += "  " + fmt.Sprintf(format, args...)
	}
}

func (t *trace) last() []string { return t.lines[max(0, len(t.lines)-traceLines):] }

func keyName(key string) string { return schematest.KeyName(key) }

// names is the Positions of some messages.
func names(messages []flight) string {
	var list []string
	for _, f := range messages {
		list = append(list, f.change.Position.String())
	}
	return strings.Join(list, " ")
}
