package bigquerytest

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// intervalForm is the canonical text of an INTERVAL: [-]Y-M [-]D [-]H:M:S.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types#interval_type
var (
	intervalForm = regexp.MustCompile(`^(\d{1,5})-(\d{1,2}) (\d{1,7}) (\d{1,8}):(\d{1,2}):(\d{1,2})$`)
	clockForm    = regexp.MustCompile(`^(\d{1,8}):(\d{1,2}):(\d{1,2})$`)
)

// parseIntervalText reads the canonical text. Years and months have no fixed
// length and are refused.
func parseIntervalText(text string) (time.Duration, bool) {
	m := intervalForm.FindStringSubmatch(text)
	if m == nil || atoi(m[1]) != 0 || atoi(m[2]) != 0 {
		return 0, false
	}
	return addClock(atoi(m[3]), m[4:])
}

// parseClockText reads H:M:S, the text of INTERVAL '…' HOUR TO SECOND.
func parseClockText(text string) (time.Duration, bool) {
	m := clockForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	return addClock(0, m[1:])
}

func addClock(days int64, hms []string) (time.Duration, bool) {
	if atoi(hms[1]) > 59 || atoi(hms[2]) > 59 {
		return 0, false
	}
	return intervalOf(((days*24+atoi(hms[0]))*60+atoi(hms[1]))*60+atoi(hms[2]), time.Second)
}

// maxInterval is the longest one here; the service's are a hundred times as long.
const maxInterval = 100 * 365 * 24 * time.Hour

// intervalOf is n units, if that isn't too long.
func intervalOf(n int64, unit time.Duration) (time.Duration, bool) {
	if n > int64(maxInterval/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

func atoi(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // the form has digits only
	return n
}

var intervalUnits = map[string]time.Duration{
	"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour, "WEEK": 7 * 24 * time.Hour,
}

// intervalText writes the canonical text, all of it in hours: 0-0 0 24:0:0.
func intervalText(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("0-0 0 %d:%d:%d", s/3600, s/60%60, s%60)
}

// setStaleness sets max_staleness from the REST API's text. The table is locked
// or not yet known.
func (t *table) setStaleness(text string) *restError {
	d, ok := parseIntervalText(text)
	if !ok {
		return restInvalid(ruleStaleness, "Invalid value for maxStaleness: "+strconv.Quote(text))
	}
	t.staleness, t.stale = d, true
	return nil
}
