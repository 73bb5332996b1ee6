package schema

import (
	"encoding/base64"
	"fmt"
)

// objectReader gives the fields of a JSON object by name. It is for messages
// that are rare: it allocates. The first error stays.
type objectReader struct {
	s      scanner
	depth  int
	fields map[string]token
	err    error
}

// readObject reads the object that all of data must be.
func readObject(data []byte) *objectReader {
	r := &objectReader{s: scanner{data: data}}
	if r.err = checkData(data); r.err != nil {
		return r
	}
	r.read(0)
	if r.err == nil {
		r.err = r.s.end()
	}
	return r
}

// read reads the object at s, with depth brackets around it.
func (r *objectReader) read(depth int) {
	r.depth = depth + 1
	r.fields = make(map[string]token)
	if r.err = r.s.open('{'); r.err != nil {
		return
	}
	for n := 0; ; n++ {
		name, ok, err := r.s.member(n)
		if err != nil || !ok {
			r.err = err
			return
		}
		if n == MaxColumns {
			r.err = ErrTooManyColumns
			return
		}
		text := unescape(&r.s, name)
		if _, twice := r.fields[text]; twice {
			r.err = ErrDuplicate
			return
		}
		if r.fields[text], r.err = r.s.value(r.depth); r.err != nil {
			return
		}
	}
}

// fail notes that the field isn't as it must be.
func (r *objectReader) fail(name string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", name, ErrField)
	}
}

// take removes the field and returns its value, which must be of that kind.
func (r *objectReader) take(name string, kind jsonKind) (token, bool) {
	t, ok := r.fields[name]
	if r.err != nil {
		return token{}, false
	}
	if !ok || t.kind != kind {
		r.fail(name)
		return token{}, false
	}
	delete(r.fields, name)
	return t, true
}

func (r *objectReader) has(name string) bool {
	_, ok := r.fields[name]
	return ok
}

// done returns the first error; a field that nobody took is one.
func (r *objectReader) done() error {
	if r.err == nil && len(r.fields) > 0 {
		r.err = ErrUnknown
	}
	return r.err
}

// finish returns the first error of any of the readers of one message.
func finish(readers ...*objectReader) error {
	for _, r := range readers {
		if r.err != nil {
			return r.err
		}
	}
	for _, r := range readers {
		if err := r.done(); err != nil {
			return err
		}
	}
	return nil
}

func (r *objectReader) string(name string) string {
	t, ok := r.take(name, jsonString)
	if !ok {
		return ""
	}
	return unescape(&r.s, t)
}

func (r *objectReader) constant(name, want string) {
	if got := r.string(name); got != want {
		r.fail(name)
	}
}

func (r *objectReader) integer(name string) int64 {
	t, ok := r.take(name, jsonInteger)
	if !ok {
		return 0
	}
	n, ok := parseInt(r.s.text(t))
	if !ok {
		r.fail(name)
	}
	return n
}

func (r *objectReader) int32(name string) int32 {
	n := r.integer(name)
	if n < 0 || n > 1<<31-1 {
		r.fail(name)
		return 0
	}
	return int32(n)
}

func (r *objectReader) unsigned(name string) uint64 {
	t, ok := r.take(name, jsonInteger)
	if !ok {
		return 0
	}
	n, ok := parseUint(r.s.text(t))
	if !ok {
		r.fail(name)
	}
	return n
}

func (r *objectReader) position(name string) Position {
	p, err := ParsePosition(r.string(name))
	if err != nil {
		r.fail(name)
	}
	return p
}

func (r *objectReader) micros(name string) Micros {
	m, err := ParseMicros([]byte(r.string(name)))
	if err != nil {
		r.fail(name)
	}
	return m
}

func (r *objectReader) base64(name string) []byte {
	b, err := base64.StdEncoding.Strict().DecodeString(r.string(name))
	if err != nil {
		r.fail(name)
	}
	return b
}

// object returns the reader of a field that is an object. Its scanner stops at
// the object's end.
func (r *objectReader) object(name string) *objectReader {
	in := &objectReader{}
	t, ok := r.take(name, jsonObject)
	if !ok {
		in.err = r.err
		return in
	}
	in.s = scanner{data: r.s.data[:t.end], pos: int(t.start)}
	in.read(r.depth)
	return in
}

// list returns the values of a field that is an array, at most limit.
func (r *objectReader) list(name string, limit int, tooMany error) (values []token) {
	t, ok := r.take(name, jsonArray)
	if !ok {
		return nil
	}
	s := scanner{data: r.s.data[:t.end], pos: int(t.start) + 1}
	for n := 0; ; n++ {
		ok, err := s.more(n, ']')
		if err != nil || !ok {
			r.err = err
			return values
		}
		if n == limit {
			r.err = tooMany
			return nil
		}
		v, err := s.value(r.depth + 1)
		if err != nil {
			r.err = err
			return nil
		}
		values = append(values, v)
	}
}

// strings returns the strings of an array.
func (r *objectReader) strings(name string) (list []string) {
	for _, t := range r.list(name, MaxColumns, ErrTooManyColumns) {
		if t.kind != jsonString {
			r.fail(name)
			return nil
		}
		list = append(list, unescape(&r.s, t))
	}
	return list
}

// integers returns the integers of an array, of which there may be limit.
func (r *objectReader) integers(name string, limit int) (list []int64) {
	for _, t := range r.list(name, limit, ErrTooLarge) {
		n, ok := parseInt(r.s.text(t))
		if !ok || t.kind != jsonInteger {
			r.fail(name)
			return nil
		}
		list = append(list, n)
	}
	return list
}
