package bigquerytest

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
)

// exec runs one statement with the generated client.
func exec(t testing.TB, svc *bq.Service, sql string) error {
	t.Helper()
	_, err := svc.Jobs.Query(project, standard(sql)).Do()
	return err
}

// done runs statements that must not be refused. They don't meet the quota of
// the updates of a table.
func done(t testing.TB, s *Server, svc *bq.Service, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		s.Advance(updateWindow)
		if err := exec(t, svc, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// refusedSQL runs a statement that must be refused.
func refusedSQL(t testing.TB, s *Server, svc *bq.Service, sql string, code int, reason, text string) {
	t.Helper()
	s.Advance(updateWindow)
	wantREST(t, exec(t, svc, sql), code, reason, text)
}

// answers runs a query and writes its rows as [a b] [c d].
func answers(t testing.TB, svc *bq.Service, sql string) string {
	t.Helper()
	r, err := svc.Jobs.Query(project, standard(sql)).Do()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows []string
	for _, row := range r.Rows {
		var cells []any
		for _, c := range row.F {
			cells = append(cells, c.V)
		}
		rows = append(rows, fmt.Sprint(cells))
	}
	return strings.Join(rows, " ")
}

func fieldNames(s *bq.TableSchema) string {
	var out []string
	for _, f := range s.Fields {
		out = append(out, f.Name+" "+f.Type+" "+f.Mode)
	}
	return strings.Join(out, ", ")
}

// people is a server with three rows in d.users.
func people(t testing.TB, c Config) (*Server, *bq.Service) {
	t.Helper()
	s, stream := keyed(t, c)
	stream.stored(up(usersDescriptor, wire(1, "ann", "UPSERT", "1"), wire(2, "bob", "UPSERT", "1"), wire(3, nil, "UPSERT", "1")))
	return s, rawREST(t, s)
}

func TestRuleView(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE VIEW d.v OPTIONS (description = 'named') AS SELECT id, name FROM d.users WHERE name IS NOT NULL;")
	if got := answers(t, svc, "SELECT name FROM `p.d.v` ORDER BY id DESC"); got != "[bob] [ann]" {
		t.Fatal(got)
	}
	wantREST(t, exec(t, svc, "CREATE VIEW d.v AS SELECT 1 AS x"), 409, "duplicate", "Already Exists: Table p:d.v")
	done(t, s, svc, "CREATE VIEW IF NOT EXISTS d.v AS SELECT 1 AS x", "CREATE OR REPLACE VIEW d.v (one, two) AS SELECT name, COUNT(*) FROM d.users GROUP BY name")
	if got := answers(t, svc, "SELECT two, one FROM d.v WHERE one IN ('ann', 'bob') ORDER BY one"); got != "[1 ann] [1 bob]" {
		t.Fatal(got)
	}
	refusedSQL(t, s, svc, "CREATE VIEW d.w AS SELECT * FROM users", 400, "invalidQuery", "must be qualified with a dataset")
	refusedSQL(t, s, svc, "CREATE VIEW d.w AS SELECT * FROM d.none", 404, "notFound", "Not found: Table p:d.none")

	// A query elsewhere still reads the view's project.
	other, err := svc.Jobs.Query("elsewhere", standard("SELECT COUNT(*) FROM p.d.v")).Do()
	if err != nil || other.Rows[0].F[0].V != "3" {
		t.Fatal(other, err)
	}
	done(t, s, svc, "ALTER VIEW d.v SET OPTIONS (description = 'again')")
	got, err := svc.Tables.Get(project, "d", "v").Do()
	if err != nil || got.Type != "VIEW" || got.Description != "again" || got.View == nil || !strings.HasPrefix(got.View.Query, "SELECT name") || got.View.UseLegacySql {
		t.Fatalf("%+v %v", got, err)
	}
	if got := answers(t, svc, "SELECT table_name, table_type FROM d.INFORMATION_SCHEMA.TABLES ORDER BY table_name"); got != "[users BASE TABLE] [v VIEW]" {
		t.Fatal(got)
	}
	if got := answers(t, svc, "SELECT view_definition FROM d.INFORMATION_SCHEMA.VIEWS"); got != "[SELECT name, COUNT(*) FROM d.users GROUP BY name]" {
		t.Fatal(got)
	}
}

func restView(name, query string) *bq.Table {
	return &bq.Table{
		TableReference: &bq.TableReference{ProjectId: project, DatasetId: "d", TableId: name},
		View:           &bq.ViewDefinition{Query: query, ForceSendFields: []string{"UseLegacySql"}},
	}
}

func TestRuleViewSchema(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE TABLE d.t (id INT64 NOT NULL, s STRING(5), n NUMERIC(5, 2), a ARRAY<DATE>)")
	if _, err := svc.Tables.Insert(project, "d", restView("v", "SELECT * FROM d.t")).Do(); err != nil {
		t.Fatal(err)
	}
	schema := func() string {
		got, err := svc.Tables.Get(project, "d", "v").Do()
		if err != nil {
			t.Fatal(err)
		}
		return fieldNames(got.Schema)
	}
	const frozen = "id INTEGER NULLABLE, s STRING NULLABLE, n NUMERIC NULLABLE, a DATE REPEATED"
	if got := schema(); got != frozen {
		t.Fatal(got)
	}
	done(t, s, svc, "ALTER TABLE d.t ADD COLUMN more BOOL, DROP COLUMN n")
	r, err := svc.Jobs.Query(project, standard("SELECT * FROM d.v")).Do()
	if err != nil || len(r.Schema.Fields) != 4 || r.Schema.Fields[3].Name != "more" || schema() != frozen {
		t.Fatal(r, err, schema())
	}
	s.Advance(updateWindow)
	if _, err := svc.Tables.Patch(project, "d", "v", restView("v", "SELECT more, id FROM d.t")).Do(); err != nil {
		t.Fatal(err)
	}
	if got := schema(); got != "more BOOLEAN NULLABLE, id INTEGER NULLABLE" {
		t.Fatal(got)
	}
	done(t, s, svc, "CREATE OR REPLACE VIEW d.v AS SELECT s FROM d.t", "ALTER TABLE d.t DROP COLUMN s")
	wantREST(t, exec(t, svc, "SELECT * FROM d.v"), 400, "invalidQuery", "Unrecognized name: s")
	if got := schema(); got != "s STRING NULLABLE" {
		t.Fatal(got)
	}
}

func TestRuleViewQuery(t *testing.T) {
	s, svc := people(t, Config{})
	_, err := svc.Tables.Insert(project, "d", restView("v", "DROP TABLE d.users")).Do()
	wantREST(t, err, 400, "invalidQuery", "must be a SELECT statement")
	_, err = svc.Tables.Insert(project, "d", restView("v", "SELECT id FROM d.users -- "+strings.Repeat("x", maxViewCharacters))).Do()
	wantREST(t, err, 400, "invalidQuery", "at most 256 K characters")
	_, err = svc.Tables.Insert(project, "d", restView("v", "")).Do()
	wantREST(t, err, 400, "invalid", "Required parameter is missing: query")
	body := restView("v", "SELECT id FROM d.users")
	body.MaxStaleness = "0-0 0 1:0:0"
	_, err = svc.Tables.Insert(project, "d", body).Do()
	wantREST(t, err, 400, "invalid", "not allowed for a view")
	_, err = svc.Tables.Insert(project, "d", &bq.Table{TableReference: body.TableReference, View: &bq.ViewDefinition{Query: "SELECT 1"}}).Do()
	wantREST(t, err, 501, "notImplemented", "legacy SQL")

	q := standard("CREATE VIEW d.v AS SELECT id FROM d.users WHERE id = @id")
	q.QueryParameters = []*bq.QueryParameter{{Name: "id", ParameterType: &bq.QueryParameterType{Type: "INT64"}, ParameterValue: &bq.QueryParameterValue{Value: "1"}}}
	_, err = svc.Jobs.Query(project, q).Do()
	wantREST(t, err, 400, "invalidQuery", "Query parameter 'id' not found")
	refusedSQL(t, s, svc, "CREATE VIEW d.v (a, b, c) AS SELECT * FROM d.users", 400, "invalidQuery", "another number of columns")
	done(t, s, svc, "CREATE VIEW d.v (a, b) AS SELECT * FROM d.users", "ALTER TABLE d.users ADD COLUMN more BOOL")
	wantREST(t, exec(t, svc, "SELECT a FROM d.v"), 400, "invalidQuery", "another number of columns")
	refusedSQL(t, s, svc, "CREATE VIEW d.w AS SELECT id, id FROM d.users", 400, "invalid", "Field id already exists")
}

func TestRuleViewReadOnly(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE VIEW d.v AS SELECT * FROM d.users")
	const isView, isTable = "p:d.v is not allowed for this operation because it is currently a VIEW.", "p:d.users is not allowed for this operation because it is currently a TABLE."
	for _, sql := range []string{"DELETE FROM d.v WHERE true", "INSERT INTO d.v VALUES (1)", "TRUNCATE TABLE d.v", "DROP TABLE d.v", "ALTER TABLE d.v ADD COLUMN x INT64", "ALTER TABLE d.v RENAME TO w"} {
		refusedSQL(t, s, svc, sql, 400, "invalidQuery", isView)
	}
	for _, sql := range []string{"DROP VIEW d.users", "ALTER VIEW d.users SET OPTIONS (description = 'x')", "CREATE OR REPLACE VIEW d.users AS SELECT 1 AS x"} {
		refusedSQL(t, s, svc, sql, 400, "invalidQuery", isTable)
	}
	_, err := svc.Tables.Patch(project, "d", "users", restView("users", "SELECT 1 AS x")).Do()
	wantREST(t, err, 400, "invalid", "from TABLE to VIEW")
	r := openStream(t, s).ask(appendRequest("projects/p/datasets/d/tables/v/streams/_default", usersDescriptor, wire(1, "x", "UPSERT", "1")))
	wantAppend(t, r, codes.NotFound, "", storagepb.StorageError_TABLE_NOT_FOUND)
}

func TestRuleViewData(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE VIEW d.v AS SELECT * FROM d.users")
	_, err := svc.Tabledata.List(project, "d", "v").Do()
	wantREST(t, err, 400, "invalid", "Cannot list a table of type VIEW.")
}

func TestRuleViewNesting(t *testing.T) {
	s, svc := people(t, Config{})
	from := "users"
	for i := range maxViewLevels {
		name := fmt.Sprintf("v%d", i+1)
		done(t, s, svc, "CREATE VIEW d."+name+" AS SELECT * FROM d."+from)
		from = name
	}
	if got := answers(t, svc, "SELECT COUNT(*) FROM d."+from); got != "[3]" {
		t.Fatal(got)
	}
	done(t, s, svc, "CREATE VIEW d.v16 AS SELECT * FROM d."+from)
	refusedSQL(t, s, svc, "SELECT * FROM d.v16", 400, "invalidQuery", "nested too deeply")
	refusedSQL(t, s, svc, "CREATE VIEW d.v17 AS SELECT * FROM d.v16", 400, "invalidQuery", "nested too deeply")
	refusedSQL(t, s, svc, "CREATE OR REPLACE VIEW d.v1 AS SELECT * FROM d.v2", 400, "invalidQuery", "can't refer to itself")
}
