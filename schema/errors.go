package schema

import (
	"errors"
	"fmt"
)

// Why a message is refused. Errors of this package wrap one of them and never
// carry a row's value.
var (
	ErrTooLarge       = errors.New("message is larger than 10,000,000 bytes")
	ErrTooManyChanges = errors.New("more than 100,000 changes in a message")
	ErrNesting        = errors.New("JSON nested deeper than 32")
	ErrVersion        = errors.New("unknown wire format version: upgrade the service that reads")
	ErrDuplicate      = errors.New("duplicate field")
	ErrUTF8           = errors.New("invalid UTF-8")
	ErrSyntax         = errors.New("not JSON")
	ErrField          = errors.New("missing, unknown or wrong field")
	ErrValue          = errors.New("value isn't of its column's type")

	// ErrTrailing says that something follows the end of the JSON value.
	ErrTrailing = errors.New("bytes after the end of the JSON value")
	// ErrUnknown is an ErrField: a field that version 1 doesn't have there.
	ErrUnknown = fmt.Errorf("unknown field: %w", ErrField)
)
