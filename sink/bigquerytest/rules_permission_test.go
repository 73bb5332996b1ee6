package bigquerytest

import (
	"context"
	"fmt"
	"testing"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestRulePermissions(t *testing.T) {
	const project404, dataset404, table404 = "Access Denied: Project p: User does not have %s permission in project p.",
		"Access Denied: Dataset p:d: Permission %s denied on dataset p:d (or it may not exist).",
		"Access Denied: Table p:d.users: Permission %s denied on table p:d.users (or it may not exist)."
	const canNotQuery = "Access Denied: Table p:d.users: User does not have permission to query table p:d.users, or perhaps it does not exist."
	type do = func(svc *bq.Service) error
	query := func(sql string) do {
		return func(svc *bq.Service) error { _, err := svc.Jobs.Query(project, standard(sql)).Do(); return err }
	}
	for _, c := range []struct {
		permission, text string
		call             do
	}{
		{"bigquery.datasets.create", project404, func(svc *bq.Service) error {
			_, err := svc.Datasets.Insert(project, &bq.Dataset{DatasetReference: &bq.DatasetReference{DatasetId: "x"}}).Do()
			return err
		}},
		{"bigquery.datasets.get", dataset404, func(svc *bq.Service) error { _, err := svc.Datasets.Get(project, "d").Do(); return err }},
		{"bigquery.datasets.update", dataset404, func(svc *bq.Service) error {
			_, err := svc.Datasets.Patch(project, "d", &bq.Dataset{Description: "x"}).Do()
			return err
		}},
		{"bigquery.datasets.delete", dataset404, func(svc *bq.Service) error { return svc.Datasets.Delete(project, "d").Do() }},
		{"bigquery.tables.create", dataset404, func(svc *bq.Service) error {
			_, err := svc.Tables.Insert(project, "d", definition("users", nil, "a INT64")).Do()
			return err
		}},
		{"bigquery.tables.list", dataset404, func(svc *bq.Service) error { _, err := svc.Tables.List(project, "d").Do(); return err }},
		{"bigquery.tables.get", table404, func(svc *bq.Service) error { _, err := svc.Tables.Get(project, "d", "users").Do(); return err }},
		{"bigquery.tables.update", table404, func(svc *bq.Service) error {
			_, err := svc.Tables.Patch(project, "d", "users", &bq.Table{Description: "x"}).Do()
			return err
		}},
		{"bigquery.tables.delete", table404, func(svc *bq.Service) error { return svc.Tables.Delete(project, "d", "users").Do() }},
		{"bigquery.tables.getData", table404, func(svc *bq.Service) error { _, err := svc.Tabledata.List(project, "d", "users").Do(); return err }},
		{"bigquery.jobs.create", project404, query("SELECT 1")},
		{"bigquery.jobs.create", project404, func(svc *bq.Service) error {
			_, err := svc.Jobs.Insert(project, &bq.Job{Configuration: &bq.JobConfiguration{Query: &bq.JobConfigurationQuery{Query: "SELECT 1"}}}).Do()
			return err
		}},
		{"bigquery.tables.getData", canNotQuery, query("SELECT * FROM d.users")},
		{"bigquery.tables.create", dataset404, query("CREATE TABLE d.x (a INT64)")},
		{"bigquery.tables.create", dataset404, query("CREATE VIEW d.x AS SELECT 1 AS a")},
		{"bigquery.tables.update", dataset404, query("CREATE OR REPLACE VIEW d.x AS SELECT 1 AS a")},
		{"bigquery.tables.update", table404, query("ALTER TABLE d.users ADD COLUMN x INT64")},
		{"bigquery.tables.get", table404, query("ALTER TABLE d.users ADD COLUMN x INT64")},
		{"bigquery.tables.delete", table404, query("DROP TABLE IF EXISTS d.users")},
		{"bigquery.tables.updateData", table404, query("TRUNCATE TABLE d.users")},
		{"bigquery.tables.get", dataset404, query("SELECT * FROM d.INFORMATION_SCHEMA.TABLES")},
		{"bigquery.jobs.listAll", project404, query("SELECT * FROM `region-eu`.INFORMATION_SCHEMA.JOBS")},
	} {
		var want string
		if c.text == canNotQuery {
			want = c.text
		} else {
			want = fmt.Sprintf(c.text, c.permission)
		}
		// A denied server has no dataset if that can't be made: it doesn't matter.
		s := startServer(t, Config{Denied: []string{c.permission}})
		svc := rawREST(t, s)
		s.catalog.datasets[[2]string{project, "d"}] = &dataset{tables: map[string]*table{}}
		users, e := s.makeTable(project, "d", "users", definition("users", []string{"id"}, "id INT64"))
		if e == nil {
			e = s.catalog.addTable(users)
		}
		if e != nil {
			t.Fatal(e)
		}
		wantREST(t, c.call(svc), 403, "accessDenied", want)
	}
}

func TestStreamWithoutPermission(t *testing.T) {
	s := startServer(t, Config{Denied: []string{"bigquery.tables.updateData"}})
	users(t, s, restClient(t, s))
	const text = "Permission 'TABLES_UPDATE_DATA' denied on resource (or it may not exist)."
	wantAppend(t, openStream(t, s).ask(up(usersDescriptor, wire(1, "a", "UPSERT", "1"))), codes.PermissionDenied, text, 0)
	_, err := storagepb.NewBigQueryWriteClient(dial(t, s)).GetWriteStream(t.Context(), &storagepb.GetWriteStreamRequest{Name: usersStream})
	if status.Code(err) != codes.PermissionDenied || len(s.Rows(project, "d", "users")) != 0 {
		t.Fatal(err)
	}
}

func TestRuleTestPermissions(t *testing.T) {
	s := startServer(t, Config{Denied: []string{"bigquery.tables.updateData"}})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a INT64"))
	ask := func(table string) []string {
		r, err := svc.Tables.TestIamPermissions("projects/p/datasets/d/tables/"+table,
			&bq.TestIamPermissionsRequest{Permissions: []string{"bigquery.tables.updateData", "bigquery.tables.get"}}).Do()
		if err != nil {
			t.Fatal(err)
		}
		return r.Permissions
	}
	if got := ask("t"); len(got) != 1 || got[0] != "bigquery.tables.get" {
		t.Fatal(got)
	}
	if got := ask("none"); len(got) != 0 {
		t.Fatal(got)
	}
}

func TestRuleDryRun(t *testing.T) {
	s, svc := people(t, Config{})
	s.Apply(project, "d", "users")
	dry := func(sql string) (*bq.QueryResponse, error) {
		q := standard(sql)
		q.DryRun = true
		return svc.Jobs.Query(project, q).Do()
	}
	// Three keys of 8 bytes; "ann" and "bob" count 2 + 3 each. Without
	// max_staleness a query merges, which reads all of the table.
	done(t, s, svc, "CREATE VIEW d.v AS SELECT id FROM d.users")
	for sql, want := range map[string]int64{"SELECT id FROM d.users": 34, "SELECT * FROM d.users": 34, "SELECT COUNT(*) FROM d.users": 34, "SELECT 1": 0, "SELECT * FROM d.v": 34} {
		r, err := dry(sql)
		if err != nil || r.TotalBytesProcessed != want || len(r.Schema.Fields) == 0 || len(r.Rows) != 0 {
			t.Fatalf("%s: %+v %v", sql, r, err)
		}
	}
	done(t, s, svc, "ALTER TABLE d.users SET OPTIONS (max_staleness = INTERVAL 1 DAY)")
	for sql, want := range map[string]int64{
		"SELECT id FROM d.users": 24, "SELECT name FROM d.users WHERE id = 1": 34, "SELECT * FROM d.users": 34, "SELECT COUNT(*) FROM d.users": 0, "SELECT * FROM d.v": 24,
		"SELECT name FROM d.users ORDER BY name": 10, "SELECT COUNT(id) FROM (SELECT * FROM d.users)": 34,
	} {
		if r, err := dry(sql); err != nil || r.TotalBytesProcessed != want {
			t.Fatalf("%s: %d, want %d (%v)", sql, r.TotalBytesProcessed, want, err)
		}
	}
	for _, sql := range []string{
		"CREATE TABLE d.x (a INT64)", "DROP TABLE d.users", "ALTER TABLE d.users DROP COLUMN name", "CREATE VIEW d.w AS SELECT 1 AS a",
		"CREATE OR REPLACE VIEW d.v AS SELECT name FROM d.users", "ALTER TABLE d.users RENAME TO y", "DROP VIEW d.v",
	} {
		if _, err := dry(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if got := answers(t, svc, "SELECT table_name, column_name FROM d.INFORMATION_SCHEMA.COLUMNS ORDER BY 1, 2"); got != "[users id] [users name] [v id]" {
		t.Fatal(got)
	}
	_, err := dry("SELECT nope FROM d.users")
	wantREST(t, err, 400, "invalidQuery", "Unrecognized name: nope")
	_, err = dry("DROP TABLE d.none")
	wantREST(t, err, 404, "notFound", "d.none")

	job, err := svc.Jobs.Insert(project, &bq.Job{Configuration: &bq.JobConfiguration{DryRun: true, Query: &bq.JobConfigurationQuery{
		Query: "SELECT id FROM d.users", UseLegacySql: new(bool), ForceSendFields: []string{"UseLegacySql"},
	}}}).Do()
	if err != nil || job.Statistics.TotalBytesProcessed != 24 || job.Statistics.Query.StatementType != "SELECT" || job.JobReference.JobId != "" {
		t.Fatal(job, err)
	}
	denying := startServer(t, Config{Denied: []string{"bigquery.tables.getData"}})
	other := rawREST(t, denying)
	rawDataset(t, other)
	insertTable(t, other, definition("t", nil, "a INT64"))
	q := standard("SELECT * FROM d.t")
	q.DryRun = true
	_, err = other.Jobs.Query(project, q).Context(context.Background()).Do()
	wantREST(t, err, 403, "accessDenied", "does not have permission to query table p:d.t")
}

func TestRuleTableSize(t *testing.T) {
	s, svc := people(t, Config{})
	size := func() (uint64, int64) {
		var fields googleapi.Field = "numRows,numBytes"
		r, err := svc.Tables.Get(project, "d", "users").Fields(fields).Do()
		if err != nil {
			t.Fatal(err)
		}
		return r.NumRows, r.NumBytes
	}
	if rows, bytes := size(); rows != 0 || bytes != 0 {
		t.Fatal(rows, bytes)
	}
	s.Apply(project, "d", "users")
	if rows, bytes := size(); rows != 3 || bytes != 34 {
		t.Fatal(rows, bytes)
	}
	openStream(t, s).stored(up(usersDescriptor, wire(1, nil, "DELETE", "2")))
	if rows, _ := size(); rows != 3 {
		t.Fatal(rows)
	}
	s.Apply(project, "d", "users")
	if rows, bytes := size(); rows != 2 || bytes != 21 {
		t.Fatal(rows, bytes)
	}
}

func TestRuleApplyJobs(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "ALTER TABLE d.users SET OPTIONS (max_staleness = INTERVAL 10 MINUTE)")
	for range maxApplies + 5 {
		s.Advance(10 * minute)
	}
	const sql = "SELECT destination_table.dataset_id, destination_table.table_id, COUNT(*) AS applies, MAX(end_time) AS last FROM `region-EU`.INFORMATION_SCHEMA.JOBS AS job " +
		"WHERE project_id = 'p' AND job_id LIKE \"%cdc_background%\" GROUP BY 1, 2"
	r, err := svc.Jobs.Query(project, standard(sql)).Do()
	if err != nil || len(r.Rows) != 1 || r.Rows[0].F[1].V != "users" || r.Rows[0].F[2].V != "64" {
		t.Fatal(r, err)
	}
	if got := answers(t, svc, "SELECT * FROM `region-us`.INFORMATION_SCHEMA.JOBS"); got != "" {
		t.Fatal(got)
	}
}
