package tables

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/option"

	"cdc/schema"
	"cdc/sink/bigquerytest"
)

func start(t *testing.T, change func(*Config)) (*Tables, *bigquerytest.Server, *bigquery.Client) {
	t.Helper()
	server, err := bigquerytest.New(bigquerytest.Config{CreateDelay: -1, SchemaDelay: -1})
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	client, err := bigquery.NewClient(context.Background(), "p", option.WithEndpoint(server.Addr()), option.WithoutAuthentication())
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	cfg := Config{Project: "p", Dataset: "shop", Location: "EU", Template: "{table}"}
	if change != nil {
		change(&cfg)
	}
	tables, err := New(cfg, client, slog.New(slog.DiscardHandler))
	must(t, err)
	return tables, server, client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code() != code || e.Fix() == "" {
		t.Errorf("error %v, want code %s", err, code)
	}
}

func source(t *testing.T, schemaName, name string, key []int, columns ...string) *schema.Table {
	t.Helper()
	s := schema.Table{Schema: schemaName, Name: name, Key: key, Version: 1}
	for i, c := range columns {
		column, typ, ok := strings.Cut(c, " ")
		if !ok {
			typ = "bigint"
		}
		s.Columns = append(s.Columns, schema.Column{Name: column, Type: typ, AttNum: int16(i + 1)})
	}
	out, err := schema.NewTable(s)
	must(t, err)
	return out
}

func TestInit(t *testing.T) {
	tables, _, _ := start(t, nil)
	wantCode(t, tables.Check(t.Context()), "dataset_missing")
	for i, want := range []bool{true, false} {
		if changed, err := tables.Init(t.Context()); changed != want || err != nil {
			t.Errorf("Init %d = %t, %v", i+1, changed, err)
		}
	}
	must(t, tables.Check(t.Context()))
	elsewhere := &Tables{cfg: tables.cfg, client: tables.client, log: tables.log}
	elsewhere.cfg.Location = "US"
	wantCode(t, elsewhere.Check(t.Context()), "dataset_location")
}

func TestEnsure(t *testing.T) {
	tables, server, client := start(t, func(c *Config) { c.MaxStaleness = 15 * time.Minute })
	_, err := tables.Init(t.Context())
	must(t, err)
	s := source(t, "public", "orders", []int{2, 0, 1, 3, 4, 5}, "a", "b double precision", "c text", "d bytea", "e date", "f uuid", "g integer[]", "h numeric")
	d, err := tables.Ensure(t.Context(), s)
	must(t, err)
	md, err := client.Dataset("shop").Table("orders").Metadata(t.Context())
	must(t, err)
	got := fmt.Sprint(md.TableConstraints.PrimaryKey.Columns, md.Clustering.Fields, md.MaxStaleness.ToDuration())
	if want := "[c a b d e f] [c a b e] 15m0s"; got != want {
		t.Errorf("key, clustering, staleness: %s, want %s", got, want)
	}
	var types strings.Builder
	for _, f := range md.Schema {
		if f.Required {
			t.Errorf("column %s is REQUIRED", f.Name)
		}
		types.WriteString(f.Name + ":" + describe(sqlType(f.Type), f.Repeated) + " ")
	}
	if want := "a:INT64 b:STRING c:STRING d:BYTES e:DATE f:STRING g:ARRAY<INT64> h:BIGNUMERIC _cdc_position:STRING _cdc_commit_time:TIMESTAMP "; types.String() != want {
		t.Errorf("columns %s, want %s", types.String(), want)
	}
	if d.Path() != "projects/p/datasets/shop/tables/orders" {
		t.Error(d.Path())
	}
	calls := server.Counters().RESTByMethod
	if _, err := tables.Ensure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if after := server.Counters().RESTByMethod; after["tables.insert"] != calls["tables.insert"] || after["jobs.query"] != calls["jobs.query"] {
		t.Error("the second Ensure changed something")
	}
	there, err := tables.Exists(t.Context(), d)
	must(t, err)
	missing, err := tables.Exists(t.Context(), &Destination{Project: "p", Dataset: "shop", Name: "none"})
	must(t, err)
	if !there || missing {
		t.Errorf("Exists: %t, %t", there, missing)
	}
}

// Several sinks create one table at once: all succeed.
func TestEnsureRace(t *testing.T) {
	first, _, client := start(t, nil)
	_, err := first.Init(t.Context())
	must(t, err)
	var sinks sync.WaitGroup
	for range 8 {
		tables, err := New(first.cfg, client, first.log)
		must(t, err)
		sinks.Go(func() {
			if _, err := tables.Ensure(context.Background(), source(t, "public", "orders", []int{0}, "id")); err != nil {
				t.Error(err)
			}
		})
	}
	sinks.Wait()
}

