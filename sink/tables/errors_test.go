package tables

import (
	"errors"
	"testing"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
)

// What heals is repeated, whatever its HTTP status; the rest needs a person.
func TestClassifyReasons(t *testing.T) {
	api := func(code int, reason string) error {
		return &googleapi.Error{Code: code, Errors: []googleapi.ErrorItem{{Reason: reason}}}
	}
	for _, tt := range []struct {
		err  error
		code string
	}{
		{errors.New("connection reset"), ""},
		{api(503, "backendError"), ""},
		{api(429, "rateLimitExceeded"), ""},
		{api(403, "rateLimitExceeded"), ""},
		{api(403, "quotaExceeded"), ""},
		{api(400, "jobRateLimitExceeded"), ""},
		{api(400, "jobBackendError"), ""},
		{api(400, "jobInternalError"), ""},
		{api(400, "tableUnavailable"), ""},
		{api(409, "duplicate"), ""},
		{api(412, "conditionNotMet"), ""},
		{api(403, "accessDenied"), "bigquery_permission"},
		{api(401, "required"), "bigquery_credentials"},
		{api(400, "invalid"), "bigquery_refused"},
		{api(404, "notFound"), "dataset_missing"},
		{&bigquery.Error{Reason: "jobRateLimitExceeded"}, ""},
		{&bigquery.Error{Reason: "rateLimitExceeded"}, ""},
		{&bigquery.Error{Reason: "somethingNew"}, ""},
		{&bigquery.Error{Reason: "accessDenied"}, "bigquery_permission"},
		{&bigquery.Error{Reason: "invalidQuery"}, "bigquery_refused"},
	} {
		err := classify("alter table", tt.err)
		if !errors.Is(err, tt.err) {
			t.Errorf("%v: the cause is gone", tt.err)
		}
		if tt.code != "" {
			wantCode(t, err, tt.code)
		} else if e, ok := errors.AsType[*Error](err); ok {
			t.Errorf("%v: code %s, want a retry", tt.err, e.Code())
		}
	}
}
