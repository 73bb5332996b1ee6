package pull

import (
	"errors"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of google/pubsub/v1/pubsub.proto.
const (
	fieldReceivedMessages = 1 // StreamingPullResponse
	fieldAckID            = 1 // ReceivedMessage
	fieldMessage          = 2
	fieldDeliveryAttempt  = 3
	fieldData             = 1 // PubsubMessage
	fieldAttributes       = 2
	fieldMessageID        = 3
	fieldPublishTime      = 4
	fieldOrderingKey      = 5
	fieldSeconds          = 1 // Timestamp
	fieldNanos            = 2
)

// minReceivedBytes is a ReceivedMessage with an ack id and a message id of one byte.
const minReceivedBytes = 3 + 2 + 3

// errWire says that a response isn't what the protocol says.
var errWire = errors.New("malformed StreamingPull response")

// field is one field of a message: bytes for a length-delimited one, else n.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	n     uint64
	bytes []byte
}

// nextField takes one field off b. It reads nothing outside b and allocates nothing.
func nextField(b []byte) (f field, rest []byte, err error) {
	// Nearly all fields: a tag of one byte, a length of one byte.
	if len(b) >= 2 && b[0]&0x87 == byte(protowire.BytesType) && b[0] >= 1<<3 && b[1] < 0x80 {
		n := 2 + int(b[1])
		if n > len(b) {
			return f, nil, errWire
		}
		return field{num: protowire.Number(b[0] >> 3), typ: protowire.BytesType, bytes: b[2:n:n]}, b[n:], nil
	}
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, nil, errWire
	}
	f.num, f.typ, b = num, typ, b[n:]
	switch typ {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	case protowire.VarintType:
		f.n, n = protowire.ConsumeVarint(b)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return f, nil, errWire
	}
	return f, b[n:], nil
}

// countMessages returns how many messages a response has and checks its outer form.
func countMessages(response []byte) (n int, err error) {
	for b := response; len(b) > 0; {
		f, rest, err := nextField(b)
		if err != nil {
			return 0, err
		}
		if f.num == fieldReceivedMessages && f.typ == protowire.BytesType {
			if len(f.bytes) < minReceivedBytes {
				return 0, errWire // so that a response can't ask for much more memory than it has
			}
			n++
		}
		b = rest
	}
	return n, nil
}

// parseResponse walks a StreamingPullResponse and returns its messages, which
// alias response. It allocates the slice of messages and nothing a message or
// a field.
func parseResponse(response []byte) ([]Message, error) {
	n, err := countMessages(response)
	if err != nil || n == 0 {
		return nil, err
	}
	messages := make([]Message, n)
	i := 0
	for b := response; len(b) > 0; {
		f, rest, err := nextField(b)
		if err != nil {
			return nil, err
		}
		b = rest
		if f.num == fieldReceivedMessages && f.typ == protowire.BytesType {
			if err := parseReceived(&messages[i], f.bytes); err != nil {
				return nil, err
			}
			i++
		}
	}
	return messages, nil
}

// parseReceived fills m from a ReceivedMessage.
func parseReceived(m *Message, b []byte) error {
	m.size = len(b)
	for len(b) > 0 {
		f, rest, err := nextField(b)
		if err != nil {
			return err
		}
		b = rest
		switch {
		case f.num == fieldAckID && f.typ == protowire.BytesType:
			m.ackID = f.bytes
		case f.num == fieldMessage && f.typ == protowire.BytesType:
			if m.attributes != nil {
				return errWire // twice would mean merging; nobody sends that
			}
			if err := parseMessage(m, f.bytes); err != nil {
				return err
			}
		case f.num == fieldDeliveryAttempt && f.typ == protowire.VarintType:
			m.DeliveryAttempt = int32(f.n)
		}
	}
	if len(m.ackID) == 0 || len(m.ID) == 0 || !utf8.Valid(m.ackID) || !utf8.Valid(m.ID) || !utf8.Valid(m.OrderingKey) {
		return errWire
	}
	return nil
}

// parseMessage fills m from a PubsubMessage.
func parseMessage(m *Message, b []byte) error {
	m.attributes = b
	for len(b) > 0 {
		f, rest, err := nextField(b)
		if err != nil {
			return err
		}
		b = rest
		if f.typ != protowire.BytesType {
			continue
		}
		switch f.num {
		case fieldData:
			m.Data = f.bytes
		case fieldAttributes:
			if _, _, err := parseEntry(f.bytes); err != nil {
				return err
			}
		case fieldMessageID:
			m.ID = f.bytes
		case fieldPublishTime:
			if m.PublishTime, err = parseTimestamp(f.bytes); err != nil {
				return err
			}
		case fieldOrderingKey:
			m.OrderingKey = f.bytes
		}
	}
	return nil
}

// parseEntry returns the name and value of one entry of the attributes' map.
func parseEntry(b []byte) (name, value []byte, err error) {
	// Nearly all entries: name, then value, each with a length of one byte.
	const nameTag, valueTag = 1<<3 | byte(protowire.BytesType), 2<<3 | byte(protowire.BytesType)
	if len(b) >= 4 && b[0] == nameTag && b[1] < 0x80 {
		if n := 2 + int(b[1]); n+2 <= len(b) && b[n] == valueTag && b[n+1] < 0x80 && n+2+int(b[n+1]) == len(b) {
			return b[2:n:n], b[n+2 : len(b) : len(b)], nil
		}
	}
	for len(b) > 0 {
		f, rest, err := nextField(b)
		if err != nil {
			return nil, nil, err
		}
		b = rest
		switch {
		case f.typ != protowire.BytesType:
		case f.num == 1:
			name = f.bytes
		case f.num == 2:
			value = f.bytes
		}
	}
	return name, value, nil
}

func parseTimestamp(b []byte) (time.Time, error) {
	var seconds, nanos int64
	for len(b) > 0 {
		f, rest, err := nextField(b)
		if err != nil {
			return time.Time{}, err
		}
		b = rest
		switch {
		case f.typ != protowire.VarintType:
		case f.num == fieldSeconds:
			seconds = int64(f.n)
		case f.num == fieldNanos:
			nanos = int64(int32(f.n))
		}
	}
	return time.Unix(seconds, nanos).UTC(), nil
}
