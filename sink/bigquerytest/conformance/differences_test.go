package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const differencesHead = `What the cases of this package meet on the stand-in instead of what the pages say.
Made by go test ./sink/bigquerytest/conformance -update. Don't edit.
`

// differences is the golden file of outcomes: of each case that didn't hold its
// id, what the stand-in did, the document that decides it and why it differs.
func differences(outcomes []outcome) string {
	var b strings.Builder
	b.WriteString(differencesHead)
	for _, o := range outcomes {
		if o.problem != "" {
			fmt.Fprintf(&b, "\ncase %s\n  says %s\n  did %s\n  page %s\n  why %s\n", o.ID, o.Says, strings.ReplaceAll(o.problem, "\n", " "), o.document(), o.StandIn)
		}
	}
	return b.String()
}

// compare says what is wrong with outcomes, of all cases or of those that -run
// chose, against the golden file.
func compare(golden string, outcomes []outcome, all []Case) []string {
	known := map[string]string{}
	for _, part := range strings.Split(golden, "\ncase ")[1:] {
		id, rest, _ := strings.Cut(part, "\n")
		known[id] = strings.TrimSpace(rest)
	}
	var out []string
	for _, o := range outcomes {
		want, listed := known[o.ID]
		delete(known, o.ID)
		_, rest, _ := strings.Cut(differences([]outcome{o}), "\ncase "+o.ID+"\n")
		switch got := strings.TrimSpace(rest); {
		case o.problem != "" && o.StandIn == "":
			out = append(out, fmt.Sprintf("%s differs without a reason: %s (%s)", o.ID, o.problem, o.document()))
		case o.problem == "" && (listed || o.StandIn != ""):
			out = append(out, o.ID+" holds now: its difference has vanished")
		case o.problem != "" && !listed:
			out = append(out, o.ID+" differs and isn't in "+differencesFile+": "+o.problem)
		case got != want:
			out = append(out, fmt.Sprintf("%s differs in another way: %s, not %s", o.ID, got, want))
		}
	}
	for id := range known {
		if !slices.ContainsFunc(all, func(c Case) bool { return c.ID == id }) {
			out = append(out, id+" is in "+differencesFile+" and no case")
		}
	}
	return out
}

func TestCompareFindsPlantedBugs(t *testing.T) {
	held := outcome{Case: Case{ID: "cdc/a", Section: "s", Says: "A."}}
	differs := outcome{Case: Case{ID: "cdc/b", Section: "s", Says: "B.", StandIn: "Not built."}, problem: "refused"}
	good := []outcome{held, differs}
	golden := differences(good)
	all := []Case{held.Case, differs.Case}
	for _, outcomes := range [][]outcome{good, {held}, {differs}} {
		if p := compare(golden, outcomes, all); len(p) != 0 {
			t.Fatal(p)
		}
	}
	appeared, reasonless, changed, vanished := held, differs, differs, differs
	appeared.problem, appeared.StandIn = "stored", "Not built."
	reasonless.StandIn = ""
	changed.problem = "stored"
	vanished.problem = ""
	for what, outcomes := range map[string][]outcome{
		"appeared": {appeared, differs}, "no reason": {held, reasonless}, "changed": {held, changed}, "vanished": {held, vanished},
	} {
		if p := compare(golden, outcomes, all); len(p) != 1 {
			t.Errorf("%s: %q", what, p)
		}
	}
	if p := compare(differencesHead, good, all); len(p) != 1 {
		t.Errorf("unlisted: %q", p)
	}
	if p := compare(golden, []outcome{held}, all[:1]); len(p) != 1 {
		t.Errorf("no such case: %q", p)
	}
}
