package stack

import (
	"slices"
	"strconv"
	"testing"

	"cdc/publish/pubsubtest"
	"cdc/schema"
)

// committedAndStored are three changes of each of two keys, and the messages
// that carry them.
func committedAndStored() (committed []sourceChange, stored []pubsubtest.StoredMessage) {
	for n := range 6 {
		c := sourceChange{
			table: "orders", key: strconv.Itoa(n % 2), op: schema.Update,
			position: schema.Position{CommitLSN: schema.LSN(100 + n), ChangeLSN: schema.LSN(90 + n)},
		}
		committed = append(committed, c)
		p := c.position
		p.Epoch = 7
		stored = append(stored, pubsubtest.StoredMessage{
			ID: strconv.Itoa(n), OrderingKey: rowName(c.table, c.key),
			Attributes: map[string]string{schema.AttrOp: "u", schema.AttrPosition: p.String()},
		})
	}
	return committed, stored
}

// The look at what Pub/Sub stored must find each way in which it can be wrong.
func TestJudgeOrderFindsPlantedBugs(t *testing.T) {
	type messages = []pubsubtest.StoredMessage
	for name, tt := range map[string]struct {
		plant                     func(m messages) messages
		missing, unknown, ordered int
	}{
		"nothing":               {func(m messages) messages { return m }, 0, 0, 0},
		"a copy":                {func(m messages) messages { return append(m, m[0]) }, 0, 0, 0},
		"keys in another order": {func(m messages) messages { m[0], m[1] = m[1], m[0]; return m }, 0, 0, 0},
		"a control message": {func(m messages) messages {
			return append(m, pubsubtest.StoredMessage{Attributes: map[string]string{schema.AttrOp: "k"}})
		}, 0, 0, 0},
		"one is lost":                    {func(m messages) messages { return slices.Delete(m, 2, 3) }, 1, 0, 0},
		"the last of a key is lost":      {func(m messages) messages { return m[:5] }, 1, 0, 0},
		"two of a key are swapped":       {func(m messages) messages { m[1], m[3] = m[3], m[1]; return m }, 0, 0, 1},
		"a copy came before its betters": {func(m messages) messages { return append(messages{m[4]}, m...) }, 0, 0, 2},
		"one was never committed": {func(m messages) messages {
			extra := m[5]
			extra.Attributes = map[string]string{schema.AttrOp: "u", schema.AttrPosition: schema.Position{Epoch: 7, CommitLSN: 999}.String()}
			return append(m, extra)
		}, 0, 1, 0},
		"one has another key": {func(m messages) messages { m[5].OrderingKey = "public.orders|9"; return m }, 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			committed, stored := committedAndStored()
			order, err := judgeOrder(committed, tt.plant(stored))
			if err != nil {
				t.Fatal(err)
			}
			if order.Missing != tt.missing || order.Unknown != tt.unknown || order.OutOfOrder != tt.ordered {
				t.Errorf("%+v", order.OrderCounts)
			}
		})
	}
	committed, stored := committedAndStored()
	stored[0].Attributes[schema.AttrPosition] = "nonsense"
	if _, err := judgeOrder(committed, stored); err == nil {
		t.Error("a message without a Position was passed over")
	}
}

// Each dead letter counts once, also one that couldn't be decoded.
func TestDeadLettersAreCounted(t *testing.T) {
	letter := func(position, id, key string) pubsubtest.StoredMessage {
		return pubsubtest.StoredMessage{Attributes: map[string]string{schema.AttrPosition: position, "message_id": id, "ordering_key": key}}
	}
	d := deadLettered([]pubsubtest.StoredMessage{
		letter("A", "1", "k1"), letter("A", "2", "k1"), // a copy
		letter("B", "1", "k2"), // of one message
		letter("", "3", ""), letter("", "4", ""), letter("", "4", ""),
	})
	if d.count != 4 || !d.keys["k1"] || !d.keys["k2"] {
		t.Errorf("%+v, want 4 letters", d)
	}
}
