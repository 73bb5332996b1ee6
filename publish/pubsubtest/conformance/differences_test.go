package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const goldenFile = "testdata/differences.json"

// difference is a case whose outcome on a server isn't the one of the documents.
type difference struct {
	Case   string `json:"case"`
	Server string `json:"server"`
	Page   string `json:"page"`   // the document that decides
	Says   string `json:"says"`   // what it says
	Want   string `json:"want"`   // the outcome that follows from it
	Got    string `json:"got"`    // the server's outcome
	Reason string `json:"reason"` // pubsubtest only: why it stays so
}

// complaint compares an outcome with the known differences; "" is no complaint.
// While they are being updated only a difference without a reason is one.
func complaint(golden []difference, c testCase, server, got string, updating bool) string {
	if server == standIn && got != c.want && c.reason == "" {
		return fmt.Sprintf("pubsubtest contradicts the documents:\n got  %s\n want %s\n %s: %s", got, c.want, c.page, c.text)
	}
	i := slices.IndexFunc(golden, func(d difference) bool { return d.Case == c.id && d.Server == server })
	switch {
	case updating:
		return ""
	case i < 0 && got != c.want:
		return fmt.Sprintf("a difference has appeared:\n got  %s\n want %s\n %s: %s", got, c.want, c.page, c.text)
	case i >= 0 && got == c.want:
		return fmt.Sprintf("a difference has vanished:\n got  %s, as the documents say; before:\n      %s", got, golden[i].Got)
	case i >= 0 && golden[i] != c.differs(server, got):
		return fmt.Sprintf("a difference has changed:\n got    %+v\n before %+v", c.differs(server, got), golden[i])
	}
	return ""
}

func (c testCase) differs(server, got string) difference {
	d := difference{Case: c.id, Server: server, Page: c.page, Says: c.text, Want: c.want, Got: got}
	if server == standIn {
		d.Reason = c.reason
	}
	return d
}

// update is golden with what was run put in its place. What wasn't run stays, if
// there still is such a case.
func update(golden []difference, ran []ranCase) []difference {
	known := map[string]bool{}
	for _, c := range cases() {
		known[c.id] = true
	}
	out := slices.DeleteFunc(slices.Clone(golden), func(d difference) bool {
		return !known[d.Case] || slices.ContainsFunc(ran, func(r ranCase) bool { return r.c.id == d.Case && r.server == d.Server })
	})
	for _, r := range ran {
		if r.got != r.c.want && (r.server != standIn || r.c.reason != "") {
			out = append(out, r.c.differs(r.server, r.got))
		}
	}
	slices.SortFunc(out, func(a, b difference) int {
		return cmp.Or(strings.Compare(a.Case, b.Case), strings.Compare(a.Server, b.Server))
	})
	return out
}

func readDifferences(file string) ([]difference, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && *updateFlag {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read known differences: %w", err)
	}
	var out []difference
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read known differences: %w", err)
	}
	return out, nil
}

func writeDifferences(file string, all []difference) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write known differences: %w", err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write known differences: %w", err)
	}
	return nil
}

// TestDifferencesAreOfCases: every known difference is one of a case and a server
// that there are, is one, and has the case's own texts.
func TestDifferencesAreOfCases(t *testing.T) {
	if *updateFlag {
		return // they are being written
	}
	all, err := readDifferences(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		i := slices.IndexFunc(cases(), func(c testCase) bool { return c.id == d.Case })
		switch {
		case !slices.Contains([]string{standIn, "pstest", "emulator", "service"}, d.Server):
			t.Errorf("%s: unknown server %q", d.Case, d.Server)
		case i < 0:
			t.Errorf("%s: there is no such case", d.Case)
		case cases()[i].differs(d.Server, d.Got) != d || d.Got == d.Want:
			t.Errorf("%s on %s isn't a difference to the case as it is now: run with -update", d.Case, d.Server)
		}
	}
}

// TestComparerFindsPlantedDifferences: one that appears, vanishes or changes, one
// whose document changed, and one of pubsubtest without a reason.
func TestComparerFindsPlantedDifferences(t *testing.T) {
	c := testCase{id: "x", page: "p", text: "says", want: "OK"}
	excused := c
	excused.reason = "left out"
	reworded := c
	reworded.text = "says more"
	known := []difference{c.differs("pstest", "NotFound"), excused.differs(standIn, "Unimplemented")}
	for _, row := range []struct {
		c            testCase
		server, got  string
		golden       []difference
		updating     bool
		want, whatIs string
	}{
		{c, "pstest", "NotFound", known, false, "", "known"},
		{c, "emulator", "OK", known, false, "", "as documented"},
		{excused, standIn, "Unimplemented", known, false, "", "known, with a reason"},
		{c, "emulator", "NotFound", known, false, "appeared", "on a server that had none"},
		{c, "pstest", "NotFound", nil, false, "appeared", "with an empty file"},
		{c, "pstest", "OK", known, false, "vanished", "now as documented"},
		{c, "pstest", "Internal", known, false, "changed", "another outcome"},
		{reworded, "pstest", "NotFound", known, false, "changed", "another text"},
		{c, standIn, "Unimplemented", known, false, "contradicts", "no reason"},
		{c, standIn, "Unimplemented", known, true, "contradicts", "no reason, and -update"},
		{c, "pstest", "Internal", known, true, "", "-update"},
	} {
		got := complaint(row.golden, row.c, row.server, row.got, row.updating)
		if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: complaint %q, want %q", row.whatIs, got, row.want)
		}
	}
}

// TestUpdate: what ran is replaced, what didn't stays, and what is written is read.
func TestUpdate(t *testing.T) {
	c, other := cases()[0], cases()[1]
	before := []difference{c.differs("pstest", "old"), c.differs("emulator", "kept"), {Case: "no such case", Server: "pstest"}, other.differs("pstest", "gone")}
	after := update(before, []ranCase{{c, "pstest", "new"}, {other, "pstest", other.want}})
	want := []difference{c.differs("emulator", "kept"), c.differs("pstest", "new")}
	if !slices.Equal(after, want) {
		t.Errorf("got %+v\nwant %+v", after, want)
	}
	file := filepath.Join(t.TempDir(), "d.json")
	if err := writeDifferences(file, after); err != nil {
		t.Fatal(err)
	}
	if read, err := readDifferences(file); err != nil || !slices.Equal(read, want) {
		t.Errorf("read back %+v, %v", read, err)
	}
}
