package capture

import (
	"context"
	"fmt"
	"time"

	"cdc/schema"
)

// attributeRoom is left for attributes and ordering key in a message of the
// largest size; both together are smaller.
const attributeRoom = 4 << 10

// emit gives s.change its Position and hands it on. It blocks while the window
// or the publisher is full.
func (s *stream) emit(lsn schema.LSN) error {
	c := &s.change
	for i := range c.Key {
		if c.Key[i].State != schema.Text {
			return protocolError(errKey)
		}
	}
	if lsn == s.changeLSN && s.counting {
		s.index++
	} else {
		s.changeLSN, s.index, s.counting = lsn, 0, true
	}
	c.Position = schema.Position{Epoch: s.epoch, CommitLSN: s.commitLSN, ChangeLSN: lsn, Index: s.index}
	c.ReadTime = schema.MicrosOf(time.Now())
	body, err := s.encoder.AppendChange(s.message.Data[:0], c)
	if err != nil {
		return &Error{cause: err, finding: blocking("encode", "report it: a row of the source can't be written as a message",
			"table %s: change %s can't be encoded", c.Table, c.Position)}
	}
	m := &s.message
	m.Data = body
	m.OrderingKey = schema.AppendOrderingKey(m.OrderingKey[:0], c.Table, c.Key)
	if len(m.Data) > schema.MaxMessageBytes-attributeRoom {
		return &Error{finding: blocking("message_too_large", "make the row smaller, or take the table out; a dead letter for it isn't handled yet",
			"table %s: change %s is a message of %d bytes; Pub/Sub takes 10,000,000", c.Table, c.Position, len(m.Data))}
	}
	m.Attributes = schema.Attributes{
		Version: schema.FormatVersion, Database: s.cfg.Database, Schema: c.Table.Schema, Table: c.Table.Name,
		Op: c.Op, Position: c.Position, Count: 1, ContentType: schema.ContentJSON, SourceID: c.Table.Source.SystemID,
	}
	s.counters.changes.Add(1)
	return s.hand(m)
}

// hand waits for room, counts the message as in flight and publishes it.
func (s *stream) hand(m *schema.Message) error {
	tag, ok := s.flight.tryAdd(len(m.Data) + len(m.OrderingKey))
	for !ok {
		s.phase.set(WaitingWindow)
		if err := s.flight.wait(s.ctx); err != nil {
			return err
		}
		tag, ok = s.flight.tryAdd(len(m.Data) + len(m.OrderingKey))
	}
	s.phase.set(WaitingPublisher)
	defer s.phase.set(WaitingSource)
	if err := s.publisher.Publish(s.ctx, m, uint64(tag), s.accepted); err != nil {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}
