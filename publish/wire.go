package publish

import (
	"errors"
	"fmt"
	"time"

	"cdc/publish/queue"
	"cdc/schema"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of google.pubsub.v1 (pubsub.proto).
const (
	fieldRequestTopic    = 1 // PublishRequest.topic
	fieldRequestMessages = 2 // PublishRequest.messages
	fieldResponseIDs     = 1 // PublishResponse.message_ids

	fieldMessageData        = 1 // PubsubMessage.data
	fieldMessageAttributes  = 2 // PubsubMessage.attributes, a map: entries {1: key, 2: value}
	fieldMessageOrderingKey = 5 // PubsubMessage.ordering_key
)

// sentBytes is the length of the value of the attribute sent, as schema.Micros
// writes it (schema/WIRE.md).
const sentBytes = len("2006-01-02T15:04:05.000000Z")

// messageOverheadBytes is what a request adds to a message: its tag, its length
// (≤ 4 bytes below 256 MB) and the attribute sent.
const messageOverheadBytes = 1 + 4 + sentEntryBytes

// sentEntryBytes is the length of the attribute sent as a map entry: tag and
// length of the entry, of the name and of the value.
const sentEntryBytes = 2 + 2 + len(schema.AttrSent) + 2 + sentBytes

// appendMessage appends m as a PubsubMessage without the attribute sent.
func appendMessage(dst []byte, m *schema.Message) []byte {
	attributes := m.Attributes
	attributes.Sent = 0
	attributes.Each(func(name string, value []byte) {
		dst = protowire.AppendTag(dst, fieldMessageAttributes, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(name))+
			protowire.SizeTag(2)+protowire.SizeBytes(len(value))))
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendString(dst, name)
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = protowire.AppendBytes(dst, value)
	})
	dst = protowire.AppendTag(dst, fieldMessageOrderingKey, protowire.BytesType)
	dst = protowire.AppendBytes(dst, m.OrderingKey)
	dst = protowire.AppendTag(dst, fieldMessageData, protowire.BytesType)
	return protowire.AppendBytes(dst, m.Data)
}

// appendSent appends the attribute sent as an entry of the message's attributes.
func appendSent(dst []byte, sent time.Time) []byte {
	dst = protowire.AppendTag(dst, fieldMessageAttributes, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(sentEntryBytes-2))
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	dst = protowire.AppendString(dst, schema.AttrSent)
	dst = protowire.AppendTag(dst, 2, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(sentBytes))
	return schema.MicrosOf(sent).Append(dst)
}

// wireRequest is one PublishRequest as pieces of wire bytes. The messages are
// not copied: an attempt that was given up may still be read by the transport
// while the next one is made, so nothing that was handed over is written again.
type wireRequest struct{ pieces mem.BufferSlice }

// newRequest makes the PublishRequest of items, which start with topic, the
// encoded field of the topic's name.
func newRequest(topic []byte, items []queue.Item[item], sent time.Time) *wireRequest {
	entry := appendSent(make([]byte, 0, sentEntryBytes), sent)
	heads := make([]byte, 0, len(topic)+len(items)*messageOverheadBytes)
	heads = append(heads, topic...)
	pieces := make(mem.BufferSlice, 0, 2*len(items))
	start := 0
	for i := range items {
		heads = protowire.AppendTag(heads, fieldRequestMessages, protowire.BytesType)
		heads = protowire.AppendVarint(heads, uint64(sentEntryBytes+len(items[i].Message.wire)))
		heads = append(heads, entry...)
		pieces = append(pieces, mem.SliceBuffer(heads[start:len(heads):len(heads)]), mem.SliceBuffer(items[i].Message.wire))
		start = len(heads)
	}
	return &wireRequest{pieces}
}

// appendTopic appends the field topic of a PublishRequest.
func appendTopic(dst []byte, topic string) []byte {
	dst = protowire.AppendTag(dst, fieldRequestTopic, protowire.BytesType)
	return protowire.AppendString(dst, topic)
}

// wireResponse is one PublishResponse as wire bytes.
type wireResponse struct{ bytes []byte }

// errBadResponse: the answer isn't a PublishResponse.
var errBadResponse = errors.New("answer is not a PublishResponse")

// each calls f for every message ID, in the order of the request's messages.
func (r *wireResponse) each(f func(id []byte)) error {
	for b := r.bytes; len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errBadResponse
		}
		b = b[n:]
		if number == fieldResponseIDs && kind == protowire.BytesType {
			id, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return errBadResponse
			}
			f(id)
			b = b[n:]
			continue
		}
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return errBadResponse
		}
		b = b[n:]
	}
	return nil
}

// codec hands wireRequests and wireResponses to gRPC as the bytes that they are.
// Its name is that of the standard codec, so the server sees application/grpc+proto.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	r, ok := v.(*wireRequest)
	if !ok {
		return nil, fmt.Errorf("encode publish request: %T", v)
	}
	return r.pieces, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*wireResponse)
	if !ok {
		return fmt.Errorf("decode publish response: %T", v)
	}
	r.bytes = data.Materialize()
	return nil
}
