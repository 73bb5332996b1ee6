package pubsubtest

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of google.pubsub.v1 that the hot methods use.
const (
	fieldPublishTopic    = 1
	fieldPublishMessages = 2

	fieldMessageData        = 1
	fieldMessageAttributes  = 2
	fieldMessageID          = 3
	fieldMessageTime        = 4
	fieldMessageOrderingKey = 5

	fieldReceivedAckID   = 1
	fieldReceivedMessage = 2
	fieldReceivedAttempt = 3

	fieldResponseMessages   = 1
	fieldResponseProperties = 4
)

var errMalformed = errors.New("malformed protobuf")

// field is one field of a message as it came.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	bytes  []byte // BytesType
	varint uint64 // VarintType
}

// nextField reads one field and returns what follows it.
func nextField(data []byte) (f field, rest []byte, err error) {
	num, typ, n := protowire.ConsumeTag(data)
	if n < 0 || num > protowire.MaxValidNumber {
		return field{}, nil, errMalformed
	}
	data = data[n:]
	f = field{num: num, typ: typ}
	switch typ {
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(data)
	case protowire.VarintType:
		f.varint, n = protowire.ConsumeVarint(data)
	default:
		n = protowire.ConsumeFieldValue(num, typ, data)
	}
	if n < 0 {
		return field{}, nil, errMalformed
	}
	return f, data[n:], nil
}

// publishRequest is a PublishRequest taken apart only as far as the rules need.
type publishRequest struct {
	topic    string
	messages []publishMessage // no more than there may be
	more     int              // messages beyond those
	size     int              // bytes of the request
}

// count is how many messages the request has.
func (r *publishRequest) count() int { return len(r.messages) + r.more }

// publishMessage is one message of a request; slices point into the request.
type publishMessage struct {
	body []byte // without message_id and publish_time
	key  []byte
	data int // bytes of data

	attributes, longestKey, longestValue int
	longestValueKey                      []byte
	reserved                             []byte // a key that only Google's clients may set
}

// parsePublish reads a PublishRequest. Foreign bytes give an error, never a
// panic; body keeps unknown fields as they came.
func parsePublish(data []byte) (*publishRequest, error) {
	req := &publishRequest{size: len(data)}
	for len(data) > 0 {
		f, rest, err := nextField(data)
		if err != nil {
			return nil, err
		}
		data = rest
		switch {
		case f.num == fieldPublishTopic && f.typ == protowire.BytesType:
			if !utf8.Valid(f.bytes) {
				return nil, errMalformed
			}
			req.topic = string(f.bytes)
		case f.num == fieldPublishMessages && f.typ == protowire.BytesType:
			m, err := parseMessage(f.bytes)
			if err != nil {
				return nil, err
			}
			if len(req.messages) == maxPublishMessages {
				req.more++ // it is refused: an empty message of 2 bytes would cost 100
				continue
			}
			req.messages = append(req.messages, m)
		}
	}
	return req, nil
}

func parseMessage(data []byte) (publishMessage, error) {
	m := publishMessage{body: data}
	assigned := false // the publisher set a field that only the server may set
	for len(data) > 0 {
		f, rest, err := nextField(data)
		if err != nil {
			return m, err
		}
		data = rest
		if f.num <= fieldMessageOrderingKey && f.typ != protowire.BytesType {
			return m, errMalformed
		}
		switch f.num {
		case fieldMessageData:
			m.data = len(f.bytes)
		case fieldMessageAttributes:
			if err := m.addAttribute(f.bytes); err != nil {
				return m, err
			}
		case fieldMessageID:
			assigned = true
			if !utf8.Valid(f.bytes) {
				return m, errMalformed
			}
		case fieldMessageTime:
			assigned = true
			if err := eachField(f.bytes, func(field) error { return nil }); err != nil {
				return m, err
			}
		case fieldMessageOrderingKey:
			if !utf8.Valid(f.bytes) {
				return m, errMalformed
			}
			m.key = f.bytes
		}
	}
	if assigned {
		m.body = withoutAssigned(m.body)
	}
	return m, nil
}

func (m *publishMessage) addAttribute(data []byte) error {
	key, value, err := parseAttribute(data)
	if err != nil {
		return err
	}
	m.attributes++
	m.longestKey = max(m.longestKey, len(key))
	if len(value) > m.longestValue {
		m.longestValue, m.longestValueKey = len(value), key
	}
	if bytes.HasPrefix(key, []byte(reservedPrefix)) && !bytes.HasPrefix(key, []byte(clientPrefix)) {
		m.reserved = key
	}
	return nil
}

// parseAttribute reads an entry of the attributes.
func parseAttribute(data []byte) (key, value []byte, err error) {
	for len(data) > 0 {
		f, rest, err := nextField(data)
		if err != nil {
			return nil, nil, err
		}
		data = rest
		if f.num > 2 {
			continue
		}
		if f.typ != protowire.BytesType || !utf8.Valid(f.bytes) {
			return nil, nil, errMalformed
		}
		if f.num == 1 {
			key = f.bytes
		} else {
			value = f.bytes
		}
	}
	return key, value, nil
}

// withoutAssigned copies a message without message_id and publish_time: the
// server populates them.
func withoutAssigned(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		num, _, _ := protowire.ConsumeTag(data)
		_, _, n := protowire.ConsumeField(data)
		if num != fieldMessageID && num != fieldMessageTime {
			out = append(out, data[:n]...)
		}
		data = data[n:]
	}
	return out
}

// distinctKeys counts the ordering keys of the request's first 1,000 messages, no
// key being one too.
func (r *publishRequest) distinctKeys() int {
	if len(r.messages) == 0 {
		return 0
	}
	same := true
	for i := range r.messages {
		same = same && bytes.Equal(r.messages[i].key, r.messages[0].key)
	}
	if same {
		return 1
	}
	seen := map[string]struct{}{}
	for i := range r.messages {
		seen[string(r.messages[i].key)] = struct{}{}
	}
	return len(seen)
}
