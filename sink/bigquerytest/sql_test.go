package bigquerytest

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"github.com/google/go-cmp/cmp"
	bq "google.golang.org/api/bigquery/v2"
)

func ddl(t testing.TB, c *bigquery.Client, sql string) {
	t.Helper()
	job, err := c.Query(sql).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st, err := job.Wait(t.Context()); err != nil || st.Err() != nil {
		t.Fatalf("%s: %v %v", sql, err, st)
	}
}

// Google's client reads every type back from a query.
func TestQueryOfEveryType(t *testing.T) {
	s := startServer(t, Config{})
	c := restClient(t, s)
	makeDataset(t, c, "d")
	ddl(t, c, `CREATE TABLE d.t (
		id INT64 NOT NULL, b BOOL, f FLOAT64, n NUMERIC(10, 2), big BIGNUMERIC, s STRING(20), x BYTES, j JSON,
		da DATE, dt DATETIME, ti TIME, ts TIMESTAMP, arr ARRAY<STRING>, none STRING,
		PRIMARY KEY (id) NOT ENFORCED) CLUSTER BY id OPTIONS (max_staleness = INTERVAL 0 MINUTE, description = 'every type')`)
	d := descriptor(
		field{name: "id", typ: protoInt64}, field{name: "b", typ: protoBool}, field{name: "n", typ: protoString}, field{name: "big", typ: protoString},
		field{name: "s", typ: protoString}, field{name: "x", typ: protoBytes}, field{name: "j", typ: protoString}, field{name: "da", typ: protoInt32},
		field{name: "dt", typ: protoString}, field{name: "ti", typ: protoString}, field{name: "ts", typ: protoInt64},
		field{name: "arr", typ: protoString, repeated: true}, field{name: "_CHANGE_TYPE", typ: protoString})
	row := wire(7, true, "12.345", "0.1", "häh", []byte{1, 2}, `{"a": 1}`, 19000, "2024-02-29 01:02:03.5", "23:59:59", 1_700_000_000_123_456, "one", "UPSERT")
	openStream(t, s).stored(appendRequest("projects/p/datasets/d/tables/t/streams/_default", d, row))

	got := query(t, c, "SELECT * FROM `p.d.t`")[0]
	want := []bigquery.Value{
		int64(7), true, nil, big.NewRat(1235, 100), big.NewRat(1, 10), "häh",
		[]byte{1, 2},
		`{"a":1}`,
		civil.Date{Year: 2022, Month: 1, Day: 8},
		civil.DateTime{Date: civil.Date{Year: 2024, Month: 2, Day: 29}, Time: civil.Time{Hour: 1, Minute: 2, Second: 3, Nanosecond: 5e8}},
		civil.Time{Hour: 23, Minute: 59, Second: 59},
		time.UnixMicro(1_700_000_000_123_456).UTC(),
		[]bigquery.Value{"one"},
		nil,
	}
	rat := cmp.Comparer(func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
	if diff := cmp.Diff(want, got, rat); diff != "" {
		t.Fatal(diff)
	}
	for _, where := range []string{
		"id = 7", "b = true", "n = 12.35", "big < 1", "s = 'häh'", "da = DATE '2022-01-08'", "dt > '2024-02-28 00:00:00'", "ti <= '23:59:59'",
		"ts = TIMESTAMP '2023-11-14 22:13:20.123456 UTC'", "none IS NULL", "s IS NOT NULL", "id > 6 AND id <> 8 AND s >= 'h'", "id = @id",
	} {
		q := c.Query("SELECT COUNT(*) AS n FROM d.t WHERE " + where)
		q.Parameters = []bigquery.QueryParameter{{Name: "id", Value: 7}}
		it, err := q.Read(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		var n []bigquery.Value
		if err := it.Next(&n); err != nil || n[0] != int64(1) {
			t.Errorf("%s: %v %v", where, n, err)
		}
	}
	md, err := c.Dataset("d").Table("t").Metadata(t.Context())
	if err != nil || md.Description != "every type" || md.TableConstraints.PrimaryKey.Columns[0] != "id" || md.Clustering.Fields[0] != "id" || !md.Schema[0].Required {
		t.Fatal(md, err)
	}
}

func TestAlterTable(t *testing.T) {
	s, stream := keyed(t, Config{})
	c := restClient(t, s)
	stream.stored(up(usersDescriptor, wire(1, "a", "UPSERT", "1")))
	ddl(t, c, "ALTER TABLE d.users ADD COLUMN IF NOT EXISTS email STRING OPTIONS (description = 'mail'), ADD COLUMN tags ARRAY<STRING>")
	ddl(t, c, "ALTER TABLE d.users RENAME COLUMN name TO full_name")
	rows := s.Rows(project, "d", "users")
	if diff := cmp.Diff([]Row{{"id": "1", "full_name": "a", "email": nil, "tags": []any{}}}, rows); diff != "" {
		t.Fatal(diff)
	}
	ddl(t, c, "ALTER TABLE IF EXISTS d.nope DROP COLUMN x")
	ddl(t, c, "ALTER TABLE d.users DROP COLUMN full_name, DROP COLUMN IF EXISTS nope, ADD COLUMN full_name INT64")
	if rows := s.Rows(project, "d", "users"); rows[0]["full_name"] != nil {
		t.Fatal(rows) // a new column of an old name has no old values
	}
	stream.stored(up(nil, wire(2, "b", "UPSERT", "1"))) // the connection knows the columns that it was opened with
	got := query(t, c, "SELECT column_name, data_type FROM d.INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'users' ORDER BY ordinal_position")
	if fmt.Sprint(got) != "[[id INT64] [email STRING] [tags ARRAY<STRING>] [full_name INT64]]" {
		t.Fatal(got)
	}
}

func TestInformationSchemaOptions(t *testing.T) {
	s, _ := keyed(t, Config{})
	c := restClient(t, s)
	stale(t, c, "INTERVAL 10 MINUTE")
	got := query(t, c, "SELECT option_name, option_value FROM d.INFORMATION_SCHEMA.TABLE_OPTIONS WHERE option_name = 'max_staleness' AND table_name = 'users'")
	if fmt.Sprint(got) != "[[max_staleness 0-0 0 0:10:0]]" {
		t.Fatal(got)
	}
}

// Results longer than a page come whole through Google's client.
func TestPages(t *testing.T) {
	s, stream := keyed(t, Config{})
	const n = 2*maxPageRows + 5
	var rows [][]byte
	for i := range n {
		rows = append(rows, wire(i, "x", "UPSERT", "1"))
	}
	stream.stored(up(usersDescriptor, rows...))
	c := restClient(t, s)
	got := query(t, c, "SELECT id FROM d.users ORDER BY id DESC")
	if len(got) != n || got[0][0] != int64(n-1) || got[n-1][0] != int64(0) {
		t.Fatal(len(got))
	}
	if got := query(t, c, "SELECT id FROM d.users ORDER BY id LIMIT 2 OFFSET 3"); fmt.Sprint(got) != "[[3] [4]]" {
		t.Fatal(got)
	}
	s.Apply(project, "d", "users")
	it := c.Dataset("d").Table("users").Read(t.Context())
	seen := 0
	for {
		var row []bigquery.Value
		if it.Next(&row) != nil {
			break
		}
		seen++
	}
	if seen != n {
		t.Fatalf("tabledata.list gave %d rows", seen)
	}
}

func TestLists(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	for i := range 5 {
		insertTable(t, svc, definition(fmt.Sprintf("t%d", i), nil, "a INT64"))
	}
	var names []string
	err := svc.Tables.List(project, "d").MaxResults(2).Pages(t.Context(), func(l *bq.TableList) error {
		for _, x := range l.Tables {
			names = append(names, x.TableReference.TableId)
		}
		return nil
	})
	if err != nil || fmt.Sprint(names) != "[t0 t1 t2 t3 t4]" {
		t.Fatal(names, err)
	}
	l, err := svc.Datasets.List(project).Do()
	if err != nil || len(l.Datasets) != 1 || l.Datasets[0].Location != "EU" {
		t.Fatal(l, err)
	}
	p, err := svc.Tables.TestIamPermissions("projects/p/datasets/d/tables/t0", &bq.TestIamPermissionsRequest{Permissions: []string{"bigquery.tables.updateData"}}).Do()
	if err != nil || len(p.Permissions) != 1 {
		t.Fatal(p, err)
	}
	denying := startServer(t, Config{Denied: []string{"bigquery.tables.updateData"}})
	other := rawREST(t, denying)
	rawDataset(t, other)
	insertTable(t, other, definition("t0", nil, "a INT64"))
	p, err = other.Tables.TestIamPermissions("projects/p/datasets/d/tables/t0", &bq.TestIamPermissionsRequest{Permissions: []string{"bigquery.tables.updateData", "bigquery.tables.get"}}).Do()
	if err != nil || len(p.Permissions) != 1 || p.Permissions[0] != "bigquery.tables.get" {
		t.Fatal(p, err)
	}
	d, err := svc.Datasets.Patch(project, "d", &bq.Dataset{Description: "x", Labels: map[string]string{"a": "b"}}).Do()
	if err != nil || d.Description != "x" || d.Labels["a"] != "b" {
		t.Fatal(d, err)
	}
}
