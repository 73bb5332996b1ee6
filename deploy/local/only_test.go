package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/jackc/pgx/v5"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"

	"cdc/deploy/local/control"
)

// asMain makes the test's executable be the command.
const asMain = "CDC_TEST_LOCAL_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is the command in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	values map[string]string // exports, and control endpoints by name
	lines  chan string       // of stdout, after the introduction
	stderr strings.Builder
}

var (
	exportLine  = regexp.MustCompile(`^export (\w+)='?([^']*)'?$`)
	controlLine = regexp.MustCompile(`^curl -s http://(\S+)/help +# .* of (\w+)$`)
)

// startAlone starts the command on free ports and reads what it introduces.
func startAlone(t *testing.T, only string) *process {
	t.Helper()
	p := &process{t: t, values: map[string]string{}, lines: make(chan string, 10_000)}
	p.cmd = exec.Command(os.Args[0], "--only", only, "--every", "100ms")
	for name, ports := range map[string]string{
		"pubsub": "pubsub=0,pubsub-control=0", "bigquery": "bigquery=0,bigquery-storage=0,bigquery-control=0",
	} {
		if strings.Contains(only, name) {
			p.cmd.Args = append(p.cmd.Args, "--ports", ports)
		}
	}
	p.cmd.Env = append(os.Environ(), asMain+"=1")
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
	})
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended, unless the test failed
		reading.Wait()
	})
	for line := range p.lines {
		if m := exportLine.FindStringSubmatch(line); m != nil {
			p.values[m[1]] = m[2]
		} else if m := controlLine.FindStringSubmatch(line); m != nil {
			p.values[m[2]] = m[1]
		} else if line != "" {
			return p
		}
	}
	t.Fatalf("it ended: %v: %s", p.cmd.Wait(), &p.stderr)
	return nil
}

// ask asks a control endpoint, which must do it.
func (p *process) ask(name, method, path, body string) string {
	p.t.Helper()
	status, answer, err := control.Ask(p.t.Context(), p.values[name], method, path, body)
	if err != nil || status != 200 {
		p.t.Fatalf("%s %s %s: %d %s %v", method, path, body, status, answer, err)
	}
	return strings.Join(strings.Fields(answer), "")
}

// stop sends the signal and returns the last line; the exit code must be 0.
func (p *process) stop(signal os.Signal) (last string) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	for line := range p.lines {
		last = line
	}
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		p.t.Errorf("after %v: %v, stderr %q", signal, err, &p.stderr)
	}
	return last
}

// wait reads lines until one matches.
func (p *process) wait(pattern string) {
	p.t.Helper()
	want, last := regexp.MustCompile(pattern), ""
	limit := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-p.lines:
			if want.MatchString(line) {
				return
			}
			if !ok {
				p.t.Fatalf("it ended without a line that matches %s", pattern)
			}
			last = line
		case <-limit:
			p.t.Fatalf("no line matches %s; the last one is %s", pattern, last)
		}
	}
}

// TestAlone drives the servers, in a process of their own, with Google's clients,
// and queues faults for them over HTTP.
func TestAlone(t *testing.T) {
	p := startAlone(t, "pubsub,bigquery,postgres")
	t.Run("pubsub", func(t *testing.T) { p.t = t; driveCloudPubSub(t, p) })
	t.Run("bigquery", func(t *testing.T) { p.t = t; driveBigQuery(t, p) })
	t.Run("postgres", func(t *testing.T) {
		conn, err := pgx.Connect(t.Context(), p.values["DATABASE_URL"])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		var level string
		if err := conn.QueryRow(t.Context(), "SHOW wal_level").Scan(&level); err != nil || level != "logical" {
			t.Errorf("wal_level %q %v", level, err)
		}
	})
	p.t = t
	p.wait(`^\d\d:\d\d:\d\d pubsub: topics=1 subscriptions=1 published=1 .*delivered=1 acked=1 .*redelivered=0 backlog=0 refused=0 faults=1  bigquery: tables=1 rows=1 .*faults=2$`)
	if last := p.stop(syscall.SIGTERM); !strings.Contains(last, " stopped after ") || !strings.Contains(last, " published=1 ") {
		t.Errorf("the last line is %q", last)
	}
}

func driveCloudPubSub(t *testing.T, p *process) {
	t.Setenv("PUBSUB_EMULATOR_HOST", p.values["PUBSUB_EMULATOR_HOST"])
	const topic, subscription = "projects/p/topics/orders", "projects/p/subscriptions/orders-sink"
	ctx := t.Context()
	client, err := pubsub.NewClient(ctx, "p")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topic}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{Name: subscription, Topic: topic}); err != nil {
		t.Fatal(err)
	}
	p.ask("pubsub", "POST", "/faults", `{"kind":"refuse","method":"Publish","code":"PERMISSION_DENIED","text":"not you"}`)
	publisher := client.Publisher(topic)
	defer publisher.Stop()
	if _, err := publisher.Publish(ctx, &pubsub.Message{Data: []byte("a")}).Get(ctx); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "not you") {
		t.Errorf("the queued fault met nothing: %v", err)
	}
	if got := p.ask("pubsub", "GET", "/counters", ""); !strings.Contains(got, `"faults":1,`) || !strings.Contains(got, `"requests":`) {
		t.Errorf("counters are %s", got)
	}
	if _, err := publisher.Publish(ctx, &pubsub.Message{Data: []byte("b")}).Get(ctx); err != nil {
		t.Fatal(err)
	}
	receiving, stop := context.WithCancel(ctx)
	err = client.Subscriber(subscription).Receive(receiving, func(_ context.Context, m *pubsub.Message) {
		if string(m.Data) != "b" {
			t.Errorf("got %q", m.Data)
		}
		m.Ack()
		stop()
	})
	if err != nil {
		t.Error(err)
	}
}

