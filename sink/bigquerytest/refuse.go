package bigquerytest

import (
	"net/http"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
)

// appendError is a refusal by the Storage Write API.
type appendError struct {
	code    codes.Code
	rule    string // id in the table of rules, "" for a fault
	text    string
	storage storagepb.StorageError_StorageErrorCode
	entity  string // the stream or table that it is about
	rows    []*storagepb.RowError
	ends    bool // it ends the stream
}

func (e *appendError) Error() string { return e.status().Message() }

// status is the gRPC form, with a StorageError as detail where the service
// documents one.
func (e *appendError) status() *status.Status {
	text := e.text
	if e.entity != "" {
		text += " Entity: " + e.entity
	}
	s := status.New(e.code, text)
	if e.storage == storagepb.StorageError_STORAGE_ERROR_CODE_UNSPECIFIED {
		return s
	}
	detail := &storagepb.StorageError{Code: e.storage, Entity: e.entity, ErrorMessage: e.text}
	if with, err := s.WithDetails(protoadapt.MessageV1Of(detail)); err == nil {
		return with
	}
	return s
}

func invalidArgument(rule, text string) *appendError {
	return &appendError{code: codes.InvalidArgument, rule: rule, text: text}
}

// restError is a refusal by the REST API.
type restError struct {
	status  int
	reason  string // googleapi's errors[].reason, such as "notFound"
	message string
	rule    string
}

func (e *restError) Error() string { return e.message }

func restInvalid(rule, message string) *restError {
	return &restError{http.StatusBadRequest, "invalid", message, rule}
}

func restNotFound(rule, message string) *restError {
	return &restError{http.StatusNotFound, "notFound", message, rule}
}

func restDuplicate(rule, message string) *restError {
	return &restError{http.StatusConflict, "duplicate", message, rule}
}

func restUnhandled(message string) *restError {
	return &restError{http.StatusNotImplemented, "notImplemented", "bigquerytest: " + message, ruleUnhandled}
}

func sqlInvalid(rule, message string) *restError {
	return &restError{http.StatusBadRequest, "invalidQuery", message, rule}
}
