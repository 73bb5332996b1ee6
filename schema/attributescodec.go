package schema

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxAttributeBytes is Pub/Sub's limit on an attribute's value
// (https://cloud.google.com/pubsub/quotas#resource_limits).
const maxAttributeBytes = 1024

// Each calls f for every attribute in a fixed order; value is valid during the
// call only. Sent is left out while it is zero, Schema and Table while they are
// empty (a control message for the whole database, an outbox message).
func (a *Attributes) Each(f func(name string, value []byte)) {
	a.EachIn(make([]byte, 0, 2*PositionLen), f)
}

// EachIn is Each with the caller's scratch space, so that it needn't allocate.
func (a *Attributes) EachIn(scratch []byte, f func(name string, value []byte)) {
	buf := scratch[:0]
	f(AttrVersion, strconv.AppendInt(buf, int64(a.Version), 10))
	f(AttrDatabase, append(buf, a.Database...))
	if a.Schema != "" {
		f(AttrSchema, append(buf, a.Schema...))
	}
	if a.Table != "" {
		f(AttrTable, append(buf, a.Table...))
	}
	f(AttrOp, append(buf, byte(a.Op)))
	if a.Op != RequestOp {
		f(AttrPosition, a.Position.Append(buf))
		f(AttrCount, strconv.AppendInt(buf, int64(a.Count), 10))
	}
	f(AttrContentType, append(buf, a.ContentType...))
	if a.Op == RequestOp {
		return
	}
	f(AttrSourceID, append(buf, a.SourceID...))
	if a.Sent != 0 {
		f(AttrSent, a.Sent.Append(buf))
	}
}

// Attribute sets one attribute of a from the wire. Unknown names are ignored;
// of two with one name the later counts, as in a protobuf map. Another version
// than FormatVersion is ErrVersion.
func (d *Decoder) Attribute(a *Attributes, name, value []byte) error {
	if len(value) > maxAttributeBytes {
		return fmt.Errorf("an attribute is longer than %d bytes: %w", maxAttributeBytes, ErrField)
	}
	ok := true
	var err error
	switch string(name) {
	case AttrVersion:
		if string(value) != "1" {
			return fmt.Errorf("attribute v: %w", ErrVersion)
		}
		a.Version = FormatVersion
	case AttrDatabase:
		a.Database, ok = d.strings.string(value), utf8.Valid(value)
	case AttrSchema:
		a.Schema, ok = d.strings.string(value), utf8.Valid(value)
	case AttrTable:
		a.Table, ok = d.strings.string(value), utf8.Valid(value)
	case AttrOp:
		if ok = len(value) == 1; ok {
			a.Op = Op(value[0])
		}
	case AttrPosition:
		a.Position, err = ParsePosition(value)
	case AttrCount:
		var n uint64
		n, ok = parseUint(value)
		if ok = ok && n > 0; ok {
			if n > MaxChanges {
				return fmt.Errorf("attribute count: %w", ErrTooManyChanges)
			}
			a.Count = int(n)
		}
	case AttrContentType:
		a.ContentType, ok = d.strings.string(value), utf8.Valid(value)
	case AttrSourceID:
		_, ok = parseUint(value)
		a.SourceID = d.strings.string(value)
	case AttrSent:
		a.Sent, err = ParseMicros(value)
	}
	if !ok || err != nil {
		return fmt.Errorf("attribute %s: %w", attributeName(name), ErrField)
	}
	return nil
}

// attributeName returns a known name, for errors.
func attributeName(name []byte) string {
	for _, known := range []string{AttrDatabase, AttrSchema, AttrTable, AttrOp, AttrPosition, AttrCount, AttrContentType, AttrSourceID, AttrSent} {
		if string(name) == known {
			return known
		}
	}
	return "unknown"
}

// checkAttributes checks what all messages but requests have in common.
func checkAttributes(a *Attributes) error {
	switch {
	case a.Version != FormatVersion:
		return ErrVersion
	case a.Count > MaxChanges:
		return ErrTooManyChanges
	case a.Database == "", a.SourceID == "", a.Position.IsZero(), a.Count < 1, (a.Schema == "") != (a.Table == ""):
		return fmt.Errorf("attribute database, source_id, position, count, schema or table is missing or wrong: %w", ErrField)
	}
	return nil
}

func checkChangesAttributes(a *Attributes) error {
	if err := checkAttributes(a); err != nil {
		return err
	}
	content := ContentJSON
	switch a.Op {
	case Create, Update, Delete, Read:
		if a.Count != 1 {
			return fmt.Errorf("attribute count of a single change: %w", ErrField)
		}
	case BatchOp:
		content = ContentNDJSON
	default:
		return fmt.Errorf("attribute op isn't one of row changes: %w", ErrField)
	}
	if a.ContentType != content || a.Table == "" {
		return fmt.Errorf("attribute content_type or table doesn't go with op: %w", ErrField)
	}
	return nil
}

// checkSingleAttributes checks those of a control or outbox message.
func checkSingleAttributes(a *Attributes, op Op) error {
	if err := checkAttributes(a); err != nil {
		return err
	}
	if a.Op != op || a.Count != 1 || a.ContentType != ContentJSON {
		return fmt.Errorf("attribute op, count or content_type: %w", ErrField)
	}
	return nil
}
