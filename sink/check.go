package sink

import (
	"context"
	"errors"
)

// Check looks at everything that the sink needs and returns all findings at
// once, each with a Code and a Fix.
func (s *Sink) Check(ctx context.Context) error {
	return errors.Join(s.puller.Check(ctx), s.letters.Check(ctx), s.tables.Check(ctx))
}

// Init makes what the sink needs in BigQuery. changes is how many things it
// made: a second run makes none.
func (s *Sink) Init(ctx context.Context) (changes int, err error) {
	made, err := s.tables.Init(ctx)
	if made {
		changes = 1
	}
	return changes, err
}
