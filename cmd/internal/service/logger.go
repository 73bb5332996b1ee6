package service

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes one JSON object a line in Cloud
// Logging's form (https://cloud.google.com/logging/docs/structured-logging):
// severity (a LogSeverity), message, time (RFC 3339), and
// logging.googleapis.com/labels with the service and the database, which
// becomes the entry's labels. Everything else is in jsonPayload under its own name.
func NewLogger(w io.Writer, level slog.Leveler, service, database string) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: cloudLogging})
	return slog.New(h).With(slog.Group("logging.googleapis.com/labels",
		slog.String("service", service), slog.String("database", database)))
}

// cloudLogging renames slog's own fields. A caller's attribute of the same name
// keeps it, because its value has another type.
func cloudLogging(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.LevelKey:
		if l, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("severity", severity(l))
		}
	case slog.MessageKey:
		a.Key = "message"
	}
	return a
}

// severity is the name of l in
// https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#LogSeverity.
func severity(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "DEBUG"
	case l < slog.LevelWarn:
		return "INFO"
	case l < slog.LevelError:
		return "WARNING"
	default:
		return "ERROR"
	}
}

// parseLevel reads the configuration's word; validation leaves no other.
func parseLevel(word string) slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(word))
	return l
}
