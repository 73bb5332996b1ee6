package pubsubtest

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// pullRequest is a StreamingPullRequest, an AcknowledgeRequest or a
// ModifyAckDeadlineRequest: the hot requests of a subscriber.
type pullRequest struct {
	subscription string
	ackIDs       [][]byte
	modifyIDs    [][]byte
	modifySecs   []int64 // one an id in a stream; one in all in a unary request
	deadlineSecs int64
	clientID     string
	maxMessages  int64
	maxBytes     int64
	protocol     int64
	size         int
}

// GetSubscription makes the name visible to fault filters.
func (r *pullRequest) GetSubscription() string { return r.subscription }

// empty reports whether a stream request says nothing: a keep-alive.
func (r *pullRequest) empty() bool { return r.size == 0 }

// parseStreamingPull reads a StreamingPullRequest.
func parseStreamingPull(data []byte) (*pullRequest, error) {
	r := &pullRequest{size: len(data)}
	err := eachField(data, func(f field) error {
		switch f.num {
		case 1:
			return f.text(&r.subscription)
		case 2:
			return f.id(&r.ackIDs, r.most())
		case 3:
			return f.ints(&r.modifySecs, r.most())
		case 4:
			return f.id(&r.modifyIDs, r.most())
		case 5:
			return f.int(&r.deadlineSecs)
		case 6:
			return f.text(&r.clientID)
		case 7:
			return f.int(&r.maxMessages)
		case 8:
			return f.int(&r.maxBytes)
		case 10:
			return f.int(&r.protocol)
		}
		return nil
	})
	return r, err
}

// parseAcknowledge reads an AcknowledgeRequest.
func parseAcknowledge(data []byte) (*pullRequest, error) {
	r := &pullRequest{size: len(data)}
	err := eachField(data, func(f field) error {
		switch f.num {
		case 1:
			return f.text(&r.subscription)
		case 2:
			return f.id(&r.ackIDs, r.most())
		}
		return nil
	})
	return r, err
}

// parseModifyAckDeadline reads a ModifyAckDeadlineRequest.
func parseModifyAckDeadline(data []byte) (*pullRequest, error) {
	r := &pullRequest{size: len(data), modifySecs: []int64{0}}
	err := eachField(data, func(f field) error {
		switch f.num {
		case 1:
			return f.text(&r.subscription)
		case 3:
			return f.int(&r.modifySecs[0])
		case 4:
			return f.id(&r.modifyIDs, r.most())
		}
		return nil
	})
	return r, err
}

func eachField(data []byte, do func(field) error) error {
	for len(data) > 0 {
		f, rest, err := nextField(data)
		if err != nil {
			return err
		}
		data = rest
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

func (f field) text(to *string) error {
	if f.typ != protowire.BytesType || !utf8.Valid(f.bytes) {
		return errMalformed
	}
	*to = string(f.bytes)
	return nil
}

// most is how many ack ids or deadlines are kept: of more, one of the ids is too
// short, for which the request is refused. An empty id of 2 bytes would cost 24.
func (r *pullRequest) most() int { return r.size/minAckIDBytes + 1 }

func (f field) id(to *[][]byte, most int) error {
	if f.typ != protowire.BytesType || !utf8.Valid(f.bytes) {
		return errMalformed
	}
	if len(*to) < most {
		*to = append(*to, f.bytes)
	}
	return nil
}

func (f field) int(to *int64) error {
	if f.typ != protowire.VarintType {
		return errMalformed
	}
	*to = int64(f.varint)
	return nil
}

// ints reads a repeated number, packed or not.
func (f field) ints(to *[]int64, most int) error {
	if f.typ == protowire.VarintType {
		if len(*to) < most {
			*to = append(*to, int64(int32(f.varint)))
		}
		return nil
	}
	if f.typ != protowire.BytesType {
		return errMalformed
	}
	for data := f.bytes; len(data) > 0; {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return errMalformed
		}
		if len(*to) < most {
			*to = append(*to, int64(int32(v)))
		}
		data = data[n:]
	}
	return nil
}
