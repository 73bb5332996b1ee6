package storagewrite

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Verdict says what the failure of an append means.
type Verdict uint8

// The verdicts.
const (
	// Retry: the same rows will do later. Whether they were written is unknown.
	Retry Verdict = iota
	// RefusedRows: the rows named in Rows were refused and none of the others
	// was written: those will do.
	RefusedRows
	// Refused: the request was refused and no row is named. Some row is wrong.
	Refused
	// Missing: BigQuery doesn't know the table. If tables.get does, Retry: a new
	// table isn't known to streams for a while (googleapis/google-cloud-go#12449).
	Missing
	// Stop: a person must act.
	Stop
)

// AppendError is why an append wasn't answered with OK.
type AppendError struct {
	Verdict Verdict
	Rows    []int // RefusedRows: the indexes, rising
	reopen  bool
	code    string
	fix     string
	err     error // holds no row values: see redact
}

func (e *AppendError) Error() string { return fmt.Sprintf("append rows: %v", e.err) }

// Unwrap returns the cause.
func (e *AppendError) Unwrap() error { return e.err }

// Code returns the stable name of the error.
func (e *AppendError) Code() string { return e.code }

// Fix says what to do about it.
func (e *AppendError) Fix() string { return e.fix }

// classify says what err means, by its status code and BigQuery's StorageError
// detail, never by its text. reopen: the connection can't be used any more or
// wouldn't notice what will heal it. response is nil if the stream broke.
func classify(response *storagepb.AppendRowsResponse, err error) *AppendError {
	e := verdict(err)
	if rows := response.GetRowErrors(); len(rows) > 0 {
		// "If a request failed due to corrupted rows, no rows in the batch will be
		// appended" (google.cloud.bigquery.storage.v1, AppendRowsResponse).
		e = &AppendError{Verdict: RefusedRows, code: string(RowRefused)}
		for _, r := range rows {
			e.Rows = append(e.Rows, int(r.GetIndex()))
		}
	}
	e.reopen = e.reopen || response == nil
	e.err = redact(err, response)
	return e
}

func verdict(err error) *AppendError {
	if errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &AppendError{Verdict: Retry, code: "append_unanswered", reopen: true}
	}
	st, _ := status.FromError(err)
	for _, d := range st.Details() {
		if se, ok := d.(*storagepb.StorageError); ok {
			if e := storageVerdict(se.GetCode()); e != nil {
				return e
			}
		}
	}
	switch st.Code() {
	case codes.Aborted, // idle or moved: the usual end of a connection
		codes.Unavailable, codes.Internal, codes.Unknown, codes.Canceled, codes.DeadlineExceeded,
		codes.FailedPrecondition: // the stream was closed under us; the library retries it too
		return &AppendError{Verdict: Retry, code: "append_unavailable", reopen: true}
	case codes.ResourceExhausted: // throughput quota
		return &AppendError{Verdict: Retry, code: "append_quota"}
	case codes.AlreadyExists, codes.OutOfRange: // about offsets, which a default stream hasn't
		return &AppendError{Verdict: Retry, code: "append_unavailable", reopen: true}
	case codes.NotFound:
		return missingTable()
	case codes.InvalidArgument:
		return &AppendError{Verdict: Refused, code: string(RowRefused)}
	case codes.PermissionDenied, codes.Unauthenticated:
		return &AppendError{Verdict: Stop, code: "bigquery_permission", fix: "grant roles/bigquery.dataEditor on the dataset to the account of cdc-sink"}
	default: // Unimplemented, DataLoss and what nobody has seen: a human
		return &AppendError{Verdict: Stop, code: "append_refused", fix: "see the message; report it if the table's definition is sound"}
	}
}

// storageVerdict judges BigQuery's own detail; nil means that the status code decides.
func storageVerdict(code storagepb.StorageError_StorageErrorCode) *AppendError {
	switch code {
	case storagepb.StorageError_TABLE_NOT_FOUND, storagepb.StorageError_STREAM_NOT_FOUND:
		return missingTable()
	case storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS:
		// Streams learn of a column minutes after it was added, on new connections.
		return &AppendError{Verdict: Retry, code: "schema_not_propagated", reopen: true}
	case storagepb.StorageError_STREAM_ALREADY_COMMITTED, storagepb.StorageError_STREAM_FINALIZED, storagepb.StorageError_INVALID_STREAM_STATE:
		return &AppendError{Verdict: Retry, code: "append_unavailable", reopen: true}
	case storagepb.StorageError_KMS_SERVICE_ERROR:
		return &AppendError{Verdict: Retry, code: "kms_unavailable"}
	case storagepb.StorageError_CMEK_NOT_PROVIDED, storagepb.StorageError_INVALID_CMEK_PROVIDED,
		storagepb.StorageError_CMEK_ENCRYPTION_ERROR, storagepb.StorageError_KMS_PERMISSION_DENIED:
		return &AppendError{Verdict: Stop, code: "kms_refused", fix: "give BigQuery's service account the right to use the table's Cloud KMS key"}
	case storagepb.StorageError_INVALID_STREAM_TYPE:
		return &AppendError{Verdict: Stop, code: "append_refused", fix: "report it: the default stream was refused"}
	default:
		return nil
	}
}

func missingTable() *AppendError {
	return &AppendError{
		Verdict: Missing, code: "table_missing", reopen: true,
		fix: "the table was dropped under cdc-sink: restore it, or restart cdc-sink, which creates an empty one: its rows must then be copied anew",
	}
}

// redacted stands for an answer whose text may hold a row's values.
type redacted struct{ code codes.Code }

func (r redacted) Error() string { return "BigQuery answered " + r.code.String() }

// redact keeps what names a row out of logs and errors: BigQuery's text about an
// invalid argument, a value out of range or a row quotes values.
func redact(err error, response *storagepb.AppendRowsResponse) error {
	code := status.Code(err)
	if code == codes.InvalidArgument || code == codes.OutOfRange || len(response.GetRowErrors()) > 0 {
		return redacted{code}
	}
	return err
}
