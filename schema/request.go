package schema

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// AppendRequest appends the body of a request. It returns ErrField unless
// exactly one of Keys, Chunk and All is set.
func AppendRequest(dst []byte, r *Request) ([]byte, error) {
	out, err := appendRequest(dst, r)
	if err != nil {
		return dst, fmt.Errorf("encode request: %w", err)
	}
	return out, nil
}

func appendRequest(dst []byte, r *Request) (_ []byte, err error) {
	if err := checkRequest(r); err != nil {
		return dst, err
	}
	dst = append(dst, `{"v":1`...)
	for _, f := range [...]struct{ name, text string }{
		{`,"id":`, r.ID}, {`,"schema":`, r.Schema}, {`,"table":`, r.Table},
	} {
		if dst, err = appendString(append(dst, f.name...), f.text); err != nil {
			return dst, err
		}
	}
	switch {
	case r.All:
		dst = append(dst, `,"all":true`...)
	case r.Chunk != nil:
		if dst, err = appendString(append(dst, `,"chunk":{"plan":`...), r.Chunk.Plan); err != nil {
			return dst, err
		}
		dst = strconv.AppendInt(append(dst, `,"chunk":`...), int64(r.Chunk.Chunk), 10)
		dst = append(dst, '}')
	default:
		if dst, err = appendRequestKeys(dst, r.Keys); err != nil {
			return dst, err
		}
	}
	if dst, err = appendString(append(dst, `,"reason":`...), r.Reason); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

func appendRequestKeys(dst []byte, keys []RequestKey) (_ []byte, err error) {
	open := `,"keys":[`
	for _, key := range keys {
		dst = append(dst, open...)
		open = ","
		member := byte('{')
		for _, name := range slices.Sorted(maps.Keys(key)) {
			if dst, err = appendString(append(dst, member), name); err != nil {
				return dst, err
			}
			member = ','
			if err := checkRequestValue(key[name]); err != nil {
				return dst, fmt.Errorf("key column %q: %w", name, err)
			}
			dst = append(append(dst, ':'), key[name]...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

func checkRequestValue(v RequestValue) error {
	if err := checkData(v); err != nil {
		return err
	}
	s := scanner{data: v}
	if _, err := s.value(3); err != nil {
		return err
	}
	return s.end()
}

func checkRequest(r *Request) error {
	forms := 0
	for _, set := range []bool{len(r.Keys) > 0, r.Chunk != nil, r.All} {
		if set {
			forms++
		}
	}
	switch {
	case forms != 1:
		return fmt.Errorf("want exactly one of keys, chunk and all: %w", ErrField)
	case r.ID == "" || r.Schema == "" || r.Table == "":
		return fmt.Errorf("id, schema or table is empty: %w", ErrField)
	case len(r.Keys) > MaxChanges:
		return ErrTooManyChanges
	case r.Chunk != nil && (r.Chunk.Chunk < 0 || len(r.Chunk.Plan) > MaxPlanBytes):
		return fmt.Errorf("chunk: %w", ErrField)
	}
	for _, key := range r.Keys {
		if len(key) == 0 {
			return fmt.Errorf("a key without columns: %w", ErrField)
		}
	}
	return nil
}

// ParseRequest decodes a request.
func ParseRequest(data []byte) (*Request, error) {
	r, err := parseRequest(data)
	if err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
	}
	return r, nil
}

func parseRequest(data []byte) (*Request, error) {
	top := readObject(data)
	if v := top.integer("v"); top.err == nil && v != FormatVersion {
		return nil, ErrVersion
	}
	r := &Request{ID: top.string("id"), Schema: top.string("schema"), Table: top.string("table"), Reason: top.string("reason")}
	if top.has("keys") {
		r.Keys = top.requestKeys("keys")
	}
	if top.has("chunk") {
		chunk := top.object("chunk")
		r.Chunk = &RequestChunk{Plan: chunk.string("plan"), Chunk: chunk.int32("chunk")}
		if err := chunk.done(); err != nil {
			return nil, err
		}
	}
	if top.has("all") {
		_, r.All = top.take("all", jsonTrue)
	}
	if err := top.done(); err != nil {
		return nil, err
	}
	return r, checkRequest(r)
}

func (r *objectReader) requestKeys(name string) (keys []RequestKey) {
	for _, t := range r.list(name, MaxChanges, ErrTooManyChanges) {
		if t.kind != jsonObject {
			r.fail(name)
			return nil
		}
		in := objectReader{s: scanner{data: r.s.data[:t.end], pos: int(t.start)}}
		if in.read(r.depth + 1); in.err != nil {
			r.err = in.err
			return nil
		}
		key := make(RequestKey, len(in.fields))
		for column, value := range in.fields {
			key[column] = rawValue(&in.s, value)
		}
		keys = append(keys, key)
	}
	return keys
}

// rawValue returns the JSON text of a value.
func rawValue(s *scanner, t token) RequestValue {
	if t.kind == jsonString {
		t.start, t.end = t.start-1, t.end+1
	}
	return bytes.Clone(s.text(t))
}

// KeyRow turns a requested key into values in the order of t.Key. It returns an
// error that wraps ErrField if the names aren't exactly t's key columns and one
// that wraps ErrValue if a value isn't of its column's type.
func (t *Table) KeyRow(k RequestKey) (Row, error) {
	if len(t.Key) == 0 || len(k) != len(t.Key) {
		return nil, fmt.Errorf("requested key of %s: not its key columns: %w", t, ErrField)
	}
	row := make(Row, len(t.Key))
	var v values
	for i, column := range t.Key {
		raw, ok := k[t.Columns[column].Name]
		if !ok {
			return nil, fmt.Errorf("requested key of %s: no column %q: %w", t, t.Columns[column].Name, ErrField)
		}
		err := checkRequestValue(raw)
		if err == nil {
			s := scanner{data: raw}
			tok, _ := s.value(0)
			row[i], err = v.value(codecOf(t.Columns[column].Type), &s, tok)
		}
		if err == nil && row[i].State != Text {
			err = ErrValue
		}
		if err != nil {
			return nil, fmt.Errorf("requested key of %s: %w", t, columnError(t, column, err))
		}
	}
	return row, nil
}

// RequestKey is the way back from KeyRow: the key of a row of t, for a Request.
func (t *Table) RequestKey(key Row) (RequestKey, error) {
	if len(key) != len(t.Key) || len(key) == 0 {
		return nil, fmt.Errorf("request key of %s: not as many values as key columns: %w", t, ErrField)
	}
	k := make(RequestKey, len(key))
	var e Encoder
	for i, column := range t.Key {
		if key[i].State != Text {
			return nil, fmt.Errorf("request key of %s: column %q is null or unchanged: %w", t, t.Columns[column].Name, ErrField)
		}
		raw, err := e.appendValue(nil, codecOf(t.Columns[column].Type), key[i].Text)
		if err != nil {
			return nil, fmt.Errorf("request key of %s: %w", t, columnError(t, column, err))
		}
		k[t.Columns[column].Name] = raw
	}
	return k, nil
}
