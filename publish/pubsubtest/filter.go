package pubsubtest

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

// filter is a condition on a message's attributes; nil matches every message.
type filter func(attributes map[string]string) bool

// matching returns the messages that the filter lets through, in their order.
func (f filter) matching(msgs []*message) []*message {
	if f == nil {
		return msgs
	}
	var kept []*message
	for _, m := range msgs {
		if f(attributesOf(m.body)) {
			kept = append(kept, m)
		}
	}
	return kept
}

// attributesOf reads the attributes of a PubsubMessage that parsePublish took.
func attributesOf(body []byte) map[string]string {
	attributes := map[string]string{}
	_ = eachField(body, func(f field) error {
		if f.num == fieldMessageAttributes && f.typ == protowire.BytesType {
			key, value, err := parseAttribute(f.bytes)
			attributes[string(key)] = string(value)
			return err
		}
		return nil
	})
	return attributes
}

// The conditions that a filter is made of.

func hasKey(key string) filter {
	return func(attributes map[string]string) bool { _, ok := attributes[key]; return ok }
}

func hasValue(key, value string) filter {
	return func(attributes map[string]string) bool { v, ok := attributes[key]; return ok && v == value }
}

func hasPrefix(key, prefix string) filter {
	return func(attributes map[string]string) bool {
		v, ok := attributes[key]
		return ok && strings.HasPrefix(v, prefix)
	}
}

func not(f filter) filter {
	return func(attributes map[string]string) bool { return !f(attributes) }
}

func allOf(terms []filter) filter {
	return func(attributes map[string]string) bool {
		for _, f := range terms {
			if !f(attributes) {
				return false
			}
		}
		return true
	}
}

func anyOf(terms []filter) filter {
	return func(attributes map[string]string) bool {
		for _, f := range terms {
			if f(attributes) {
				return true
			}
		}
		return false
	}
}

// checkFilter refuses a filter that the service refuses.
func (s *Server) checkFilter(text string) error {
	if n := len(text); n > maxFilterBytes {
		return s.refusals.refuse(RuleFilter, codes.InvalidArgument, "The filter is %d bytes long; the maximum is %d.", n, maxFilterBytes)
	}
	if _, err := parseFilter(text); err != nil {
		return s.refusals.refuse(RuleFilterSyntax, codes.InvalidArgument, "Invalid filter given (filter=%s): %v.", text, err)
	}
	return nil
}
