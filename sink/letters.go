package sink

import (
	"cdc/schema"
	"cdc/sink/deadletter"
)

// eachChange decodes a message again and calls f with every change and its
// number until f returns false. Refusals are rare: keeping each change until its
// row is written would cost more.
func eachChange(in *inbound, f func(i int, c *schema.Change) bool) error {
	var d schema.Decoder
	var a schema.Attributes
	for name, value := range in.message.Attributes() {
		if err := d.Attribute(&a, name, value); err != nil {
			return err
		}
	}
	if err := d.Changes(&a, in.message.Data); err != nil {
		return err
	}
	var c schema.Change
	for i := 0; d.Next(&c); i++ {
		if !f(i, &c) {
			return nil
		}
	}
	return d.Err()
}

// makeLetters makes the dead letters of refused changes: each the change alone,
// encoded again with its own attributes. A message that can't be decoded, or a
// change that can't be encoded alone, goes as the message that came.
func (h *host) makeLetters(refused []refusal) []deadletter.Letter {
	out := make([]deadletter.Letter, 0, len(refused))
	byMessage := make(map[*inbound]map[int]refusal)
	var order []*inbound
	for _, r := range refused {
		if byMessage[r.in] == nil {
			byMessage[r.in] = make(map[int]refusal)
			order = append(order, r.in)
		}
		byMessage[r.in][r.index] = r
	}
	for _, in := range order {
		wanted := byMessage[in]
		if r, ok := wanted[wholeMessage]; ok {
			out = append(out, h.wholeLetter(r))
			delete(wanted, wholeMessage)
		}
		var e schema.Encoder
		_ = eachChange(in, func(i int, c *schema.Change) bool {
			r, ok := wanted[i]
			if !ok {
				return len(wanted) > 0
			}
			data, err := e.AppendChange(nil, c)
			if err != nil {
				return true // wholeLetter below
			}
			l := h.letter(r)
			l.Data, l.Attributes = data, attributesOf(in, c)
			out = append(out, l)
			delete(wanted, i)
			return len(wanted) > 0
		})
		for _, r := range wanted {
			out = append(out, h.wholeLetter(r))
		}
	}
	return out
}

func (h *host) letter(r refusal) deadletter.Letter {
	m := r.in.message
	return deadletter.Letter{
		OrderingKey: string(m.OrderingKey), MessageID: string(m.ID), DeliveryAttempt: m.DeliveryAttempt,
		ErrorCode: r.code, Error: r.reason, FailedAt: h.now(),
	}
}

func (h *host) wholeLetter(r refusal) deadletter.Letter {
	l := h.letter(r)
	l.Data, l.Attributes = r.in.message.Data, make(map[string]string)
	for name, value := range r.in.message.Attributes() {
		l.Attributes[string(name)] = string(value)
	}
	return l
}

// attributesOf returns the attributes of c as a message of its own.
func attributesOf(in *inbound, c *schema.Change) map[string]string {
	a := in.attributes
	a.Op, a.Position, a.Count, a.ContentType = c.Op, c.Position, 1, schema.ContentJSON
	attributes := make(map[string]string, 16)
	a.Each(func(name string, value []byte) { attributes[name] = string(value) })
	return attributes
}