func TestEnsureRefuses(t *testing.T) {
	tables, _, client := start(t, nil)
	_, err := tables.Init(t.Context())
	must(t, err)
	ensure := func(s *schema.Table) error {
		_, err := tables.Ensure(t.Context(), s)
		return err
	}
	must(t, ensure(source(t, "public", "orders", []int{0}, "id", "title text")))
	wantCode(t, ensure(source(t, "public", "orders", []int{0}, "id", "title text", "added text")), "schema_change")
	wantCode(t, ensure(source(t, "public", "orders", []int{0}, "id", "title integer")), "schema_change")
	wantCode(t, ensure(source(t, "public", "orders", []int{1}, "id", "title text")), "key_changed")
	wantCode(t, ensure(source(t, "public", "ORDERS", []int{0}, "id")), "table_collision")
	wantCode(t, ensure(source(t, "public", "none", nil, "id")), "table_without_key")
	wantCode(t, ensure(source(t, "public", "wide", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q")), "key_too_wide")
	for _, name := range []string{"_PARTITIONTIME", "_change_type", "__root__x", "_cdc_position", "_FILE_name", "a.b", strings.Repeat("x", 301)} {
		wantCode(t, ensure(source(t, "public", "bad", []int{0}, "id", name)), "column_name")
	}
	wantCode(t, ensure(source(t, "public", "cases", []int{0}, "id", "Title", "title")), "column_collision")
	wantCode(t, ensure(source(t, "public", "bad/name", []int{0}, "id")), "table_name")
	// A column less is fine: the table keeps it.
	must(t, ensure(source(t, "public", "orders", []int{0}, "id")))
	must(t, client.Dataset("shop").Table("required").Create(t.Context(), &bigquery.TableMetadata{
		Schema: bigquery.Schema{
			{Name: "id", Type: bigquery.IntegerFieldType, Required: true},
			{Name: PositionColumn, Type: bigquery.StringFieldType},
			{Name: CommitTimeColumn, Type: bigquery.TimestampFieldType},
		},
		TableConstraints: &bigquery.TableConstraints{PrimaryKey: &bigquery.PrimaryKey{Columns: []string{"id"}}},
	}))
	wantCode(t, ensure(source(t, "public", "required", []int{0}, "id")), "column_required")
}

func TestFind(t *testing.T) {
	tables, server, _ := start(t, nil)
	_, err := tables.Init(t.Context())
	must(t, err)
	full, key := source(t, "public", "orders", []int{0}, "id", "title text"), source(t, "public", "orders", []int{0}, "id")
	if _, found, err := tables.Find(t.Context(), key); found || err != nil {
		t.Errorf("Find before the table is there: %t, %v", found, err)
	}
	if n := server.Counters().RESTByMethod["tables.insert"]; n != 0 {
		t.Error("a delete created a table")
	}
	d, err := tables.Ensure(t.Context(), full)
	must(t, err)
	k, found, err := tables.Find(t.Context(), key)
	if !found || err != nil || !d.Covers(k) || k.Covers(d) {
		t.Errorf("Find: %v, %t, %v", k, found, err)
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		status int
		reason string
		code   string // empty: worth a retry
	}{
		{403, "rateLimitExceeded", ""},
		{403, "accessDenied", "bigquery_permission"},
		{401, "authError", "bigquery_credentials"},
		{400, "invalid", "bigquery_refused"},
	} {
		tables, server, _ := start(t, nil)
		server.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultREST, Status: tt.status, Reason: tt.reason, Count: -1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := tables.Check(ctx)
		cancel()
		if e, ok := errors.AsType[*Error](err); ok != (tt.code != "") || ok && e.Code() != tt.code {
			t.Errorf("%d %s: %v, want code %q", tt.status, tt.reason, err, tt.code)
		}
	}
}

func TestTableName(t *testing.T) {
	for _, tt := range []struct{ template, schema, table, want string }{
		{"{table}", "public", "orders", "orders"},
		{"{table}", "sales", "orders", "sales_orders"},
		{"cdc_{table}", "sales", "orders", "cdc_sales_orders"},
		{"{schema}_{table}", "public", "orders", "public_orders"},
		{"{schema}_{table}", "sales", "orders", "sales_orders"},
	} {
		if got, err := tableName(tt.template, tt.schema, tt.table); got != tt.want || err != nil {
			t.Errorf("%s of %s.%s: %q, %v", tt.template, tt.schema, tt.table, got, err)
		}
	}
	for _, bad := range []string{"", "x", "{table}{x}", "{schema}"} {
		wantCode(t, checkTemplate(bad), "table_template")
	}
}
