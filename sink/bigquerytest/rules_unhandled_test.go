package bigquerytest

import (
	"net/http"
	"strings"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
)

func TestRuleUnhandled(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE TABLE d.t (a STRING(5))", "CREATE VIEW d.v AS SELECT * FROM d.t")
	ours := func(err error, text string) {
		t.Helper()
		s.Advance(updateWindow)
		wantREST(t, err, 501, "notImplemented", "bigquerytest: "+text)
	}
	insert := func(change func(*bq.Table)) error {
		body := definition("x", nil, "a INT64")
		change(body)
		_, err := svc.Tables.Insert(project, "d", body).Do()
		return err
	}
	for _, typ := range []string{"GEOGRAPHY", "STRUCT", "RECORD", "INTERVAL", "RANGE"} {
		ours(insert(func(b *bq.Table) { b.Schema.Fields[0].Type = typ }), "columns of type "+typ)
	}
	ours(insert(func(b *bq.Table) { b.Schema.Fields[0].DefaultValueExpression = "1" }), "default values")
	ours(insert(func(b *bq.Table) { b.MaterializedView = &bq.MaterializedViewDefinition{} }), "materialized views")
	ours(insert(func(b *bq.Table) { b.TimePartitioning = &bq.TimePartitioning{Type: "DAY"} }), "partitioned tables")
	ours(insert(func(b *bq.Table) { b.ExternalDataConfiguration = &bq.ExternalDataConfiguration{} }), "only plain tables")
	ours(insert(func(b *bq.Table) {
		b.TableConstraints = &bq.TableConstraints{ForeignKeys: []*bq.TableConstraintsForeignKeys{{Name: "f"}}}
	}), "foreign keys")
	ours(insert(func(b *bq.Table) { b.ExpirationTime = 1 }), "expiration of tables")
	ours(insert(func(b *bq.Table) {
		b.View = restView("x", "SELECT 1 AS a").View
		b.View.UserDefinedFunctionResources = []*bq.UserDefinedFunctionResource{{InlineCode: "x"}}
	}), "functions of views")
	ours(insert(func(b *bq.Table) { b.View = &bq.ViewDefinition{Query: "SELECT 1"} }), "views in legacy SQL")

	patch := func(table string, body *bq.Table) error {
		_, err := svc.Tables.Patch(project, "d", table, body).Do()
		return err
	}
	ours(patch("users", &bq.Table{TableConstraints: &bq.TableConstraints{PrimaryKey: &bq.TableConstraintsPrimaryKey{Columns: []string{"name"}}}}), "changing the primary key of a table with rows")
	ours(patch("t", &bq.Table{Schema: &bq.TableSchema{Fields: []*bq.TableFieldSchema{{Name: "a", Type: "STRING", MaxLength: 6}}}}), "changing a type's parameters")
	ours(patch("v", &bq.Table{Schema: definition("v", nil, "a STRING").Schema}), "changing more of a view")

	_, err := svc.Projects.List().Do()
	ours(err, "GET /projects isn't built")
	r, err := http.Post(s.Addr()+"/projects/p/datasets/d/tables/t:setIamPolicy", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if text := readAll(t, r); r.StatusCode != 501 || !strings.Contains(text, `"reason":"notImplemented"`) {
		t.Fatal(r.StatusCode, text)
	}
	unhandledJobs(t, svc, ours)
}

func unhandledJobs(t *testing.T, svc *bq.Service, ours func(error, string)) {
	t.Helper()
	query := func(q *bq.QueryRequest) error { _, err := svc.Jobs.Query(project, q).Do(); return err }
	ours(query(&bq.QueryRequest{Query: "SELECT 1"}), "legacy SQL")
	ours(query(&bq.QueryRequest{Query: "SELECT 1", DryRun: true}), "legacy SQL")
	for text, p := range map[string]*bq.QueryParameter{
		"only named scalar query parameters": {ParameterType: &bq.QueryParameterType{Type: "INT64"}, ParameterValue: &bq.QueryParameterValue{Value: "1"}},
		"query parameters of type ARRAY":     {Name: "a", ParameterType: &bq.QueryParameterType{Type: "ARRAY"}, ParameterValue: &bq.QueryParameterValue{}},
	} {
		q := standard("SELECT 1")
		q.QueryParameters = []*bq.QueryParameter{p}
		ours(query(q), text)
	}
	insert := func(c *bq.JobConfiguration) error {
		_, err := svc.Jobs.Insert(project, &bq.Job{Configuration: c}).Do()
		return err
	}
	ours(insert(&bq.JobConfiguration{Load: &bq.JobConfigurationLoad{}}), "only query jobs")
	to := &bq.TableReference{ProjectId: project, DatasetId: "d", TableId: "x"}
	ours(insert(&bq.JobConfiguration{Query: &bq.JobConfigurationQuery{Query: "SELECT 1", DestinationTable: to}}), "destination tables")
	for sql, text := range map[string]string{
		"ALTER TABLE d.users DROP PRIMARY KEY": "changing the primary key of a table with rows",
		"CREATE TABLE d.x (a GEOGRAPHY)":       "columns of type GEOGRAPHY",
		"UPDATE d.t SET a = 'x' WHERE TRUE":    "UPDATE isn't built",
	} {
		ours(exec(t, svc, sql), text)
	}
}
