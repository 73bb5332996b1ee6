package stack

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// teller writes progress for people. On a terminal the newest figures replace
// the last ones; elsewhere they are lines like all others.
type teller struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	open     bool // figures stand in the last line
}

func newTeller(out io.Writer) *teller {
	t := &teller{out: out}
	if f, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		info, err := f.Stat()
		t.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return t
}

const clearLine = "\r\x1b[K"

// line writes a line that stays.
func (t *teller) line(format string, args ...any) { t.write("\n", format, args...) }

// progress writes figures that the next ones replace.
func (t *teller) progress(format string, args ...any) {
	end := "\n"
	if t.terminal {
		end = ""
	}
	t.write(end, format, args...)
}

// end ends the line with the figures: what follows isn't ours.
func (t *teller) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open {
		fmt.Fprintln(t.out)
	}
	t.open = false
}

func (t *teller) write(end, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := ""
	if t.open {
		start = clearLine
	}
	t.open = end == ""
	fmt.Fprintf(t.out, start+"demo: "+format+end, args...)
}
