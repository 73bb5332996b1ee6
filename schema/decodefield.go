package schema

import (
	"bytes"
	"fmt"
)

// Each of these reads one value of a line and marks its field as seen.

func (d *Decoder) token(f fields, kind jsonKind, to *token) error {
	if err := d.line.set(f); err != nil {
		return err
	}
	t, err := d.scan.value(2)
	if err != nil {
		return err
	}
	if t.kind != kind {
		return fieldError(f)
	}
	*to = t
	return nil
}

// array reads types or attnums, which mostly are those of the last shape: then
// a comparison takes the place of a scan.
func (d *Decoder) array(f fields, to *token) error {
	s := &d.scan
	if last := d.shapes.last; last != nil {
		known := last.types
		if f == fAttnums {
			known = last.attnums
		}
		if len(known) > 0 && bytes.HasPrefix(s.data[s.pos:], known) {
			*to = token{start: int32(s.pos), end: int32(s.pos + len(known)), kind: jsonArray}
			s.pos += len(known)
			return d.line.set(f)
		}
	}
	return d.token(f, jsonArray, to)
}

// fieldError names the field, never its value.
func fieldError(f fields) error { return fmt.Errorf("%s: %w", f, ErrField) }

func (d *Decoder) integer(f fields, to *int64) error {
	var t token
	if err := d.token(f, jsonInteger, &t); err != nil {
		return err
	}
	n, ok := parseInt(d.scan.text(t))
	if !ok {
		return fieldError(f)
	}
	*to = n
	return nil
}

func (d *Decoder) unsigned(f fields, to *uint64) error {
	var t token
	if err := d.token(f, jsonInteger, &t); err != nil {
		return err
	}
	n, ok := parseUint(d.scan.text(t))
	if !ok {
		return fieldError(f)
	}
	*to = n
	return nil
}

// string reads a string that has no escapes in the form we know.
func (d *Decoder) string(f fields) ([]byte, error) {
	var t token
	if err := d.token(f, jsonString, &t); err != nil {
		return nil, err
	}
	return d.scan.text(t), nil
}

func (d *Decoder) constant(f fields, want string) error {
	b, err := d.string(f)
	if err != nil {
		return err
	}
	if string(b) != want {
		if f == fVersion {
			return fmt.Errorf("source.version: %w", ErrVersion)
		}
		return fieldError(f)
	}
	return nil
}

func (d *Decoder) sourceSnapshot() error {
	b, err := d.string(fSourceSnapshot)
	if err != nil {
		return err
	}
	d.line.incremental = string(b) == "incremental"
	if !d.line.incremental && string(b) != "false" {
		return fieldError(fSourceSnapshot)
	}
	return nil
}

func (d *Decoder) position(f fields, to *Position) error {
	b, err := d.string(f)
	if err != nil {
		return err
	}
	if *to, err = ParsePosition(b); err != nil {
		return fieldError(f)
	}
	return nil
}

func (d *Decoder) time(f fields, to *Micros) error {
	b, err := d.string(f)
	if err != nil {
		return err
	}
	if *to, err = ParseMicros(b); err != nil {
		return fieldError(f)
	}
	return nil
}

func (d *Decoder) literalTrue(f fields) error {
	var t token
	return d.token(f, jsonTrue, &t)
}

// object reads an object of columns; depth is the number of brackets around its
// members.
func (d *Decoder) object(f fields, to *object, depth int) error {
	if err := d.line.set(f); err != nil {
		return err
	}
	s := &d.scan
	if c := s.peek(); c == 'n' && f&(fBefore|fAfter) != 0 {
		_, err := s.value(1)
		return err
	} else if c != '{' {
		return s.unexpected()
	}
	s.pos++
	from := len(d.members)
	for n := 0; ; n++ {
		name, ok, err := s.member(n)
		if err != nil {
			return err
		}
		if !ok {
			*to = object{int32(from), int32(len(d.members)), true}
			return nil
		}
		if n == MaxColumns {
			return ErrTooManyColumns
		}
		value, err := s.value(depth)
		if err != nil {
			return err
		}
		d.members = append(d.members, member{name, value})
	}
}

// names reads an array of column names that isn't empty.
func (d *Decoder) names(f fields, to *object) error {
	if err := d.line.set(f); err != nil {
		return err
	}
	s := &d.scan
	if err := s.open('['); err != nil {
		return err
	}
	from := len(d.members)
	for n := 0; ; n++ {
		ok, err := s.more(n, ']')
		if err != nil {
			return err
		}
		if !ok {
			if n == 0 {
				return fieldError(f)
			}
			*to = object{int32(from), int32(len(d.members)), true}
			return nil
		}
		if n == MaxColumns {
			return ErrTooManyColumns
		}
		name, err := s.value(3)
		if err != nil {
			return err
		}
		if name.kind != jsonString {
			return fieldError(f)
		}
		d.members = append(d.members, member{name: name})
	}
}
