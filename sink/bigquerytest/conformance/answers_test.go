package conformance

import (
	"net/http"
	"strings"
	"testing"

	"cdc/sink/bigquerytest"
)

// TestAnswers: a service that refuses everything is noticed before the cases.
func TestAnswers(t *testing.T) {
	g := standIn(t)
	if err := answers(t, g.project, g.rest...); err != nil {
		t.Errorf("a service that answers: %v", err)
	}
	g.standIn.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultREST, Status: http.StatusForbidden, Reason: "accessDenied", Count: -1})
	if err := answers(t, g.project, g.rest...); err == nil || !strings.Contains(err.Error(), "list the datasets of project conformance") {
		t.Errorf("a service that refuses: %v", err)
	}
}
