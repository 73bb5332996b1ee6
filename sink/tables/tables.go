package tables

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigquery"
	"golang.org/x/time/rate"

	"cdc/schema"
)

// Config says where the tables are and what they are like.
type Config struct {
	Project  string
	Dataset  string
	Location string // of the dataset, such as EU
	Template string // of a table's name, with {table} and {schema}
	// MaxStaleness is how old what a query reads may be; 0 merges at every query
	// (https://cloud.google.com/bigquery/docs/change-data-capture#manage_table_staleness).
	MaxStaleness time.Duration
}

const (
	requestTimeout = time.Minute // of one call; the library repeats 5xx within it
	createsASecond = 8           // the service allows 10 for a project
)

// Tables makes and checks destination tables. It is safe for concurrent use.
type Tables struct {
	cfg     Config
	client  *bigquery.Client
	log     *slog.Logger
	creates *rate.Limiter

	mu    sync.Mutex
	owner map[string]string // lower-cased destination name → schema.table
}

// New returns Tables. It returns an *Error if the template is wrong.
func New(cfg Config, client *bigquery.Client, log *slog.Logger) (*Tables, error) {
	if err := checkTemplate(cfg.Template); err != nil {
		return nil, err
	}
	return &Tables{
		cfg: cfg, client: client, log: log,
		creates: rate.NewLimiter(createsASecond, createsASecond), owner: make(map[string]string),
	}, nil
}

// Init creates the dataset if it isn't there. changed says whether it did.
func (t *Tables) Init(ctx context.Context) (changed bool, err error) {
	err = t.Check(ctx)
	if err == nil || !missing(err) {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err = t.dataset().Create(ctx, &bigquery.DatasetMetadata{Location: t.cfg.Location})
	switch {
	case status(err) == http.StatusConflict:
		return false, nil // another init was faster
	case err != nil:
		return false, classify("create dataset "+t.cfg.Dataset, err)
	}
	t.log.Info(EventDatasetCreated, "dataset", t.cfg.Dataset)
	return true, nil
}

// Check returns an *Error if the dataset isn't there or lies elsewhere.
func (t *Tables) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	md, err := t.dataset().Metadata(ctx)
	if err != nil {
		return classify("get dataset "+t.cfg.Dataset, err)
	}
	if t.cfg.Location != "" && !strings.EqualFold(md.Location, t.cfg.Location) {
		return refuse("dataset_location", "set bigquery.location to the dataset's, or use another dataset",
			"dataset %s is in %s, bigquery.location is %s", t.cfg.Dataset, md.Location, t.cfg.Location)
	}
	return nil
}

func missing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.code == "dataset_missing"
}

func (t *Tables) dataset() *bigquery.Dataset {
	return t.client.DatasetInProject(t.cfg.Project, t.cfg.Dataset)
}

