package pull

import "time"

// SetClock replaces the Puller's clock; Run mustn't have been called yet.
func (p *Puller) SetClock(now func() time.Time) { p.now = now }
