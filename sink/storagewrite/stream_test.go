package storagewrite_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/schema"
	"cdc/sink/bigquerytest"
	"cdc/sink/storagewrite"
)

// bench is a server with tables t0 to tn-1 and a Writer.
type bench struct {
	t      *testing.T
	server *bigquerytest.Server
	client *bigquery.Client
	writer *storagewrite.Writer
}

func start(t *testing.T, cfg storagewrite.Config, server bigquerytest.Config) *bench {
	t.Helper()
	b := &bench{t: t}
	var err error
	b.server, err = bigquerytest.New(server)
	must(t, err)
	t.Cleanup(func() { _ = b.server.Close() })
	b.client, err = bigquery.NewClient(context.Background(), "p", option.WithEndpoint(b.server.Addr()), option.WithoutAuthentication())
	must(t, err)
	t.Cleanup(func() { _ = b.client.Close() })
	must(t, b.client.Dataset("d").Create(t.Context(), nil))
	cfg.Project = "p"
	b.writer, err = storagewrite.New(t.Context(), cfg, slog.New(slog.DiscardHandler), option.WithEndpoint(b.server.StorageAddr()),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	must(t, err)
	t.Cleanup(func() { _ = b.writer.Close() })
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) create(name string) {
	b.t.Helper()
	must(b.t, b.client.Dataset("d").Table(name).Create(context.Background(), &bigquery.TableMetadata{
		Schema: bigquery.Schema{
			{Name: "id", Type: bigquery.IntegerFieldType},
			{Name: "_cdc_position", Type: bigquery.StringFieldType},
			{Name: "_cdc_commit_time", Type: bigquery.TimestampFieldType},
		},
		TableConstraints: &bigquery.TableConstraints{PrimaryKey: &bigquery.PrimaryKey{Columns: []string{"id"}}},
	}))
}

// stream returns a stream to the table and a row for it.
func (b *bench) stream(name string) (*storagewrite.Stream, [][]byte) {
	b.t.Helper()
	l, err := storagewrite.NewLayout(storagewrite.Table{
		Path: "projects/p/datasets/d/tables/" + name, Key: []string{"id"},
		Columns:        []storagewrite.Column{{Name: "id", Type: "INT64"}, {Name: "_cdc_position", Type: "STRING"}, {Name: "_cdc_commit_time", Type: "TIMESTAMP"}},
		PositionColumn: "_cdc_position", CommitTimeColumn: "_cdc_commit_time",
	})
	must(b.t, err)
	t, err := schema.NewTable(schema.Table{Schema: "public", Name: name, Key: []int{0}, Columns: []schema.Column{{Name: "id", Type: "bigint", AttNum: 1}}})
	must(b.t, err)
	p, err := l.Plan(t)
	must(b.t, err)
	row := schema.Row{schema.TextValue("7")}
	wire, refused := p.AppendRow(nil, &schema.Change{Op: schema.Create, Table: t, After: row, Key: row, Position: schema.Position{Epoch: 1}})
	if refused != nil {
		b.t.Fatal(refused)
	}
	return b.writer.Stream(l), [][]byte{wire}
}

func verdict(err error) storagewrite.Verdict {
	if e, ok := errors.AsType[*storagewrite.AppendError](err); ok {
		return e.Verdict
	}
	return 255
}

// A connection carries 100 streams; opening one more on it would hang.
func TestManyStreams(t *testing.T) {
	b := start(t, storagewrite.Config{AppendTimeout: 20 * time.Second}, bigquerytest.Config{CreateDelay: -1})
	const tables = 150
	var appends sync.WaitGroup
	for i := range tables {
		name := fmt.Sprint("t", i)
		b.create(name)
		s, rows := b.stream(name)
		appends.Go(func() {
			if err := s.Append(context.Background(), rows); err != nil {
				t.Error(err)
			}
		})
	}
	appends.Wait()
	if n := b.writer.OpenStreams(); n != tables {
		t.Errorf("%d streams open, want %d", n, tables)
	}
	b.writer.CloseIdle(time.Now().Add(time.Hour))
	if n := b.writer.OpenStreams(); n != 0 {
		t.Errorf("%d streams open after an hour without use", n)
	}
}

func TestLeastRecentlyUsedIsClosed(t *testing.T) {
	b := start(t, storagewrite.Config{MaxStreams: 2}, bigquerytest.Config{CreateDelay: -1})
	var streams []*storagewrite.Stream
	var rows [][][]byte
	for i := range 3 {
		b.create(fmt.Sprint("t", i))
		s, r := b.stream(fmt.Sprint("t", i))
		streams, rows = append(streams, s), append(rows, r)
	}
	for _, i := range []int{0, 1, 0, 2, 1, 0} {
		must(t, streams[i].Append(t.Context(), rows[i]))
		if n := b.writer.OpenStreams(); n > 2 {
			t.Fatalf("%d streams open", n)
		}
	}
	if n := b.server.Counters().Connections; n != 5 {
		t.Errorf("%d connections opened, want 5: t0 stays when t2 comes, then t0 and t2 make room", n)
	}
}

// What is wrong with a table comes in an answer or as the end of the stream: the
// documents allow both, and the verdict is the same.
func TestVerdicts(t *testing.T) {
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprintf("ends streams %t", ends), func(t *testing.T) { verdicts(t, ends) })
	}
}

func verdicts(t *testing.T, ends bool) {
	denied := start(t, storagewrite.Config{}, bigquerytest.Config{StreamErrors: ends, CreateDelay: -1, Denied: []string{"bigquery.tables.updateData"}})
	denied.create("t")
	s, rows := denied.stream("t")
	if err := s.Append(t.Context(), rows); verdict(err) != storagewrite.Stop {
		t.Errorf("without the permission: %v", err)
	}
	b := start(t, storagewrite.Config{AppendTimeout: 2 * time.Second}, bigquerytest.Config{CreateDelay: time.Hour, StreamErrors: ends})
	b.create("fresh")
	s, rows = b.stream("fresh")
	if err := s.Append(t.Context(), rows); verdict(err) != storagewrite.Missing {
		t.Errorf("a table that streams don't know yet: %v", err)
	}
	b.server.Advance(2 * time.Hour)
	must(t, s.Append(t.Context(), rows))
	for kind, want := range map[bigquerytest.FaultKind]storagewrite.Verdict{
		bigquerytest.FaultAborted:       storagewrite.Retry,
		bigquerytest.FaultUnavailable:   storagewrite.Retry,
		bigquerytest.FaultAnswerLost:    storagewrite.Retry,
		bigquerytest.FaultThroughput:    storagewrite.Retry,
		bigquerytest.FaultRefuseAll:     storagewrite.RefusedRows,
		bigquerytest.FaultRefuseRequest: storagewrite.Refused,
		bigquerytest.FaultPermission:    storagewrite.Stop,
	} {
		b.server.Inject(bigquerytest.Fault{Kind: kind})
		if err := s.Append(t.Context(), rows); verdict(err) != want {
			t.Errorf("%s: %v, want verdict %d", kind, err, want)
		}
		must(t, s.Append(t.Context(), rows)) // on the same or a new connection
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, rows); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	must(t, s.Append(t.Context(), rows)) // a short context ended no connection
	must(t, b.writer.Close())
	must(t, b.writer.Close())
}
