package sink

import (
	"sync"
	"time"
)

// brake holds a table instead of draining it into the dead letter: more than
// brakeRows refused rows and more than one in brakeRatio within a minute. A held
// table is released by an append of which no row is refused. Safe for
// concurrent use; it has no clock of its own.
type brake struct {
	mu            sync.Mutex
	start         time.Time // of this minute
	rows, refused int
	held          bool
}

const (
	brakeRows   = 100
	brakeRatio  = 100
	brakeWindow = time.Minute
)

// written counts rows that were written; released says that it ended a hold.
func (b *brake) written(now time.Time, rows int) (released bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	b.rows += rows
	released, b.held = b.held, false
	if released {
		b.rows, b.refused = 0, 0
	}
	return released
}

// refuse asks whether rows that were refused may go to the dead letter.
func (b *brake) refuse(now time.Time, rows int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	if refused, all := b.refused+rows, b.rows+b.refused+rows; b.held || refused > brakeRows && refused*brakeRatio > all {
		b.held = true
		return false
	}
	b.refused += rows
	return true
}

// isHeld reports whether the table is held.
func (b *brake) isHeld() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

func (b *brake) turn(now time.Time) {
	if now.Sub(b.start) >= brakeWindow {
		b.start, b.rows, b.refused = now, 0, 0
	}
}
