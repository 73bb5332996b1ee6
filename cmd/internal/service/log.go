package service

// The log events of this package. Their messages are constant; every variable
// is an attribute.
const (
	EventStarted      = "service started"                   // Info: version, config, pid
	EventStopping     = "service stopping"                  // Info: signal, limit_s
	EventStopped      = "service stopped"                   // Info: the work has ended well
	EventFailed       = "service failed"                    // Error, one for each error: code, fix, error
	EventRefused      = "configuration refused"             // Error, one for each finding: code, fix, error, file, line, column, key
	EventDoubtful     = "configuration doubtful"            // Warn, one for each finding: as above
	EventEmulator     = "stand-in in use"                   // Warn: variable, address
	EventLevel        = "log level changed"                 // Info: level
	EventStopLimit    = "stop limit exceeded"               // Error: code, fix, limit_s
	EventSecondSignal = "second signal, exiting at once"    // Warn: signal
	EventHealth       = "health endpoints listening"        // Info: address
	EventHealthFailed = "health endpoints stopped by error" // Error: code, fix, error
)

// The attributes that more than one event has.
const (
	KeyCode  = "code"
	KeyFix   = "fix"
	KeyError = "error"
)
