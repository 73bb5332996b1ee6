package storagewrite

import "fmt"

// Code says why a row is refused. It is the error_code of the dead letter.
type Code string

// The codes of rows that are refused before they are sent. They name what
// BigQuery would change silently or refuse.
const (
	InvalidValue     Code = "invalid_value"      // the text isn't of the column's type
	NumericScale     Code = "numeric_scale"      // more fractional digits than the type holds: it would be rounded
	NumericRange     Code = "numeric_range"      // more than the type holds
	NumericNotFinite Code = "numeric_not_finite" // NaN or an infinity
	JSONInteger      Code = "json_integer"       // beyond 64 bit: it would lose digits
	JSONDuplicate    Code = "json_duplicate"     // a name twice in an object: only the first would be kept
	JSONNesting      Code = "json_nesting"       // deeper than 500
	DateRange        Code = "date_range"         // outside the years 0001 to 9999
	DateInfinity     Code = "date_infinity"      // infinity or -infinity
	Time24           Code = "time_24"            // 24:00:00
	ArrayNullElement Code = "array_null_element"
	ArrayNull        Code = "array_null" // it would be read as empty
	ArrayDimensions  Code = "array_dimensions"
	UnchangedTOAST   Code = "unchanged_toast" // an UPSERT replaces the whole row
	KeyNull          Code = "key_null"
	RowTooLarge      Code = "row_too_large" // than a request may be
	RowRefused       Code = "row_refused"   // BigQuery's answer names the row
)

// RowError says that a row can't be written. It never holds a value.
type RowError struct {
	Column string // empty if it isn't about one
	Reason Code
}

func (e *RowError) Error() string {
	if e.Column == "" {
		return "row refused: " + string(e.Reason)
	}
	return fmt.Sprintf("row refused: column %q: %s", e.Column, e.Reason)
}

// Code returns the reason.
func (e *RowError) Code() string { return string(e.Reason) }
