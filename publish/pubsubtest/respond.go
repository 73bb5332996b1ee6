package pubsubtest

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// firstMessageID makes every id 16 digits long, as the service's are about.
const firstMessageID = 1_000_000_000_000_000

// messageIDBytes is the length of every message id.
const messageIDBytes = 16

// appendPublishResponse appends a PublishResponse with n ids from first on.
func appendPublishResponse(dst []byte, first uint64, n int) []byte {
	for i := range n {
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = append(dst, messageIDBytes)
		dst = strconv.AppendUint(dst, first+uint64(i), 10)
	}
	return dst
}

// encoder writes deliveries of one subscription.
type encoder struct {
	sub        uint32
	ackIDBytes int
	attempts   bool   // a dead-letter policy is set: delivery_attempt is filled
	properties []byte // the SubscriptionProperties field of a stream's responses
}

// append appends a response (StreamingPullResponse or PullResponse: the
// messages have the same field number in both).
func (e *encoder) append(dst []byte, deliveries []delivery, properties bool) []byte {
	var tail [64]byte
	for i := range deliveries {
		d := &deliveries[i]
		assigned := appendAssigned(tail[:0], d.msg)
		body := len(d.msg.body) + len(assigned)
		size := 1 + protowire.SizeBytes(e.ackIDBytes) + 1 + protowire.SizeBytes(body)
		if e.attempts {
			size += 1 + protowire.SizeVarint(uint64(d.attempt))
		}
		dst = protowire.AppendTag(dst, fieldResponseMessages, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(size))
		dst = protowire.AppendTag(dst, fieldReceivedAckID, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(e.ackIDBytes))
		id := d.id
		id.sub = e.sub
		dst = appendAckID(dst, id, e.ackIDBytes)
		dst = protowire.AppendTag(dst, fieldReceivedMessage, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(body))
		dst = append(dst, d.msg.body...)
		dst = append(dst, assigned...)
		if e.attempts {
			dst = protowire.AppendTag(dst, fieldReceivedAttempt, protowire.VarintType)
			dst = protowire.AppendVarint(dst, uint64(d.attempt))
		}
	}
	if properties {
		dst = append(dst, e.properties...)
	}
	return dst
}

// size is about how long the response becomes.
func (e *encoder) size(deliveries []delivery) int {
	n := len(e.properties)
	for i := range deliveries {
		n += len(deliveries[i].msg.body) + e.ackIDBytes + 96
	}
	return n
}

// appendAssigned appends message_id and publish_time, which the server sets.
func appendAssigned(dst []byte, m *message) []byte {
	dst = protowire.AppendTag(dst, fieldMessageID, protowire.BytesType)
	dst = append(dst, messageIDBytes)
	dst = strconv.AppendUint(dst, m.id, 10)
	secs, nanos := uint64(m.time/1e9), uint64(m.time%1e9)
	dst = protowire.AppendTag(dst, fieldMessageTime, protowire.BytesType)
	dst = append(dst, byte(2+protowire.SizeVarint(secs)+protowire.SizeVarint(nanos)))
	dst = protowire.AppendTag(dst, 1, protowire.VarintType)
	dst = protowire.AppendVarint(dst, secs)
	dst = protowire.AppendTag(dst, 2, protowire.VarintType)
	return protowire.AppendVarint(dst, nanos)
}

// appendProperties appends SubscriptionProperties: what a stream says about its
// subscription in every response.
func appendProperties(dst []byte, ordered bool) []byte {
	dst = protowire.AppendTag(dst, fieldResponseProperties, protowire.BytesType)
	if !ordered {
		return append(dst, 0)
	}
	dst = append(dst, 2)
	dst = protowire.AppendTag(dst, 2, protowire.VarintType)
	return append(dst, 1)
}
