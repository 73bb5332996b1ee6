package bigquerytest

import (
	"slices"
	"testing"
	"time"
)

// The figures of the documents, written once more: the rules' tests take some
// of them from the code, so that a wrong one would be tested for.
func TestFiguresOfTheDocuments(t *testing.T) {
	for _, f := range []struct {
		what      string
		got, want any
	}{
		{"columns of a primary key", maxKeyColumns, 16},
		{"columns of a clustering", maxClusterColumns, 4},
		{"characters of a column's name", maxNameCharacters, 300},
		{"columns of a table", maxColumns, 10_000},
		{"columns of a table with change data capture", maxCDCColumns, 2_000},
		{"characters of a column's description", maxColumnDescription, 1_024},
		{"characters of a table's description", maxTableDescription, 16_384},
		{"bytes of a request to append", maxRequestBytes, 20 << 20},
		{"streams of a connection", maxStreams, 100},
		{"bytes of a statement", maxSQLBytes, 1 << 20},
		{"characters of a view's query", maxViewCharacters, 256 << 10},
		{"levels of views", maxViewLevels, 15},
		{"nesting of JSON", maxJSONDepth, 500},
		{"scale of NUMERIC", numericScale, 9},
		{"scale of BIGNUMERIC", bigNumericScale, 38},
		{"updates of a table", maxUpdates, 5},
		{"within", updateWindow, 10 * time.Second},
		{"tables inserted", DefaultInsertsPerSecond, 10},
		{"within", insertWindow, time.Second},
		{"quiet time before a rename", renameQuiet, 5 * time.Hour},
		{"memory of a DELETE", deleteRetention, 48 * time.Hour},
		{"first DATE", minDateDays, -719_162},
		{"last DATE", maxDateDays, 2_932_896},
		{"first TIMESTAMP", time.UnixMicro(minTimestampMicros).UTC(), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"last TIMESTAMP", time.UnixMicro(maxTimestampMicros).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)},
	} {
		if f.got != f.want {
			t.Errorf("%s: %v, the documents say %v", f.what, f.got, f.want)
		}
	}
	// https://docs.cloud.google.com/bigquery/docs/schemas#column_names
	prefixes := []string{"_CHANGE_SEQUENCE_NUMBER", "_CHANGE_TIMESTAMP", "_CHANGE_TYPE", "_COLIDENTIFIER", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "_TABLE_", "__ROOT__"}
	if !slices.Equal(reservedPrefixes, prefixes) {
		t.Errorf("reserved prefixes %v, the page has %v", reservedPrefixes, prefixes)
	}
}
