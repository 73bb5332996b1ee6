package bigquerytest

import (
	"net/http"
	"strings"
	"testing"
)

// TestEmptyResult: who reads the JSON itself sees that there are no rows; a field
// that is left out says nothing.
func TestEmptyResult(t *testing.T) {
	s, _ := keyed(t, Config{})
	for what, ask := range map[string]func() (*http.Response, error){
		"jobs.query": func() (*http.Response, error) {
			return http.Post(s.Addr()+"/bigquery/v2/projects/p/queries", "application/json", strings.NewReader(`{"query": "SELECT id FROM d.users", "useLegacySql": false}`))
		},
		"tabledata.list": func() (*http.Response, error) {
			return http.Get(s.Addr() + "/bigquery/v2/projects/p/datasets/d/tables/users/data")
		},
	} {
		r, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		if body := readAll(t, r); !strings.Contains(body, `"totalRows":"0"`) {
			t.Errorf("%s answers %s", what, body)
		}
	}
}
