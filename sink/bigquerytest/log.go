package bigquerytest

// Messages of the log. Attributes never hold a value of a row.
const (
	EventAppendRefused = "append refused" // code, rule, rows
	EventCallRefused   = "call refused"   // status, reason, rule
	EventStreamEnded   = "append stream ended"
	EventAnswerLost    = "answer not written"
	EventServerEnded   = "server ended" // api, code, fix
)

const fixServe = "start the stand-in again; its tables are gone"
