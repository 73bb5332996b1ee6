package pull

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// fatal returns an Error if err is an answer that time doesn't heal, else nil.
// Unavailable, Internal, ResourceExhausted, Aborted, Canceled, DeadlineExceeded,
// Unknown and a broken connection heal: Pub/Sub closes every stream now and then
// (https://cloud.google.com/pubsub/docs/pull#streamingpull: "has a 100% error rate").
func fatal(what string, err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	switch code := status.Code(err); code {
	case codes.NotFound:
		return &Error{what, "subscription_missing", "create the subscription (cdc-publisher init) or correct pubsub.ordered.subscription", err}
	case codes.PermissionDenied, codes.Unauthenticated:
		return &Error{what, "subscription_permission", "grant roles/pubsub.subscriber on the subscription to the account of cdc-sink", err}
	case codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented, codes.OutOfRange:
		return &Error{what, "subscription_refused", "check that the subscription is a pull subscription and attached to its topic (cdc-sink check)", err}
	default:
		return nil
	}
}
