package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	bqstorage "cloud.google.com/go/bigquery/storage/apiv1"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cdc/sink/bigquerytest"
)

// target is the service that a case talks to. Only this knows which one it is.
type target struct {
	project  string
	location string
	rest     []option.ClientOption
	storage  []option.ClientOption
	standIn  *bigquerytest.Server // nil for the real service
}

// patience is the longest that the real service is waited for at once. A longer
// condition is only tried as far as that.
const patience = 20 * time.Minute

// standIn starts a server of one case.
func standIn(t *testing.T) *target {
	t.Helper()
	s, err := bigquerytest.New(bigquerytest.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &target{
		project: "conformance", location: "EU", standIn: s,
		rest: []option.ClientOption{option.WithEndpoint(s.Addr()), option.WithoutAuthentication()},
		storage: []option.ClientOption{
			option.WithEndpoint(s.StorageAddr()), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		},
	}
}

// answers asks BigQuery for one thing that changes nothing, so that missing
// credentials or permissions, a wrong project or a missing network are said once
// and not by every case.
func answers(t *testing.T, project string, options ...option.ClientOption) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client, err := bigquery.NewClient(ctx, project, options...)
	if err != nil {
		return fmt.Errorf("connect to BigQuery: %w", err)
	}
	defer client.Close()
	if _, err := client.Datasets(ctx).Next(); err != nil && !errors.Is(err, iterator.Done) {
		return fmt.Errorf("list the datasets of project %s: %w", project, err)
	}
	return nil
}

func (g *target) now() time.Time {
	if g.standIn != nil {
		return g.standIn.Now()
	}
	return time.Now()
}

// pass lets d pass, on the real service at most patience.
func (g *target) pass(ctx context.Context, d time.Duration) error {
	if g.standIn != nil {
		g.standIn.Advance(d)
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(d, patience)):
		return nil
	}
}

// eventually tries until done says so, with or without an error, for limit of
// the service's time. An error without done is tried again.
func (g *target) eventually(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	step := limit / 20
	for passed := time.Duration(0); ; passed += step {
		ok, err := done()
		if ok {
			return err
		}
		if passed >= limit {
			if err == nil {
				err = fmt.Errorf("it didn't happen within %v", limit)
			}
			return err
		}
		if err := g.pass(ctx, step); err != nil {
			return err
		}
	}
}

// holdApply holds background applies back, if the target can; the real service
// can't be asked to.
func (g *target) holdApply(dataset, table string) bool {
	if g.standIn == nil {
		return false
	}
	g.standIn.PauseApply(g.project, dataset, table, true)
	return true
}

// clients are Google's clients of one target.
type clients struct {
	*target
	query *bigquery.Client
	calls *bq.Service
	write *managedwriter.Client
	raw   *bqstorage.BigQueryWriteClient
}

func (g *target) open(t *testing.T) *clients {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // the clients keep it
	c := &clients{target: g}
	var err error
	if c.query, err = bigquery.NewClient(ctx, g.project, g.rest...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.query.Close() })
	if c.calls, err = bq.NewService(ctx, g.rest...); err != nil {
		t.Fatal(err)
	}
	if c.write, err = managedwriter.NewClient(ctx, g.project, g.storage...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.write.Close() })
	if c.raw, err = bqstorage.NewBigQueryWriteClient(ctx, g.storage...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.raw.Close() })
	return c
}
