package sink

// heldMessage is a message that stays leased, and why.
type heldMessage struct {
	id  string
	why coded
}

// unplannable says that no row of a table can be written: its definition is such
// that BigQuery can't have it. The others go on.
type unplannable struct{ coded }

// holdFor keeps in leased and doesn't settle it. The first of a table is logged at
// once, and then one a minute, for as long as there are any.
func (t *table) holdFor(in *inbound, why coded) {
	t.hold(in)
	held := &heldMessage{string(in.message.ID), why}
	if t.holds.Swap(held) == nil {
		t.logHeld(held)
	}
}

func (t *table) logHeld(held *heldMessage) {
	t.log.Error(EventMessageHeld, "table", t.name, "message_id", held.id, "error", held.why, "code", held.why.Code(), "fix", held.why.Fix())
}

// logHeld says again what is held.
func (s *Sink) logHeld() {
	for _, t := range s.allTables() {
		if held := t.holds.Load(); held != nil {
			t.logHeld(held)
		}
	}
}
