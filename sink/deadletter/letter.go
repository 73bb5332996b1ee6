package deadletter

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/pubsub/v2"
)

// The attributes that a letter has beside the change's own.
const (
	AttrOrderingKey     = "ordering_key"
	AttrErrorCode       = "error_code"
	AttrError           = "error"
	AttrSource          = "source_subscription"
	AttrMessageID       = "message_id"
	AttrDeliveryAttempt = "delivery_attempt"
	AttrFailedAt        = "failed_at"        // RFC 3339, UTC
	AttrEncoding        = "content_encoding" // gzip, if the body was too large as it is
)

// Limits of a message (https://cloud.google.com/pubsub/quotas#resource_limits).
const (
	maxAttributes     = 100
	maxNameBytes      = 256
	maxAttributeBytes = 1024
	maxMessageBytes   = 9_900_000 // of 10 MB, with the rest of a request
)

// Letter is one change, or one undecodable message, and why it wasn't written.
type Letter struct {
	Attributes      map[string]string // its own: those of the change, or of the message as it came
	Data            []byte            // the body of the change alone, or of the message
	OrderingKey     string            // of the message that it came in
	MessageID       string
	DeliveryAttempt int32
	ErrorCode       string // stable
	Error           string // for people; no row values
	FailedAt        time.Time
}

// message makes the Pub/Sub message. It returns an error if the body is too
// large even when compressed.
func (l *Letter) message(subscription string) (*pubsub.Message, error) {
	attributes := map[string]string{
		AttrOrderingKey: clip(l.OrderingKey), AttrErrorCode: clip(l.ErrorCode), AttrError: clip(l.Error),
		AttrSource: clip(subscription), AttrMessageID: clip(l.MessageID),
		AttrDeliveryAttempt: strconv.Itoa(int(l.DeliveryAttempt)),
		AttrFailedAt:        l.FailedAt.UTC().Format(time.RFC3339Nano),
	}
	data := l.Data
	if len(data) > maxMessageBytes-64<<10 {
		var err error
		if data, err = compress(data); err != nil {
			return nil, err
		}
		attributes[AttrEncoding] = "gzip"
	}
	size := len(data)
	for name, value := range l.Attributes {
		// A message that isn't ours may have as many as ours and more besides.
		if _, ours := attributes[name]; ours || len(attributes) >= maxAttributes || name == "" || len(name) > maxNameBytes {
			continue
		}
		attributes[strings.ToValidUTF8(name, "�")] = clip(value)
	}
	for name, value := range attributes {
		size += len(name) + len(value)
	}
	if size > maxMessageBytes {
		return nil, &Error{
			fmt.Sprintf("dead letter of message %s has %d bytes", l.MessageID, size), CodeTooLarge,
			"keep the message by seeking a second subscription, then leave out the column that makes the row so large", nil,
		}
	}
	return &pubsub.Message{Data: data, Attributes: attributes}, nil
}

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compress dead letter: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress dead letter: %w", err)
	}
	return b.Bytes(), nil
}

// clip makes s a valid attribute value: UTF-8 of at most 1,024 bytes.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= maxAttributeBytes {
		return s
	}
	s = s[:maxAttributeBytes]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