func driveBigQuery(t *testing.T, p *process) {
	ctx := t.Context()
	client, err := bigquery.NewClient(ctx, "p", option.WithEndpoint(p.values["BIGQUERY_EMULATOR_HOST"]), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Dataset("d").Create(ctx, &bigquery.DatasetMetadata{}); err != nil {
		t.Fatal(err)
	}
	table := client.Dataset("d").Table("t")
	if err := table.Create(ctx, &bigquery.TableMetadata{Schema: bigquery.Schema{{Name: "id", Type: bigquery.IntegerFieldType}}}); err != nil {
		t.Fatal(err)
	}
	p.ask("bigquery", "POST", "/faults", `{"kind":"rest","method":"tables.get","status":403,"reason":"accessDenied"}`)
	_, err = table.Metadata(ctx)
	if e, ok := errors.AsType[*googleapi.Error](err); !ok || e.Code != 403 {
		t.Errorf("the queued fault met nothing: %v", err)
	}
	p.ask("bigquery", "POST", "/clock", `{"advance":"1m"}`) // the Storage Write API knows the table by then
	writer, err := managedwriter.NewClient(ctx, "p", option.WithEndpoint(p.values["BIGQUERY_STORAGE_EMULATOR_HOST"]),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	row := &descriptorpb.DescriptorProto{Name: new("Row"), Field: []*descriptorpb.FieldDescriptorProto{{
		Name: new("id"), Number: new(int32(1)),
		Type: descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}}}
	stream, err := writer.NewManagedStream(ctx, managedwriter.WithType(managedwriter.DefaultStream), managedwriter.WithSchemaDescriptor(row),
		managedwriter.WithDestinationTable(managedwriter.TableParentFromParts("p", "d", "t")))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	write := func() error {
		result, err := stream.AppendRows(ctx, [][]byte{protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7)})
		if err != nil {
			return err
		}
		_, err = result.GetResult(ctx)
		return err
	}
	p.ask("bigquery", "POST", "/faults", `{"kind":"refuse_request","table":"d.t"}`)
	if err := write(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the queued fault met nothing: %v", err)
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	if got := p.ask("bigquery", "GET", "/tables", ""); !strings.Contains(got, `"rows":1,"table":"p.d.t"`) {
		t.Errorf("tables are %s", got)
	}
	if got := p.ask("bigquery", "GET", "/counters", ""); !strings.Contains(got, `"faults_used":2,`) {
		t.Errorf("counters are %s", got)
	}
}

// TestAloneInterrupted: ^C ends it well too, with only one server.
func TestAloneInterrupted(t *testing.T) {
	p := startAlone(t, "bigquery")
	if _, ok := p.values["PUBSUB_EMULATOR_HOST"]; ok || p.values["bigquery"] == "" {
		t.Errorf("it serves %v", p.values)
	}
	if last := p.stop(os.Interrupt); !strings.Contains(last, "s  bigquery: tables=0 rows=0 ") {
		t.Errorf("the last line is %q", last)
	}
}

// TestAlonePortInUse: the exit code is 1 and stderr says what to do.
func TestAlonePortInUse(t *testing.T) {
	p := startAlone(t, "pubsub")
	_, port, _ := strings.Cut(p.values["PUBSUB_EMULATOR_HOST"], ":")
	var stderr strings.Builder
	code := run(t.Context(), []string{"--only", "pubsub", "--ports", "pubsub-control=0,pubsub=" + port}, io.Discard, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "port "+port+" (pubsub) is in use") || !strings.Contains(stderr.String(), "--ports pubsub=PORT") {
		t.Errorf("exit code %d, stderr %s", code, &stderr)
	}
	p.stop(os.Interrupt)
}

func TestAloneWrongUse(t *testing.T) {
	for want, args := range map[string]string{
		`--only "kafka": want some of pubsub,bigquery`: "--only pubsub,kafka",
		"--seed can't go with --only":                  "--only pubsub --seed 1",
		"--ports needs --only":                         "--ports pubsub=1",
		"--ports kafka=1":                              "--only pubsub --ports kafka=1",
		"--only doesn't serve bigquery":                "--only pubsub --ports bigquery=1",
		"for pubsub and for pubsub-control":            "--only pubsub --ports pubsub=8086",
		"local: unknown flag: --frob":                  "--frob",
		"--every 0s: want at least":                    "--only pubsub --every 0s",
	} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), strings.Fields(args), &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, &stdout, &stderr)
		}
	}
	var help strings.Builder
	if code := run(t.Context(), []string{"--help"}, &help, io.Discard); code != exitDone {
		t.Errorf("--help: exit code %d", code)
	}
	for _, want := range []string{"--only pubsub,bigquery", "pubsub=8085", "bigquery=9050", "bigquery-storage=9060", "(default 5s)"} {
		if !strings.Contains(help.String(), want) {
			t.Errorf("--help lacks %q:\n%s", want, &help)
		}
	}
	if all := slices.Concat(demoFlags, aloneFlags); len(all) != 5 {
		t.Errorf("TestAloneWrongUse doesn't know %v", all)
	}
}
