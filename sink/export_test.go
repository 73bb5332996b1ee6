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
