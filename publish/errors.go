package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is an error that a person reads. It never carries a row's value.
type Error struct {
	code string
	fix  string
	text string
	// GRPC is Pub/Sub's status code, codes.OK if the error didn't come from it.
	GRPC codes.Code
}

// Error says what happened.
func (e *Error) Error() string { return e.text }

// Code names the error; it doesn't change between versions.
func (e *Error) Code() string { return e.code }

// Fix says what to do.
func (e *Error) Fix() string { return e.fix }

// ErrStopped is returned by Publish once Run has ended without an error.
var ErrStopped = errors.New("publish: dispatcher has stopped")

// verdict is what a failed attempt leads to.
type verdict struct {
	retry bool
	code  string // of the error that ends Run
	fix   string // with TOPIC for the topic's name
}

// verdicts classifies every gRPC code. The retried ones are those that the
// Publish method's own retry settings list (cloud.google.com/go/pubsub/v2
// apiv1/topic_admin_client.go, from the service's gRPC service config); a code
// that nobody knows is for a human.
var verdicts = map[codes.Code]verdict{
	// Cut off by the server or a proxy; our own cancellation is looked at before.
	codes.Canceled: {retry: true},
	// A server's internal fault that it couldn't name.
	codes.Unknown: {retry: true},
	// attempt_timeout, or the server's own limit: it may have been stored.
	codes.DeadlineExceeded: {retry: true},
	// Quota, or more than 1 MB/s on the key: passes with time.
	codes.ResourceExhausted: {retry: true},
	// The service asks for another try.
	codes.Aborted: {retry: true},
	// A broken stream or a server's fault: it may have been stored.
	codes.Internal: {retry: true},
	// No connection, or the service is down.
	codes.Unavailable: {retry: true},

	// The request is against a rule (size, attributes, key): the same again.
	codes.InvalidArgument: {
		code: "publish_invalid_argument",
		fix:  "this is a bug or a changed limit of Pub/Sub: keep the log, upgrade cdc-publisher; nothing is lost, the slot holds the change",
	},
	codes.NotFound: {
		code: "publish_topic_not_found",
		fix:  "create the topic and its subscription with `cdc-publisher init`, or correct pubsub.project and pubsub.ordered.topic; topic: TOPIC",
	},
	codes.PermissionDenied: {
		code: "publish_permission_denied",
		fix:  "give the service account the role: gcloud pubsub topics add-iam-policy-binding TOPIC --member=serviceAccount:ACCOUNT --role=roles/pubsub.publisher",
	},
	codes.Unauthenticated: {
		code: "publish_unauthenticated",
		fix:  "check the credentials: GOOGLE_APPLICATION_CREDENTIALS, the attached service account, or `gcloud auth application-default login`",
	},
	// Mixed ordering keys, a disabled key or a topic that forbids the region.
	codes.FailedPrecondition: {
		code: "publish_failed_precondition",
		fix:  "read the detail: the topic's message storage policy must allow pubsub.region, and its KMS key must be usable; topic: TOPIC",
	},
	codes.Unimplemented: {
		code: "publish_unimplemented",
		fix:  "the endpoint isn't Pub/Sub: check pubsub.region and PUBSUB_EMULATOR_HOST",
	},
	codes.AlreadyExists: {code: "publish_unexpected_answer", fix: unexpectedFix},
	codes.OutOfRange:    {code: "publish_unexpected_answer", fix: unexpectedFix},
	codes.DataLoss:      {code: "publish_unexpected_answer", fix: unexpectedFix},
}

const unexpectedFix = "Pub/Sub gave an answer that it doesn't document for Publish: look at the service's status page, restart, and if it comes again open a case with Google"

// classify says what the failed attempt err means: retry with the code, or the
// error that ends Run. key is left out of the text, it is made of row values.
func classify(err error, topic, key string) (codes.Code, *Error) {
	code := codeOf(err)
	v, known := verdicts[code]
	if v.retry {
		return code, nil
	}
	if !known {
		v = verdict{code: "publish_unexpected_answer", fix: unexpectedFix}
	}
	return code, &Error{
		code: v.code,
		fix:  strings.ReplaceAll(v.fix, "TOPIC", topic),
		text: fmt.Sprintf("publish to %s: %s: %s", topic, code, detail(err, key)),
		GRPC: code,
	}
}

// callError is the error of another call than Publish: verb names it.
func callError(verb string, err error) error {
	v, known := verdicts[codeOf(err)]
	if v.retry || !known {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return &Error{
		code: strings.Replace(v.code, "publish_", "pubsub_", 1),
		fix:  adminFix,
		text: fmt.Sprintf("%s: %s: %s", verb, codeOf(err), detail(err, "")),
		GRPC: codeOf(err),
	}
}

const adminFix = "check pubsub.project, pubsub.region, the credentials (GOOGLE_APPLICATION_CREDENTIALS or the attached service account) " +
	"and its roles: roles/pubsub.viewer for check and run, roles/pubsub.editor for init"

// codeOf returns the gRPC code of err, also when it is a bare context error.
func codeOf(err error) codes.Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.GRPC
	}
	if errors.Is(err, errBadResponse) {
		return codes.DataLoss
	}
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}

// maxDetailBytes bounds what is quoted of a server's message.
const maxDetailBytes = 300

// detail quotes the server's message without the ordering key.
func detail(err error, key string) string {
	text := status.Convert(err).Message()
	if key != "" {
		text = strings.ReplaceAll(text, key, "(ordering key)")
	}
	if len(text) > maxDetailBytes {
		text = strings.ToValidUTF8(text[:maxDetailBytes], "") + "…"
	}
	return text
}

// oversize is the error of a message that Pub/Sub wouldn't take.
func oversize(what string, got, limit int) *Error {
	return &Error{
		code: "oversize",
		fix:  "Pub/Sub takes no message of this size, and the slot holds the change: leave the table out (tables in the configuration) and copy it anew afterwards",
		text: fmt.Sprintf("message's %s has %d bytes, Pub/Sub's limit is %d", what, got, limit),
	}
}

// stopCause returns why ctx ended as the answer to a caller of Publish.
func stopCause(ctx context.Context) error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return e
	}
	return ErrStopped
}
