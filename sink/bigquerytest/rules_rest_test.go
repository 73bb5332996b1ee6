package bigquerytest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
)

func TestRuleNotFound(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	_, err := svc.Datasets.Get(project, "none").Do()
	wantREST(t, err, 404, "notFound", "Not found: Dataset p:none")
	_, err = svc.Tables.Get(project, "none", "t").Do()
	wantREST(t, err, 404, "notFound", "Not found: Dataset p:none")
	rawDataset(t, svc)
	_, err = svc.Tables.Get(project, "d", "none").Do()
	wantREST(t, err, 404, "notFound", "Not found: Table p:d.none")
	wantREST(t, svc.Tables.Delete(project, "d", "none").Do(), 404, "notFound", "Table p:d.none")
	_, err = svc.Jobs.Get(project, "none").Do()
	wantREST(t, err, 404, "notFound", "Not found: Job p:none")
	_, err = svc.Tables.Insert(project, "none", definition("t", nil, "a INT64")).Do()
	wantREST(t, err, 404, "notFound", "Not found: Dataset p:none")
	_, err = svc.Tables.List(project, "none").Do()
	wantREST(t, err, 404, "notFound", "Not found: Dataset p:none")
	wantREST(t, svc.Tables.Delete(project, "none", "t").Do(), 404, "notFound", "Not found: Dataset p:none")
	if n := s.Counters().Refused[ruleNotFound]; n != 8 {
		t.Fatalf("counted %d", n)
	}
}

func TestRuleDuplicate(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	_, err := svc.Datasets.Insert(project, &bq.Dataset{DatasetReference: &bq.DatasetReference{DatasetId: "d"}}).Do()
	wantREST(t, err, 409, "duplicate", "Already Exists: Dataset p:d")
	body := definition("t", nil, "a STRING")
	insertTable(t, svc, body)
	_, err = svc.Tables.Insert(project, "d", body).Do()
	wantREST(t, err, 409, "duplicate", "Already Exists: Table p:d.t")
	insertTable(t, svc, definition("u", nil, "a STRING"))
	wantREST(t, exec(t, svc, "ALTER TABLE d.t RENAME TO u"), 409, "duplicate", "Already Exists: Table p:d.u")
	off := false
	job := &bq.Job{
		JobReference:  &bq.JobReference{JobId: "j"},
		Configuration: &bq.JobConfiguration{Query: &bq.JobConfigurationQuery{Query: "SELECT * FROM d.t", UseLegacySql: &off}},
	}
	if _, err = svc.Jobs.Insert(project, job).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = svc.Jobs.Insert(project, job).Do()
	wantREST(t, err, 409, "duplicate", "Already Exists: Job p:EU.j")
}

func TestRuleDatasetName(t *testing.T) {
	svc := rawREST(t, startServer(t, Config{}))
	for _, id := range []string{"", "a-b", "ä", strings.Repeat("a", 1025)} {
		_, err := svc.Datasets.Insert(project, &bq.Dataset{DatasetReference: &bq.DatasetReference{DatasetId: id}}).Do()
		wantREST(t, err, 400, "invalid", "Invalid dataset ID")
	}
}

func TestRuleDatasetNotEmpty(t *testing.T) {
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a STRING"))
	wantREST(t, svc.Datasets.Delete(project, "d").Do(), 400, "resourceInUse", "still in use")
	if err := svc.Datasets.Delete(project, "d").DeleteContents(true).Do(); err != nil {
		t.Fatal(err)
	}
}

func TestRuleTableName(t *testing.T) {
	for _, name := range []string{"a.b", "a/b", "a`b", strings.Repeat("a", 1025)} {
		refusedTable(t, definition(name, nil, "a STRING"), 400, "invalid", "Invalid table ID")
	}
	refusedTable(t, &bq.Table{}, 400, "invalid", "Required parameter is missing: tableReference")
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	insertTable(t, svc, definition("Größe 1-b_c", nil, "a STRING"))
}

