package stack

import (
	"testing"

	"cdc/publish/pubsubtest"
	"cdc/schema"
)

// TestChangesBeyond: copies of what was stored before the restart don't count,
// however many there are, and neither do copies of new changes.
func TestChangesBeyond(t *testing.T) {
	var stored []pubsubtest.StoredMessage
	for _, lsn := range []schema.LSN{1, 2, 3, 1, 2, 3, 4, 3, 4, 5} {
		p := schema.Position{CommitLSN: lsn}
		stored = append(stored, pubsubtest.StoredMessage{Attributes: map[string]string{schema.AttrPosition: p.String()}})
	}
	newest := schema.Position{CommitLSN: 3}.String()
	for upTo, want := range map[int]int{3: 0, 6: 0, 7: 1, 9: 1, 10: 2} {
		if n := changesBeyond(stored[:upTo], newest); n != want {
			t.Errorf("%d messages: %d new changes, want %d", upTo, n, want)
		}
	}
}
