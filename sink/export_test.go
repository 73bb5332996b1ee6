package sink

import (
	"errors"

	"github.com/googleapis/gax-go/v2"
)

// Kill ends s as a killed process ends: no ack and no row leaves it any more.
func (s *Sink) Kill() {
	_ = s.puller.Close()
	_ = s.writer.Close()
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	stop(errors.New("killed"))
}

// SetBackoff replaces the pauses before something is repeated; Run mustn't have
// been called yet.
func (s *Sink) SetBackoff(b gax.Backoff) { s.backoff = b }

// Waited returns for how many messages a stop would wait.
func (s *Sink) Waited() int64 { return s.waited.Load() }