func TestRuleColumnName(t *testing.T) {
	for _, name := range []string{"", "a.b", "a\"b", "a(b", strings.Repeat("ä", 301)} {
		body := definition("t", nil, "a STRING")
		body.Schema.Fields[0].Name = name
		refusedTable(t, body, 400, "invalid", "Invalid field name")
	}
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	body := definition("t", nil, "a STRING", "b STRING")
	body.Schema.Fields[0].Name = strings.Repeat("ä", 300)
	body.Schema.Fields[1].Name = "名前 - 1"
	insertTable(t, svc, body)
	for method, target := range map[string]string{"POST": "/projects/p/datasets/d/tables", "PATCH": "/projects/p/datasets/d/tables/t"} {
		r, err := http.NewRequestWithContext(t.Context(), method, s.Addr()+target, strings.NewReader(`{"tableReference":{"tableId":"n"},"schema":{"fields":[null,null,null]}}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if text := readAll(t, answer); answer.StatusCode != 400 || !strings.Contains(text, `"reason":"invalid"`) || !strings.Contains(text, "Fields must have a name.") {
			t.Fatal(method, answer.StatusCode, text)
		}
	}
}

func TestRuleReservedPrefix(t *testing.T) {
	for _, prefix := range reservedPrefixes {
		refusedTable(t, definition("t", nil, strings.ToLower(prefix)+"x STRING"), 400, "invalid", "prefixes")
	}
}

func TestRuleColumnUnique(t *testing.T) {
	refusedTable(t, definition("t", nil, "name STRING", "Name INT64"), 400, "invalid", "Field Name already exists in schema")
}

func TestRuleColumnType(t *testing.T) {
	refusedTable(t, definition("t", nil, "a VARCHAR"), 400, "invalid", "VARCHAR is not a valid value")
	svc := rawREST(t, startServer(t, Config{}))
	wantREST(t, exec(t, svc, "CREATE TABLE d.t (a VARCHAR)"), 400, "invalidQuery", "Type not found: VARCHAR")
}

func TestRuleColumnMode(t *testing.T) {
	refusedTable(t, definition("t", nil, "a STRING OPTIONAL"), 400, "invalid", "OPTIONAL is not a valid value")
}

func TestRuleColumnCount(t *testing.T) {
	var columns []string
	for i := range maxColumns + 1 {
		columns = append(columns, fmt.Sprintf("c%d INT64", i))
	}
	refusedTable(t, definition("t", nil, columns...), 400, "invalid", "Too many columns: 10001")
}

func TestRuleTypeParameters(t *testing.T) {
	for _, f := range []*bq.TableFieldSchema{
		{Name: "a", Type: "NUMERIC", Precision: 38, Scale: 10},
		{Name: "a", Type: "NUMERIC", Precision: 30},
		{Name: "a", Type: "NUMERIC", Scale: 2},
		{Name: "a", Type: "BIGNUMERIC", Precision: 39},
		{Name: "a", Type: "INT64", Precision: 5},
		{Name: "a", Type: "STRING", Precision: 5},
		{Name: "a", Type: "DATE", MaxLength: 5},
	} {
		body := definition("t", nil)
		body.Schema.Fields = []*bq.TableFieldSchema{f}
		refusedTable(t, body, 400, "invalid", "Invalid precision")
	}
}

func manyColumns(n int) (keys, columns []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("c%d", i))
		columns = append(columns, fmt.Sprintf("c%d INT64", i))
	}
	return keys, columns
}

func TestRuleKeyCount(t *testing.T) {
	keys, columns := manyColumns(17)
	refusedTable(t, definition("t", keys, columns...), 400, "invalid", "Primary key has 17 columns")
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", keys[:16], columns...))
}

func TestRuleKeyColumn(t *testing.T) {
	refusedTable(t, definition("t", []string{"b"}, "a INT64"), 400, "invalid", "'b' in primary key not found")
	refusedTable(t, definition("t", []string{"a", "A"}, "a INT64"), 400, "invalid", "twice")
}

func TestRuleKeyRepeated(t *testing.T) {
	refusedTable(t, definition("t", []string{"a"}, "a INT64 REPEATED"), 400, "invalid", "must not be REPEATED")
}

func TestRuleKeyType(t *testing.T) {
	for _, typ := range []string{"FLOAT64", "TIME", "JSON"} {
		refusedTable(t, definition("t", []string{"a"}, "a "+typ), 400, "invalid", "unsupported type "+typ)
	}
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	for _, typ := range []string{"BIGNUMERIC", "BOOLEAN", "BYTES", "DATE", "DATETIME", "INT64", "NUMERIC", "STRING", "TIMESTAMP"} {
		insertTable(t, svc, definition("t"+typ, []string{"a"}, "a "+typ))
	}
}

func clustered(body *bq.Table, fields ...string) *bq.Table {
	body.Clustering = &bq.Clustering{Fields: fields}
	return body
}

func TestRuleClusterCount(t *testing.T) {
	names, columns := manyColumns(5)
	refusedTable(t, clustered(definition("t", nil, columns...), names...), 400, "invalid", "Too many clustering columns: 5")
}

func TestRuleClusterColumn(t *testing.T) {
	refusedTable(t, clustered(definition("t", nil, "a INT64"), "b"), 400, "invalid", "cannot be found in the schema: b")
	refusedTable(t, clustered(definition("t", nil, "a INT64"), "a", "A"), 400, "invalid", "twice")
}

func TestRuleClusterType(t *testing.T) {
	for _, column := range []string{"a BYTES", "a FLOAT64", "a TIME", "a JSON", "a INT64 REPEATED"} {
		refusedTable(t, clustered(definition("t", nil, column), "a"), 400, "invalid", "is not allowed for clustering")
	}
}

func TestRuleETag(t *testing.T) {
	svc := rawREST(t, startServer(t, Config{}))
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a INT64"))
	before, err := svc.Tables.Get(project, "d", "t").Do()
	if err != nil {
		t.Fatal(err)
	}
	patch := func(etag, text string) error {
		call := svc.Tables.Patch(project, "d", "t", &bq.Table{Description: text})
		call.Header().Set("If-Match", etag)
		_, err := call.Do()
		return err
	}
	if err := patch(before.Etag, "first"); err != nil {
		t.Fatal(err)
	}
	wantREST(t, patch(before.Etag, "second"), http.StatusPreconditionFailed, "conditionNotMet", "Precondition")
	after, err := svc.Tables.Get(project, "d", "t").Do()
	if err != nil || after.Description != "first" || after.Etag == before.Etag {
		t.Fatal(after, err)
	}
}

func TestRulePatchSchema(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a INT64", "b STRING REQUIRED"))
	patch := func(columns ...string) error {
		s.Advance(updateWindow) // refused ones count too
		_, err := svc.Tables.Patch(project, "d", "t", &bq.Table{Schema: definition("t", nil, columns...).Schema}).Do()
		return err
	}
	for columns, text := range map[string]string{
		"a INT64":                                   "Field b is missing",
		"a INT64,c STRING REQUIRED":                 "Field b is missing",
		"a STRING,b STRING REQUIRED":                "Field a has changed type from INT64 to STRING",
		"a INT64 REPEATED,b STRING REQUIRED":        "Field a has changed mode",
		"a INT64 REQUIRED,b STRING REQUIRED":        "Field a has changed mode",
		"a INT64,b STRING REQUIRED,c DATE REQUIRED": "Cannot add required fields",
	} {
		wantREST(t, patch(strings.Split(columns, ",")...), 400, "invalid", text)
	}
	if err := patch("a INT64", "b STRING", "c DATE", "e STRING REPEATED"); err != nil {
		t.Fatal(err)
	}
}

func TestRuleUpdateQuota(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a INT64"))
	patch := func() error {
		_, err := svc.Tables.Patch(project, "d", "t", &bq.Table{Description: "x"}).Do()
		return err
	}
	for range maxUpdates - 1 {
		if err := patch(); err != nil {
			t.Fatal(err)
		}
	}
	wantREST(t, patch(), 403, "rateLimitExceeded", "Exceeded rate limits: too many table update operations for this table")
	_, err := svc.Jobs.Query(project, standard("ALTER TABLE d.t ADD COLUMN b INT64")).Do()
	wantREST(t, err, 403, "rateLimitExceeded", "too many table update operations")
	s.Advance(updateWindow)
	if err := patch(); err != nil {
		t.Fatal(err)
	}
}

// standard is a query in GoogleSQL.
func standard(sql string) *bq.QueryRequest {
	off := false
	return &bq.QueryRequest{Query: sql, UseLegacySql: &off}
}

func TestRuleAlterColumn(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, clustered(definition("t", []string{"id"}, "id INT64", "day DATE", "a STRING"), "day"))
	for sql, text := range map[string]string{
		"ALTER TABLE d.t DROP COLUMN id":         "primary key",
		"ALTER TABLE d.t RENAME COLUMN ID TO x":  "primary key",
		"ALTER TABLE d.t DROP COLUMN day":        "clustering column",
		"ALTER TABLE d.t RENAME COLUMN day TO x": "clustering column",
		"ALTER TABLE d.t DROP COLUMN none":       "Column not found: none",
	} {
		s.Advance(updateWindow)
		_, err := svc.Jobs.Query(project, standard(sql)).Do()
		wantREST(t, err, 400, "invalidQuery", text)
	}
}

func TestRuleMaxStaleness(t *testing.T) {
	s := startServer(t, Config{RESTMaxStaleness: true})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", []string{"id"}, "id INT64"))
	for _, bad := range []string{"INTERVAL 1 YEAR", "INTERVAL 'x' HOUR TO SECOND", "INTERVAL '1:60:0' HOUR TO SECOND"} {
		s.Advance(updateWindow)
		_, err := svc.Jobs.Query(project, standard("ALTER TABLE d.t SET OPTIONS (max_staleness = "+bad+")")).Do()
		wantREST(t, err, 400, "invalidQuery", "Invalid INTERVAL for max_staleness")
	}
	_, err := svc.Tables.Patch(project, "d", "t", &bq.Table{MaxStaleness: "10 minutes"}).Do()
	wantREST(t, err, 400, "invalid", "Invalid value for maxStaleness")
	for sql, want := range map[string]string{
		"INTERVAL 15 MINUTE":                    "0-0 0 0:15:0",
		"INTERVAL \"4:0:0\" HOUR TO SECOND":     "0-0 0 4:0:0",
		"INTERVAL '0-0 1 0:0:5' YEAR TO SECOND": "0-0 0 24:0:5",
		"INTERVAL 0 MINUTE":                     "0-0 0 0:0:0",
		"NULL":                                  "",
	} {
		s.Advance(updateWindow)
		if _, err := svc.Jobs.Query(project, standard("ALTER TABLE d.t SET OPTIONS (max_staleness = "+sql+")")).Do(); err != nil {
			t.Fatal(err)
		}
		got, err := svc.Tables.Get(project, "d", "t").Do()
		if err != nil || got.MaxStaleness != want {
			t.Fatalf("%s: %q, want %q (%v)", sql, got.MaxStaleness, want, err)
		}
	}
}

func TestRuleStalenessREST(t *testing.T) {
	for _, takes := range []bool{false, true} {
		want := ""
		if takes {
			want = "0-0 0 0:10:0"
		}
		svc := rawREST(t, startServer(t, Config{RESTMaxStaleness: takes}))
		rawDataset(t, svc)
		body := definition("t", []string{"id"}, "id INT64")
		body.MaxStaleness = "0-0 0 0:10:0"
		insertTable(t, svc, body)
		if got, err := svc.Tables.Get(project, "d", "t").Do(); err != nil || got.MaxStaleness != want {
			t.Fatalf("insert: %q, want %q (%v)", got.MaxStaleness, want, err)
		}
		got, err := svc.Tables.Patch(project, "d", "t", &bq.Table{MaxStaleness: "0-0 0 0:10:0"}).Do()
		if err != nil || got.MaxStaleness != want {
			t.Fatalf("patch: %q, want %q (%v)", got.MaxStaleness, want, err)
		}
	}
}

func TestRuleSQL(t *testing.T) {
	t.Run("select", selectRefuses)
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	insertTable(t, svc, definition("t", nil, "a INT64", "j JSON", "r STRING REPEATED"))
	for sql, text := range map[string]string{
		"":                                              "Expected SELECT",
		"VACUUM d.t":                                    "Expected SELECT",
		"SELECT * FROM d.t WHERE a":                     "should be of type BOOL",
		"SELECT * FROM d.t JOIN d.u":                    "at [1:19]",
		"SELECT a, COUNT(*) FROM d.t":                   "neither grouped nor aggregated",
		"SELECT nope FROM d.t":                          "Unrecognized name: nope",
		"SELECT * FROM t":                               "must be qualified with a dataset",
		"SELECT * FROM d.t WHERE a = 'x'":               "No matching signature",
		"SELECT * FROM d.t WHERE j = '{}'":              "No matching signature for operator = for argument types: JSON, STRING",
		"SELECT * FROM d.t ORDER BY r":                  "ORDER BY does not support",
		"SELECT * FROM d.t; SELECT 1":                   "the end of the statement",
		"SELECT * FROM d.t WHERE a = @p":                "Query parameter 'p' not found",
		"SELECT * FROM d.t WHERE a = 'x":                "Unclosed string literal",
		"SELECT * FROM d.t /* ":                         "Unclosed comment",
		"SELECT * FROM `d.t":                            "identifier literal",
		"SELECT ? FROM d.t":                             "Illegal input character",
		"SELECT * FROM `d.`":                            "Invalid table name",
		"SELECT * FROM a.b.c.d.e":                       "Invalid table name",
		"SELECT * FROM INFORMATION_SCHEMA.TABLES":       "must be qualified with a dataset",
		"SELECT * FROM d.INFORMATION_SCHEMA.PARTITIONS": "isn't known by this server",
		"CREATE TABLE d.x (a INT64 PRIMARY KEY NOT ENFORCED, PRIMARY KEY (a) NOT ENFORCED)":     "Multiple primary keys",
		"CREATE TABLE d.x (a INT64 PRIMARY KEY NOT ENFORCED, b INT64 PRIMARY KEY NOT ENFORCED)": "Multiple primary keys",
		"SELECT 1 " + strings.Repeat(" ", maxSQLBytes):                                          "The query is too large.",
		"CREATE OR REPLACE TABLE d.v":                                                           "Expected TABLE, VIEW or OR REPLACE VIEW",
		"ALTER TABLE d.t SET OPTIONS (x=1)":                                                     "doesn't know: x",
	} {
		_, err := svc.Jobs.Query(project, standard(sql)).Do()
		wantREST(t, err, 400, "invalidQuery", text)
	}
}

func TestSQLIsUTF8(t *testing.T) {
	s := startServer(t, Config{}) // no client sends anything else
	if _, e := s.run("SELECT '\xff'", queryContext{}); e == nil || e.status != 400 || e.reason != "invalidQuery" || !strings.Contains(e.message, "UTF-8") {
		t.Fatal(e)
	}
}

func TestRuleBody(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	for body, reason := range map[string]string{"": "invalid", "{": "parseError", `{"schema": 5}`: "invalid"} {
		r, err := http.Post(s.Addr()+"/projects/p/datasets/d/tables", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text := readAll(t, r)
		if r.StatusCode != 400 || !strings.Contains(text, `"reason":"`+reason+`"`) {
			t.Fatalf("%q: %d %s", body, r.StatusCode, text)
		}
	}
	_, err := svc.Tables.List(project, "d").PageToken("x").Do()
	wantREST(t, err, 400, "invalid", "Invalid page token")
	insertTable(t, svc, definition("t", nil, "a INT64"))
	r, err := svc.Jobs.Query(project, standard("SELECT 1")).Do()
	if err != nil {
		t.Fatal(err)
	}
	for query, text := range map[string]string{
		"datasets/d/tables/t/data?startIndex=x": "startIndex", "datasets/d/tables?maxResults=x": "maxResults",
		"queries/" + r.JobReference.JobId + "?maxResults=x": "maxResults", "queries/" + r.JobReference.JobId + "?pageToken=x": "page token",
	} {
		r, err := http.Get(s.Addr() + "/projects/p/" + query)
		if err != nil {
			t.Fatal(err)
		}
		if body := readAll(t, r); r.StatusCode != 400 || !strings.Contains(body, `"reason":"invalid"`) || !strings.Contains(body, text) {
			t.Fatalf("%s: %d %s", query, r.StatusCode, body)
		}
	}
	large, err := http.Post(s.Addr()+"/projects/p/queries", "application/json", strings.NewReader(strings.Repeat(" ", maxBodyBytes+1)))
	if err != nil {
		t.Fatal(err)
	}
	if body := readAll(t, large); large.StatusCode != 413 || !strings.Contains(body, `"reason":"uploadTooLarge"`) {
		t.Fatal(large.StatusCode, body)
	}
}

func TestRuleRequestID(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	q := standard("CREATE TABLE d.t (id INT64 NOT NULL, PRIMARY KEY (id) NOT ENFORCED) CLUSTER BY id")
	q.RequestId = "r1"
	for range 2 {
		if _, err := svc.Jobs.Query(project, q).Do(); err != nil {
			t.Fatal(err)
		}
	}
	q.RequestId = "r2"
	_, err := svc.Jobs.Query(project, q).Do()
	wantREST(t, err, 409, "duplicate", "Already Exists: Table p:d.t")
}

func TestRuleFailedJob(t *testing.T) {
	svc := rawREST(t, startServer(t, Config{}))
	off := false
	job, err := svc.Jobs.Insert(project, &bq.Job{
		JobReference:  &bq.JobReference{JobId: "j"},
		Configuration: &bq.JobConfiguration{Query: &bq.JobConfigurationQuery{Query: "SELECT FROM", UseLegacySql: &off}},
	}).Do()
	if err != nil || job.Status.State != "DONE" || job.Status.ErrorResult == nil || job.Status.ErrorResult.Reason != "invalidQuery" {
		t.Fatal(job, err)
	}
	_, err = svc.Jobs.GetQueryResults(project, "j").Do()
	wantREST(t, err, 400, "invalidQuery", "Syntax error")
}
