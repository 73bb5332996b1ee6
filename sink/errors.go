package sink

import (
	"errors"
	"fmt"
)

// Error is an error that a person reads: what failed, a stable code, and what to do.
type Error struct {
	what string
	code string
	fix  string
	err  error
}

func (e *Error) Error() string {
	if e.err == nil {
		return e.what
	}
	return fmt.Sprintf("%s: %v", e.what, e.err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Code returns the stable name of the error.
func (e *Error) Code() string { return e.code }

// Fix says what to do about it.
func (e *Error) Fix() string { return e.fix }

// coded is an error that a person must act on.
type coded interface {
	error
	Code() string
	Fix() string
}

// needsPerson reports whether err has a Code and a Fix, and so isn't repeated.
func needsPerson(err error) bool {
	_, ok := errors.AsType[coded](err)
	return ok
}
