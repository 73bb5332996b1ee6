package pgoutput

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"cdc/schema"
)

// Why bytes are refused. Errors of this package wrap one of them and carry no
// row's value.
var (
	ErrShort    = errors.New("message ends early")
	ErrTrailing = errors.New("bytes behind the message's end")
	ErrValue    = errors.New("value that the protocol doesn't allow")
	ErrBinary   = errors.New("column in binary format; text was asked for")
)

// UnknownError is a message whose letter isn't one of protocol version 1, such
// as those of streamed or prepared transactions, which are never asked for.
type UnknownError struct{ Letter byte }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("message %q isn't one of protocol version 1", string(rune(e.Letter)))
}

// postgresEpoch is 2000-01-01 00:00:00 UTC, from which the server counts
// microseconds, in microseconds since 1970.
const postgresEpoch = 946_684_800_000_000

// reader takes values off the front of b. The first one that isn't there sets
// err; all later ones are zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) < 1 {
		r.fail(ErrShort)
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uint16() uint16 {
	if len(r.b) < 2 {
		r.fail(ErrShort)
		return 0
	}
	n := binary.BigEndian.Uint16(r.b)
	r.b = r.b[2:]
	return n
}

func (r *reader) uint32() uint32 {
	if len(r.b) < 4 {
		r.fail(ErrShort)
		return 0
	}
	n := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return n
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail(ErrShort)
		return 0
	}
	n := binary.BigEndian.Uint64(r.b)
	r.b = r.b[8:]
	return n
}

func (r *reader) lsn() schema.LSN { return schema.LSN(r.uint64()) }

// time cuts what would overflow: a wrong clock isn't a reason to stop.
func (r *reader) time() schema.Micros {
	n := int64(r.uint64())
	if n > 1<<62 || n < -1<<62 {
		return 0
	}
	return schema.Micros(n + postgresEpoch)
}

// string is NUL-terminated on the wire.
func (r *reader) string() string {
	end := bytes.IndexByte(r.b, 0)
	if end < 0 {
		r.fail(ErrShort)
		return ""
	}
	s := string(r.b[:end])
	r.b = r.b[end+1:]
	return s
}

// bytes has its length before it.
func (r *reader) bytes() []byte {
	n := r.uint32()
	if uint64(n) > uint64(len(r.b)) {
		r.fail(ErrShort)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// end returns the first error, or ErrTrailing if bytes are left.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = ErrTrailing
	}
	return r.err
}
