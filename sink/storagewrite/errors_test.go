package storagewrite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func statusError(t *testing.T, code codes.Code, detail storagepb.StorageError_StorageErrorCode) error {
	t.Helper()
	st := status.New(code, "the value 'secret' is wrong")
	if detail != 0 {
		var err error
		if st, err = st.WithDetails(&storagepb.StorageError{Code: detail}); err != nil {
			t.Fatal(err)
		}
	}
	err, ok := apierror.FromError(st.Err())
	if !ok {
		t.Fatal("no API error")
	}
	return err
}

func TestClassify(t *testing.T) {
	answer := &storagepb.AppendRowsResponse{}
	rows := &storagepb.AppendRowsResponse{RowErrors: []*storagepb.RowError{{Index: 3, Message: "secret"}, {Index: 7}}}
	code := func(c codes.Code) error { return statusError(t, c, 0) }
	detail := func(c codes.Code, d storagepb.StorageError_StorageErrorCode) error { return statusError(t, c, d) }
	for _, tt := range []struct {
		response *storagepb.AppendRowsResponse
		err      error
		want     Verdict
		reopen   bool
	}{
		{nil, io.EOF, Retry, true},
		{nil, context.DeadlineExceeded, Retry, true},
		{nil, fmt.Errorf("wrapped: %w", context.Canceled), Retry, true},
		{nil, errors.New("no status"), Retry, true},
		{nil, errTooManyStreams, Retry, true},
		{nil, code(codes.Aborted), Retry, true},
		{answer, code(codes.Unavailable), Retry, true},
		{answer, code(codes.Internal), Retry, true},
		{answer, code(codes.FailedPrecondition), Retry, true},
		{answer, code(codes.ResourceExhausted), Retry, false},
		{answer, code(codes.InvalidArgument), Refused, false},
		{rows, code(codes.InvalidArgument), RefusedRows, false},
		{rows, code(codes.Internal), RefusedRows, false},
		{nil, code(codes.NotFound), Missing, true},
		{answer, detail(codes.InvalidArgument, storagepb.StorageError_TABLE_NOT_FOUND), Missing, true},
		{answer, detail(codes.InvalidArgument, storagepb.StorageError_SCHEMA_MISMATCH_EXTRA_FIELDS), Retry, true},
		{answer, detail(codes.InvalidArgument, storagepb.StorageError_STREAM_FINALIZED), Retry, true},
		{answer, detail(codes.Internal, storagepb.StorageError_KMS_SERVICE_ERROR), Retry, false},
		{answer, detail(codes.FailedPrecondition, storagepb.StorageError_KMS_PERMISSION_DENIED), Stop, false},
		{answer, detail(codes.InvalidArgument, storagepb.StorageError_INVALID_STREAM_TYPE), Stop, false},
		{answer, code(codes.PermissionDenied), Stop, false},
		{answer, code(codes.Unauthenticated), Stop, false},
		{answer, code(codes.Unimplemented), Stop, false},
		{answer, code(codes.DataLoss), Stop, false},
	} {
		e := classify(tt.response, tt.err)
		if e.Verdict != tt.want || e.reopen != tt.reopen || e.Code() == "" {
			t.Errorf("%v: %+v, want verdict %d, reopen %t", tt.err, e, tt.want, tt.reopen)
		}
		if (e.Verdict == Stop || e.Verdict == Missing) && e.Fix() == "" {
			t.Errorf("%v: no fix", tt.err)
		}
		if (status.Code(tt.err) == codes.InvalidArgument || tt.response == rows) && strings.Contains(e.Error(), "secret") {
			t.Errorf("a row's value in the error: %v", e)
		}
	}
	if e := classify(rows, code(codes.InvalidArgument)); len(e.Rows) != 2 || e.Rows[0] != 3 || e.Rows[1] != 7 {
		t.Errorf("rows %v", e.Rows)
	}
}
