package sink_test

import (
	"testing"

	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

func TestEndToEnd(t *testing.T) {
	w := newWorld(t, newSeed(t), pubsubtest.Config{}, bigquerytest.Config{})
	s := w.start()
	w.transactions(300)
	w.settled(s.Sink)
	must(t, s.stop())
	w.wantEqual()
	st := s.Stats()
	t.Logf("%+v", st)
	if st.Messages != int64(len(w.ids)) || st.Changes != st.Messages || st.DeadLetters != 0 {
		t.Errorf("stats %+v, want %d messages and changes", st, len(w.ids))
	}
}
