package sink

import "errors"

// Kill ends s as a killed process ends: no ack and no row leaves it any more.
func (s *Sink) Kill() {
	_ = s.puller.Close()
	_ = s.writer.Close()
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	stop(errors.New("killed"))
}

// Waited returns for how many messages a stop would wait.
func (s *Sink) Waited() int64 { return s.waited.Load() }
