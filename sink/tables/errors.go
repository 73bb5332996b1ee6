package tables

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

// Error is an error that a person reads: what is wrong, a stable code, and what
// to do. It never names a value of a row.
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

func refuse(code, fix, format string, args ...any) error {
	return &Error{what: fmt.Sprintf(format, args...), code: code, fix: fix}
}

// classify turns an answer of BigQuery that time doesn't heal into an *Error.
// All else is worth a retry: 5xx, 429, 409 and 412 of a race, what heals says
// of quotas and failed jobs, a broken connection.
func classify(what string, err error) error {
	if err == nil {
		return nil
	}
	code, reasons := answer(err)
	if code == 0 || errors.Is(err, context.Canceled) || slices.ContainsFunc(reasons, heals) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch code {
	case http.StatusForbidden:
		return &Error{what, "bigquery_permission", "grant roles/bigquery.dataEditor on the dataset and roles/bigquery.jobUser on the project to the account of cdc-sink", err}
	case http.StatusUnauthorized:
		return &Error{what, "bigquery_credentials", "give cdc-sink valid Google credentials", err}
	case http.StatusBadRequest:
		return &Error{what, "bigquery_refused", "see the reason in the message; report it if the table's definition is sound", err}
	case http.StatusNotFound:
		return &Error{what, "dataset_missing", "run cdc-sink init, or correct bigquery.project and bigquery.dataset", err}
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// answer returns the HTTP status and the reasons of BigQuery's answer; of a job
// that failed, the status that its reason has. It returns 0 if err is neither.
func answer(err error) (code int, reasons []string) {
	if api, ok := errors.AsType[*googleapi.Error](err); ok {
		for _, e := range api.Errors {
			reasons = append(reasons, e.Reason)
		}
		return api.Code, reasons
	}
	job, ok := errors.AsType[*bigquery.Error](err)
	if !ok {
		return 0, nil
	}
	switch job.Reason {
	case "accessDenied", "billingNotEnabled":
		code = http.StatusForbidden
	case "invalid", "invalidQuery", "resourceInUse":
		code = http.StatusBadRequest
	}
	return code, []string{job.Reason}
}

// heals says which reasons go away by themselves, whatever the status: those of
// jobs come with 400 (https://cloud.google.com/bigquery/docs/error-messages).
func heals(reason string) bool {
	switch reason {
	case "rateLimitExceeded", "quotaExceeded", "jobRateLimitExceeded", "backendError", "internalError",
		"jobBackendError", "jobInternalError", "tableUnavailable", "timeout":
		return true
	}
	return false
}

// status returns the HTTP status of BigQuery's answer, 0 if err is none.
func status(err error) int {
	if api, ok := errors.AsType[*googleapi.Error](err); ok {
		return api.Code
	}
	return 0
}
