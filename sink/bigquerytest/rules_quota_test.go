package bigquerytest

import (
	"fmt"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
)

func TestRuleDatasetQuota(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	const text = "Exceeded rate limits: too many dataset metadata update operations for this dataset."
	patch := func() error {
		_, err := svc.Datasets.Patch(project, "d", &bq.Dataset{Description: "x"}).Do()
		return err
	}
	for range maxUpdates - 1 {
		if err := patch(); err != nil {
			t.Fatal(err)
		}
	}
	wantREST(t, patch(), 403, "rateLimitExceeded", text)
	wantREST(t, svc.Datasets.Delete(project, "d").Do(), 403, "rateLimitExceeded", text)
	s.Advance(updateWindow)
	again := &bq.Dataset{DatasetReference: &bq.DatasetReference{DatasetId: "d"}}
	var err error
	for range 3 {
		if err = svc.Datasets.Delete(project, "d").Do(); err != nil {
			t.Fatal(err)
		}
		if _, err = svc.Datasets.Insert(project, again).Do(); err != nil {
			break
		}
	}
	wantREST(t, err, 403, "rateLimitExceeded", text)
	insertDataset := &bq.Dataset{DatasetReference: &bq.DatasetReference{DatasetId: "e"}}
	if _, err := svc.Datasets.Insert(project, insertDataset).Do(); err != nil {
		t.Fatal(err)
	}
}

func TestRuleInsertQuota(t *testing.T) {
	s := startServer(t, Config{InsertsPerSecond: DefaultInsertsPerSecond})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ { // a slow machine passes more than 10
		_, err = svc.Tables.Insert(project, "d", definition(fmt.Sprintf("t%d", n), nil, "a INT64")).Do()
	}
	if n <= DefaultInsertsPerSecond {
		t.Fatal(n, err)
	}
	wantREST(t, err, 403, "rateLimitExceeded", "too many api requests per user per method for this user_method")
	s.Advance(insertWindow)
	insertTable(t, svc, definition("again", nil, "a INT64"))
}

func TestRuleQuotaByName(t *testing.T) {
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	var err error
	for range 3 {
		if err = exec(t, svc, "CREATE TABLE d.t (a INT64)"); err != nil {
			t.Fatal(err)
		}
		if err = exec(t, svc, "DROP TABLE d.t"); err != nil {
			break
		}
	}
	wantREST(t, err, 403, "rateLimitExceeded", "too many table update operations for this table")
	done(t, s, svc, "DROP TABLE d.t", "CREATE TABLE d.t (a INT64)")
}
