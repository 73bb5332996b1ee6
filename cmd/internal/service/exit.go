package service

import (
	"context"
	"errors"
	"log/slog"

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

// explain returns the code of err and what to do about it.
func explain(err error) (code, fix string) {
	code, fix = unknownCode, unknownFix
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
