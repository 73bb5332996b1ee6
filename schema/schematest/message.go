package schematest

import (
	"fmt"

	"cdc/schema"
)

// Message encodes the changes of one table, in Position order, as one message:
// a single change, or a batch of several. It has no ordering key.
func Message(changes ...*schema.Change) (*schema.Message, error) {
	if len(changes) == 0 {
		return nil, fmt.Errorf("a message without changes")
	}
	var e schema.Encoder
	m := &schema.Message{Attributes: AttributesOf(changes[0])}
	if len(changes) > 1 {
		m.Attributes = BatchAttributes(changes)
	}
	var err error
	for i, c := range changes {
		if i == 0 {
			m.Data, err = e.AppendChange(m.Data, c)
		} else {
			m.Data, err = e.AppendNext(m.Data, c)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Decode returns the changes of a message, which share nothing with it but
// their Tables.
func Decode(m *schema.Message) ([]*schema.Change, error) {
	var d schema.Decoder
	if err := d.Changes(&m.Attributes, m.Data); err != nil {
		return nil, err
	}
	var list []*schema.Change
	var c schema.Change
	for d.Next(&c) {
		list = append(list, Clone(&c))
	}
	return list, d.Err()
}
