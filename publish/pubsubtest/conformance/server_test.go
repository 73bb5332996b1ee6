package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/api/option"
	gtransport "google.golang.org/api/transport/grpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/publish/pubsubtest"
)

const standIn = "pubsubtest"

// server is a Pub/Sub as a case sees it.
type server struct {
	project string // empty: one of the case's own
	prefix  string // of every name
	options []option.ClientOption
	lasting bool // topics and subscriptions must be deleted

	// pass lets at least d go by on the server's clock. movesClock says that it
	// takes no time.
	pass       func(d time.Duration)
	movesClock bool
	// patience is how long a case waits for what should come, settle how long it
	// looks whether something comes that shouldn't.
	patience, settle time.Duration
}

// startServer returns a server for one case, and what ends it.
type startServer func() (*server, func())

// target is a kind of server that the cases run on.
type target struct {
	name  string
	tries int // of a case whose outcome isn't the known one
	// begin gets ready for all cases; what it holds is given back by t.Cleanup.
	begin func(t *testing.T) startServer
}

// loopback reaches a server without TLS and credentials.
func loopback(addr string) []option.ClientOption {
	return []option.ClientOption{
		option.WithEndpoint(addr), option.WithoutAuthentication(), option.WithTelemetryDisabled(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
}

func standInTarget() target {
	return target{name: standIn, tries: 1, begin: func(*testing.T) startServer { return startStandIn }}
}

func startStandIn() (*server, func()) {
	s, err := pubsubtest.New(pubsubtest.Config{PullWait: 100 * time.Millisecond})
	if err != nil {
		panic(err) // a loopback port can't be had
	}
	return &server{
		options: loopback(s.Addr()), pass: s.Advance, movesClock: true,
		patience: 5 * time.Second, settle: 200 * time.Millisecond,
	}, func() { _ = s.Close() }
}

func pstestTarget() target {
	return target{name: "pstest", tries: tries, begin: func(*testing.T) startServer { return startPstest }}
}

func startPstest() (*server, func()) {
	s := pstest.NewServer()
	var offset atomic.Int64
	s.SetTimeNowFunc(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	return &server{
		options: loopback(s.Addr), pass: func(d time.Duration) { offset.Add(int64(d)) }, movesClock: true,
		patience: 3 * time.Second, settle: 500 * time.Millisecond,
	}, func() { _ = s.Close() }
}

// serviceTarget is Google's service, with application default credentials.
func serviceTarget() target {
	return target{name: "service", tries: tries, begin: func(t *testing.T) startServer {
		t.Helper()
		srv := server{
			project: *projectFlag, prefix: "cdc-conformance-" + strings.ToLower(rand.Text()[:8]) + "-",
			options: []option.ClientOption{option.WithTelemetryDisabled(), option.WithScopes("https://www.googleapis.com/auth/pubsub")},
			lasting: true, pass: time.Sleep, patience: 30 * time.Second, settle: 5 * time.Second,
		}
		srv.options = append(srv.options, option.WithEndpoint("pubsub.googleapis.com:443"))
		if *endpointFlag != "" {
			srv.options = append(srv.options, option.WithEndpoint(*endpointFlag))
		}
		conn, err := gtransport.Dial(t.Context(), srv.options...)
		if err != nil {
			t.Fatalf("connect to Pub/Sub: %v; set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login", err)
		}
		defer conn.Close() // each case has its own
		if err := answers(t.Context(), conn, srv.project); err != nil {
			t.Fatalf("no case was run: %v", err)
		}
		fmt.Printf("conformance: project %s, names begin with %s\n", srv.project, srv.prefix)
		return func() (*server, func()) { return &srv, func() {} }
	}}
}

// answers asks the service for one thing that changes nothing, so that a wrong
// project, missing permissions or a missing network are said once and not by every
// case.
func answers(ctx context.Context, conn grpc.ClientConnInterface, project string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := pubsubpb.NewPublisherClient(conn).ListTopics(ctx, &pubsubpb.ListTopicsRequest{Project: "projects/" + project, PageSize: 1})
	if err != nil {
		return fmt.Errorf("list the topics of project %s: %w", project, err)
	}
	return nil
}

// inChild runs a case in a process of its own and says if that ended by a panic.
func inChild(t *testing.T, name string, c testCase) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-child="+name+"/"+c.id)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case strings.Contains(errs.String(), "panic:"):
		return "the server panics"
	case err != nil:
		t.Fatalf("run %s in a child: %v\n%s", c.id, err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

// runChild is main of such a process.
func runChild(what string) int {
	name, id, _ := strings.Cut(what, "/")
	start, ok := map[string]startServer{standIn: startStandIn, "pstest": startPstest}[name]
	for _, c := range cases() {
		if ok && c.id == id {
			srv, stop := start()
			defer stop()
			_, _ = io.WriteString(os.Stdout, c.outcome(context.Background(), srv)+"\n")
			return 0
		}
	}
	_, _ = fmt.Fprintf(os.Stderr, "no case %q\n", what)
	return 2
}
