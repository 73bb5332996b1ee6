package service

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"cdc/cmd/internal/config"
)

// The exit codes.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2 // wrong use or configuration
)

// coded and fixable are found by behaviour in the errors of all packages.
type (
	coded interface {
		error
		Code() string
	}
	fixable interface {
		error
		Fix() string
	}
)

// unknownCode stands for an error that says neither its code nor what to do:
// nobody foresaw it.
const (
	unknownCode = "unexpected"
	unknownFix  = "read the error; restarting is safe; report it if it comes back"
)

// unreachableCode stands for a server that can't be reached or doesn't answer,
// where no package has said more about it.
const (
	unreachableCode = "unreachable"
	unreachableFix  = "start the server, correct its name and port, or open the network between here and there; restarting is safe"
)

// noAnswer is an error that came only after the time for answers was over.
type noAnswer struct{ error }

func (e noAnswer) Unwrap() error { return e.error }
func (noAnswer) Code() string    { return unreachableCode }
func (noAnswer) Fix() string     { return unreachableFix }

// late says of each error in err that nobody knew more about that there was no answer.
func late(err error) error {
	var all []error
	for _, e := range split(err) {
		if code, _ := explain(e); code == unknownCode {
			e = noAnswer{e}
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

// explain returns the code of err and what to do about it.
func explain(err error) (code, fix string) {
	code, fix = unknownCode, unknownFix
	if _, ok := errors.AsType[net.Error](err); ok { // context.DeadlineExceeded is one too
		code, fix = unreachableCode, unreachableFix
	}
	if e, ok := errors.AsType[coded](err); ok {
		code = e.Code()
	}
	if e, ok := errors.AsType[fixable](err); ok {
		fix = e.Fix()
	}
	return code, fix
}

// split takes apart what errors.Join or config.Findings put together.
func split(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range many.Unwrap() {
			all = append(all, split(e)...)
		}
		return all
	}
	return []error{err}
}

// logErrors logs one event for each error in err.
func logErrors(ctx context.Context, log *slog.Logger, level slog.Level, event string, err error) {
	for _, e := range split(err) {
		code, fix := explain(e)
		attrs := []slog.Attr{slog.String(KeyCode, code), slog.String(KeyFix, fix)}
		if f, ok := errors.AsType[config.Finding](e); ok {
			attrs = append(attrs, slog.String(KeyError, f.Problem), slog.String("file", f.File),
				slog.Int("line", f.Line), slog.Int("column", f.Column), slog.String("key", f.Key))
		} else {
			attrs = append(attrs, slog.String(KeyError, e.Error()))
		}
		log.LogAttrs(ctx, level, event, attrs...)
	}
}
