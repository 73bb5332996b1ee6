package stack

import (
	"cmp"
	"context"
	"fmt"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
)

// judge compares both ends, from outside, once the pipeline has stopped.
// committed is what the second slot told.
func (s *Stack) judge(ctx context.Context, committed []sourceChange) (v Verdict, findings []string, err error) {
	order, err := judgeOrder(committed, s.pubsub.Stored(topic))
	if err != nil {
		return v, nil, err
	}
	dead := deadLettered(s.pubsub.Stored(deadLetterTopic))
	// A change that was never stored, or one that was never committed, shows
	// here even if later changes of its key hide it in the tables.
	v.Lost, v.Extra, v.OutOfOrder = order.Missing, order.Unknown, order.OutOfOrder
	findings = order.Findings()
	v.DeadLetters = dead.count

	keys, err := keyColumns(ctx, s.conn)
	if err != nil {
		return v, nil, err
	}
	for table, key := range keys {
		want, err := sourceRows(ctx, s.conn, table, key)
		if err != nil {
			return v, nil, err
		}
		got, err := destinationRows(ctx, s.client, table, key)
		if err != nil {
			return v, nil, err
		}
		d := compare(table, want, got, func(key string) bool { return dead.keys[rowName(table, key)] })
		v.Rows += d.rows
		v.Lost += d.lost
		v.Extra += d.extra
		v.Different += d.different
		findings = append(findings, d.findings...)
	}
	latency := s.bigquery.Latency()
	v.P50, v.P99 = latency.P50, latency.P99
	v.Redelivered = int(s.pubsub.Counters().Redelivered)
	return v, findings, nil
}

// rowName names a row in the way that ordering keys do.
func rowName(table, key string) string { return "public." + table + "|" + key }

// judgeOrder compares what Pub/Sub stored with what was committed.
func judgeOrder(committed []sourceChange, stored []pubsubtest.StoredMessage) (*schematest.Order, error) {
	order := &schematest.Order{}
	for _, c := range committed {
		order.Commit(rowName(c.table, c.key), c.position)
	}
	for _, m := range stored {
		if m.Attributes[schema.AttrOp] == schema.ControlOp.String() {
			continue
		}
		p, err := schema.ParsePosition(m.Attributes[schema.AttrPosition])
		if err != nil {
			return nil, fmt.Errorf("stored message %s: %w", m.ID, err)
		}
		p.Epoch = 0 // the second slot doesn't tell it
		order.Add(m.OrderingKey, p)
	}
	order.End()
	return order, nil
}

type deadLetters struct {
	count int             // changes
	keys  map[string]bool // by ordering key
}

// deadLettered reads what came to the dead-letter topic. A change that came
// twice, because the sink was killed in between, counts once.
func deadLettered(stored []pubsubtest.StoredMessage) (d deadLetters) {
	d.keys = map[string]bool{}
	seen := map[string]bool{}
	for _, m := range stored {
		// A message that couldn't be decoded has no Position.
		if at := cmp.Or(m.Attributes[schema.AttrPosition], m.Attributes["message_id"]); !seen[at] {
			seen[at] = true
			d.count++
		}
		d.keys[m.Attributes["ordering_key"]] = true
	}
	return d
}
