package conformance

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// largest is the largest sequence number of the page.
const largest = "FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF"

// wins checks that a row with the sequence number newer wins over one with
// older: sent before it, after it, and in one request with it.
func wins(older, newer string) func(*env) error {
	return func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		o := func(id int) string { return upsert(id, "older", older) }
		n := func(id int) string { return upsert(id, "newer", newer) }
		for _, request := range [][]string{{o(1)}, {n(1)}, {n(2)}, {o(2)}, {o(3), n(3)}, {n(4), o(4)}} {
			if err := w.append(request...); err != nil {
				return err
			}
		}
		return e.wantRows("SELECT id, name FROM employees ORDER BY id", "1 newer", "2 newer", "3 newer", "4 newer")
	}
}

// takes checks that each sequence number is accepted.
func takes(numbers ...string) func(*env) error {
	return func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for i, n := range numbers {
			if err := w.append(upsert(i, "a", n)); err != nil {
				return err
			}
		}
		return nil
	}
}

// refusesNumbers checks that each is refused with a row error.
func refusesNumbers(numbers ...string) func(*env) error {
	return func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for _, n := range numbers {
			row := fmt.Sprintf(`{"id":1,"name":"a","_CHANGE_TYPE":"UPSERT","_CHANGE_SEQUENCE_NUMBER":%q}`, n)
			if err := w.refuses(codes.InvalidArgument, nil, row); err != nil {
				return err
			}
		}
		return e.wantRows("SELECT id FROM employees")
	}
}

const formatSection = "_change_sequence_number_format"

var orderCases = []Case{
	{ID: "cdc/ingestion-order", Section: "manage_custom_ordering", Says: "Without sequence numbers the record ingested last wins.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for i := range 5 {
			if err := w.append(upsert(1, strconv.Itoa(i), "")); err != nil {
				return err
			}
		}
		return e.wantRows("SELECT id, name FROM employees", "1 4")
	}},
	{ID: "cdc/sequence-larger-wins", Section: "manage_custom_ordering", Says: "The larger sequence number wins over a later ingestion.", Run: wins("1", "2")},
	{ID: "cdc/sequence-orders-deletes", Section: "manage_custom_ordering", Says: "It orders DELETEs too.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		if err := w.append(`{"id":1,"_CHANGE_TYPE":"DELETE","_CHANGE_SEQUENCE_NUMBER":"2"}`); err != nil {
			return err
		}
		if err := w.append(upsert(1, "late", "1")); err != nil {
			return err
		}
		if err := e.wantRows("SELECT id FROM employees"); err != nil {
			return err
		}
		if err := w.append(upsert(1, "newer", "3")); err != nil {
			return err
		}
		return e.wantRows("SELECT id, name FROM employees", "1 newer")
	}},
	{ID: "cdc/sequence-range", Section: formatSection, Says: "Values lie between 0/0/0/0 and four times FFFFFFFFFFFFFFFF.", Run: wins("0/0/0/0", largest)},
	{ID: "cdc/sequence-case", Section: formatSection, Says: "Upper and lower case are the same.", Run: wins("aBc", "ABD")},
	{ID: "cdc/sequence-sections", Section: formatSection, Says: "One to four sections are allowed.", Run: takes("1", "1/2", "1/2/3", "1/2/3/4")},
	{ID: "cdc/sequence-five-sections", Section: formatSection, Says: "More than four sections aren't.", Run: refusesNumbers("1/2/3/4/5")},
	{ID: "cdc/sequence-long-section", Section: formatSection, Says: "A section has at most 16 characters.", Run: refusesNumbers("00000000000000001", "1/00000000000000001")},
	{ID: "cdc/sequence-not-hex", Section: formatSection, Says: "Sections are hexadecimal.", Run: refusesNumbers("G", "0x1", "-1", "1 ", "2024-04-30 11:19:44 UTC", "complete")},
	{ID: "cdc/sequence-empty-section", Section: formatSection, Says: "The format is fixed: sections with a slash between them.", Run: refusesNumbers("/", "1/", "/1", "1//2")},
	{ID: "cdc/sequence-timestamp", Section: formatSection, Says: "2024-04-30 11:19:44 UTC in milliseconds is 18F2EBB6480, one section.", Run: func(e *env) error {
		at := time.Date(2024, 4, 30, 11, 19, 44, 0, time.UTC).UnixMilli()
		text := strings.ToUpper(strconv.FormatInt(at, 16))
		if text != "18F2EBB6480" {
			return fmt.Errorf("the timestamp is %s", text)
		}
		return wins(strings.ToUpper(strconv.FormatInt(at-1, 16)), text)(e)
	}},
	{ID: "cdc/sequence-three-values", Section: formatSection, Says: "A timestamp, a log sequence number and a status make three sections.", Run: func(e *env) error {
		complete, started := fmt.Sprintf("%X", "complete"), fmt.Sprintf("%X", "begun")
		return wins("18F2EBB6480/7B/"+started, "18F2EBB6480/7B/"+complete)(e)
	}},
	{ID: "cdc/sequence-first-section-first", Section: formatSection, Says: "A later section counts only where the earlier ones are equal.", Run: wins("1/FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF", "2/0/0")},
	{ID: "cdc/sequence-unsigned", Section: formatSection, Says: "Sections are unsigned numbers.", Run: wins("7FFFFFFFFFFFFFFF", "8000000000000000")},
	{ID: "cdc/sequence-example-1", Section: formatSection, Says: "7B is later than 77.", Run: wins("77", "7B")},
	{ID: "cdc/sequence-example-2", Section: formatSection, Says: "FFF/ABC is later than FFF/B.", Run: wins("FFF/B", "FFF/ABC")},
	{ID: "cdc/sequence-example-3", Section: formatSection, Says: "ABC is later than BA/FFFFFFFF.", Run: wins("BA/FFFFFFFF", "ABC")},
	{ID: "cdc/sequence-example-4", Section: formatSection, Says: "FFF/ABC is later than ABC.", Run: wins("ABC", "FFF/ABC")},
	{ID: "cdc/sequence-tie", Section: formatSection, Says: "Of equal numbers the later ingestion wins.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for _, name := range []string{"first", "second"} {
			if err := w.append(upsert(1, name, "A/1")); err != nil {
				return err
			}
		}
		return e.wantRows("SELECT name FROM employees", "second")
	}},
	{ID: "cdc/sequence-mixed", Section: formatSection, Says: "A mix of rows with and without a number has no predictable order; one of them is there.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for id := range 8 {
			if err := w.append(upsert(id, "first", "1")); err != nil {
				return err
			}
			if err := w.append(upsert(id, "second", "")); err != nil {
				return err
			}
		}
		return e.wantRows("SELECT COUNT(*) FROM employees", "8")
	}},
}