// Ensure returns the destination of s, which must be complete (not the Table of
// a Delete, which may have the key alone). It creates the table if it isn't
// there, sets max_staleness, and checks that the table has what s needs. It
// returns an *Error if a person must act and another error if a retry may help.
func (t *Tables) Ensure(ctx context.Context, s *schema.Table) (*Destination, error) {
	d, err := t.Plan(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	md, err := t.table(d).Metadata(ctx)
	switch {
	case status(err) == http.StatusNotFound:
		if md, err = t.create(ctx, d); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, classify("get table "+d.Path(), err)
	default:
		t.log.Info(EventTableFound, "table", d.Name)
	}
	if err := d.fits(md); err != nil {
		return nil, err
	}
	if err := t.setStaleness(ctx, d, md); err != nil {
		return nil, err
	}
	return d, nil
}

// Plan says what the destination of s must look like, without asking BigQuery.
// It returns an *Error if there can be none.
func (t *Tables) Plan(s *schema.Table) (*Destination, error) {
	d, err := plan(t.cfg, s)
	if err != nil {
		return nil, err
	}
	return d, t.claim(d.Name, s)
}

// Find is Ensure for the Table of a Delete, which may have the key's columns
// alone: it creates nothing, since a table made from it would lack columns.
// found is false if the table isn't there.
func (t *Tables) Find(ctx context.Context, s *schema.Table) (d *Destination, found bool, err error) {
	if d, err = t.Plan(s); err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	md, err := t.table(d).Metadata(ctx)
	switch {
	case status(err) == http.StatusNotFound:
		return nil, false, nil
	case err != nil:
		return nil, false, classify("get table "+d.Path(), err)
	}
	return d, true, d.fits(md)
}

// claim refuses two source tables with one destination. BigQuery's table names
// differ in case unless the dataset says otherwise; people don't.
func (t *Tables) claim(name string, s *schema.Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	lower := strings.ToLower(name)
	if other, ok := t.owner[lower]; ok && other != s.String() {
		return refuse("table_collision", `set bigquery.table to "{schema}_{table}", or leave one of the tables out`,
			"tables %s and %s would both be written to %s", other, s, name)
	}
	t.owner[lower] = s.String()
	return nil
}

// create makes the table and reads it back; that another sink was faster is fine.
func (t *Tables) create(ctx context.Context, d *Destination) (*bigquery.TableMetadata, error) {
	if err := t.creates.Wait(ctx); err != nil {
		return nil, fmt.Errorf("wait to create table: %w", err)
	}
	err := t.table(d).Create(ctx, d.metadata())
	switch {
	case err == nil:
		t.log.Info(EventTableCreated, "table", d.Name)
	case status(err) != http.StatusConflict:
		return nil, classify("create table "+d.Path(), err)
	}
	md, err := t.table(d).Metadata(ctx)
	if status(err) == http.StatusNotFound { // not visible yet: a retry will see it
		return nil, fmt.Errorf("read back table %s: %w", d.Path(), err)
	}
	if err != nil {
		return nil, classify("read back table "+d.Path(), err)
	}
	return md, nil
}

// setStaleness sets max_staleness by DDL, the only way that is known to take
// (googleapis/google-cloud-go#10066), and reads it back. That it didn't take
// costs money, not rows: it is logged and the table is used.
func (t *Tables) setStaleness(ctx context.Context, d *Destination, md *bigquery.TableMetadata) error {
	want := t.cfg.MaxStaleness
	if staleness(md) == want {
		return nil
	}
	q := t.client.Query(fmt.Sprintf("ALTER TABLE `%s.%s.%s` SET OPTIONS (max_staleness = INTERVAL %d SECOND)",
		d.Project, d.Dataset, d.Name, int64(want/time.Second)))
	q.Location = t.cfg.Location
	if _, err := q.Read(ctx); err != nil {
		return classify("set max_staleness of "+d.Path(), err)
	}
	md, err := t.table(d).Metadata(ctx)
	if err != nil {
		return classify("read back max_staleness of "+d.Path(), err)
	}
	if got := staleness(md); got != want {
		t.log.Error(EventStalenessUnequal, "table", d.Name, "max_staleness_ms", got.Milliseconds(), "want_ms", want.Milliseconds(),
			"code", "staleness_not_set", "fix", "set it by hand: ALTER TABLE … SET OPTIONS (max_staleness = …)")
		return nil
	}
	t.log.Info(EventStalenessSet, "table", d.Name, "max_staleness_ms", want.Milliseconds())
	return nil
}

func staleness(md *bigquery.TableMetadata) time.Duration {
	if md.MaxStaleness == nil {
		return 0
	}
	return md.MaxStaleness.ToDuration()
}

// Exists reports whether the table is there, for a stream that got NOT_FOUND
// (right after a create that is normal for a while) or was refused. It returns an
// *Error if the table was changed and can't take d's rows any more.
func (t *Tables) Exists(ctx context.Context, d *Destination) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	md, err := t.table(d).Metadata(ctx)
	switch {
	case err == nil:
		return true, d.fits(md)
	case status(err) == http.StatusNotFound:
		return false, nil
	default:
		return false, classify("get table "+d.Path(), err)
	}
}

func (t *Tables) table(d *Destination) *bigquery.Table {
	return t.client.DatasetInProject(d.Project, d.Dataset).Table(d.Name)
}
