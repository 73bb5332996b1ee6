package conformance

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/publish/pubsubtest"
)

// TestAnswers: a service that refuses everything is noticed before the cases.
func TestAnswers(t *testing.T) {
	s, err := pubsubtest.New(pubsubtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := grpc.NewClient(s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := answers(t.Context(), conn, "p"); err != nil {
		t.Errorf("a service that answers: %v", err)
	}
	s.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Code: codes.PermissionDenied, Count: -1})
	if err := answers(t.Context(), conn, "p"); err == nil || !strings.Contains(err.Error(), "list the topics of project p") {
		t.Errorf("a service that refuses: %v", err)
	}
}
