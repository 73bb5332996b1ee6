package postgrestest

import "fmt"

// Codes of [Error].
const (
	CodeNotFound    = "postgres_not_found"    // no usable server on this machine, and none could be unpacked
	CodeBadBin      = "postgres_bin_invalid"  // CDC_POSTGRES_BIN is set but can't be used
	CodeStartFailed = "postgres_start_failed" // initdb or the server failed; the error holds the end of its log
	CodeStopFailed  = "postgres_stop_failed"  // the server didn't stop in time and was killed
)

// Error says what stands between the caller and a running Postgres, and what to do about it.
type Error struct {
	code string
	fix  string
	err  error
}

func (e *Error) Error() string { return e.err.Error() + "\n" + e.fix }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Code returns one of the Code constants.
func (e *Error) Code() string { return e.code }

// Fix returns what a person should do, where possible one command to type.
func (e *Error) Fix() string { return e.fix }

// ExitCode returns what a program that needs the server should exit with: 2 when the machine lacks one or is set up wrongly, else 1.
func (e *Error) ExitCode() int {
	if e.code == CodeNotFound || e.code == CodeBadBin {
		return 2
	}
	return 1
}

func startFailed(log string, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	if log != "" {
		err = fmt.Errorf("%w\n%s", err, log)
	}
	return &Error{code: CodeStartFailed, fix: "Read the log above. " + otherServer, err: err}
}

const otherServer = "To use another server, set CDC_POSTGRES_BIN to the folder that holds its postgres and initdb."
