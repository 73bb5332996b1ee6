package bigquerytest

import (
	"strings"
	"testing"

	"cloud.google.com/go/bigquery"
	bq "google.golang.org/api/bigquery/v2"
)

// history is a server with an append-only table as the sink writes it.
func history(t testing.TB) (*Server, *bq.Service) {
	t.Helper()
	s := startServer(t, Config{})
	svc := rawREST(t, s)
	rawDataset(t, svc)
	done(t, s, svc, "CREATE TABLE d.h (id INT64, name STRING, amount NUMERIC, _cdc_op STRING, _cdc_position STRING, _cdc_commit_time TIMESTAMP)")
	d := descriptor(
		field{name: "id", typ: protoInt64}, field{name: "name", typ: protoString}, field{name: "amount", typ: protoString},
		field{name: "_cdc_op", typ: protoString}, field{name: "_cdc_position", typ: protoString}, field{name: "_cdc_commit_time", typ: protoInt64})
	openStream(t, s).stored(appendRequest("projects/p/datasets/d/tables/h/streams/_default", d,
		wire(1, "a", "1", "c", "0/1", 1_000_000), wire(1, "b", "2.5", "u", "0/2", 2_000_000), wire(1, "b", "2.5", "u", "0/2", 2_000_000),
		wire(2, "x", nil, "c", "0/3", 3_000_000), wire(2, nil, nil, "d", "0/4", 4_000_000), wire(3, "a%_", "-1", "r", "0/5", 5_000_000)))
	return s, svc
}

func TestSelect(t *testing.T) {
	_, svc := history(t)
	for sql, want := range map[string]string{
		"SELECT id FROM d.h WHERE id = 1 OR name IS NULL AND NOT id = 3 ORDER BY _cdc_position":                 "[1] [1] [1] [2]",
		"SELECT DISTINCT id, name FROM d.h WHERE name IN ('a', 'x', NULL) ORDER BY name":                        "[1 a] [2 x]",
		"SELECT id FROM d.h WHERE name NOT IN ('a', NULL)":                                                      "",
		"SELECT DISTINCT id FROM d.h WHERE id BETWEEN 2 AND 3 ORDER BY id":                                      "[2] [3]",
		"SELECT id FROM d.h WHERE id NOT BETWEEN 1 AND 2":                                                       "[3]",
		`SELECT id FROM d.h WHERE name LIKE 'a\\%\\_'`:                                                          "[3]",
		"SELECT DISTINCT name FROM d.h WHERE name LIKE '_' ORDER BY 1":                                          "[a] [b] [x]",
		"SELECT id FROM d.h WHERE name LIKE 'a%%'":                                                              "[1] [3]",
		"SELECT id FROM d.h WHERE name NOT LIKE '%a%' AND id > 1":                                               "[2]",
		"SELECT id FROM d.h WHERE (id = 1) AND ((name = 'a'))":                                                  "[1]",
		"SELECT COUNT(*), COUNT(name), COUNT(DISTINCT name), MIN(id), MAX(name), SUM(amount), SUM(id) FROM d.h": "[6 5 4 1 x 5 10]",
		"SELECT MIN(id), SUM(id), COUNT(*) FROM d.h WHERE id > 9":                                               "[<nil> <nil> 0]",
		"SELECT id, COUNT(*) AS n FROM d.h GROUP BY id HAVING n > 1 ORDER BY n DESC, id":                        "[1 3] [2 2]",
		"SELECT COUNT(*) n, id FROM d.h GROUP BY 2 ORDER BY COUNT(*), 2":                                        "[1 3] [2 2] [3 1]",
		"SELECT h.id FROM d.h AS h WHERE h.name = 'x'":                                                          "[2]",
		"SELECT x.n FROM (SELECT COUNT(*) AS n FROM d.h) AS x":                                                  "[6]",
		"SELECT * EXCEPT (_cdc_op, _cdc_position, _cdc_commit_time, amount) FROM d.h WHERE id = 3":              "[3 a%_]",
		"SELECT 1, 'x' AS y, TRUE, NULL, 1.5, id = 3 FROM d.h LIMIT 1 OFFSET 5":                                 "[1 x true <nil> 1.5 true]",
		"SELECT id FROM d.h ORDER BY amount, id DESC LIMIT 3":                                                   "[2] [2] [3]",
		"SELECT _cdc_position FROM d.h ORDER BY amount, _cdc_position DESC LIMIT 2":                             "[0/4] [0/3]", // NULLs tie
		"SELECT id FROM d.h WHERE amount > 1 AND amount <= 2.5 AND amount = NUMERIC '2.5'":                      "[1] [1]",
		"SELECT id FROM d.h WHERE _cdc_commit_time = '1970-01-01 00:00:05' OR 5 = id":                           "[3]",
	} {
		if got := answers(t, svc, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

// The queries that people need of a history table: its state now, as of a
// time, and rebuilt.
func TestRuleQualify(t *testing.T) {
	s, svc := history(t)
	const newest = "QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY _cdc_position DESC) = 1"
	done(t, s, svc, "CREATE VIEW d.h_unique AS SELECT * FROM d.h WHERE NOT (_cdc_position >= '0/9' AND _cdc_position < '1') QUALIFY ROW_NUMBER() OVER (PARTITION BY id, _cdc_position ORDER BY _cdc_commit_time) = 1")
	for sql, want := range map[string]string{
		"SELECT COUNT(*) FROM d.h_unique": "[5]",
		"SELECT id, name FROM d.h WHERE TRUE " + newest + " AND _cdc_op != 'd' ORDER BY id":                                                              "[1 b] [3 a%_]",
		"SELECT id, name FROM (SELECT * FROM d.h_unique WHERE _cdc_commit_time <= TIMESTAMP '1970-01-01 00:00:03Z' " + newest + ") WHERE _cdc_op != 'd'": "[1 b] [2 x]",
		"SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS rn FROM d.h GROUP BY id QUALIFY rn <= 2 ORDER BY id":                                         "[2 2] [3 1]",
	} {
		if got := answers(t, svc, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	refusedSQL(t, s, svc, "SELECT id FROM d.h QUALIFY id = 1", 400, "invalidQuery", "The QUALIFY clause requires analytic function to be present")
	refusedSQL(t, s, svc, "SELECT id FROM d.h WHERE ROW_NUMBER() OVER (ORDER BY id) = 1", 400, "invalidQuery", "ROW_NUMBER is not allowed here")
}

// selectRefuses is the part of TestRuleSQL that is about SELECT.
func selectRefuses(t *testing.T) {
	s, svc := history(t)
	done(t, s, svc, "CREATE TABLE d.t (a INT64, j JSON, r ARRAY<STRING>, d DATE, b BYTES)")
	for sql, text := range map[string]string{
		"SELECT id, COUNT(*) FROM d.h":                                                "neither grouped nor aggregated",
		"SELECT * FROM d.h GROUP BY id":                                               "neither grouped nor aggregated",
		"SELECT name FROM d.h GROUP BY id":                                            "neither grouped nor aggregated",
		"SELECT id FROM d.h HAVING id = 1":                                            "HAVING clause requires GROUP BY",
		"SELECT id FROM d.h WHERE COUNT(*) = 1":                                       "COUNT(*) is not allowed here",
		"SELECT COUNT(*) FROM d.t GROUP BY j":                                         "Grouping by expressions of type JSON",
		"SELECT DISTINCT j FROM d.t":                                                  "cannot be used in SELECT DISTINCT",
		"SELECT a FROM d.t ORDER BY r":                                                "ORDER BY does not support expressions of type ARRAY<STRING>",
		"SELECT a FROM d.t QUALIFY ROW_NUMBER() OVER (PARTITION BY j ORDER BY a) = 1": "Partitioning by expressions of type JSON",
		"SELECT SUM(d) FROM d.t":                                                      "No matching signature for aggregate function SUM",
		"SELECT MAX(j) FROM d.t":                                                      "No matching signature for aggregate function MAX",
		"SELECT SUM(id) FROM (SELECT 9223372036854775807 AS id, name FROM d.h)":       "SUM has an overflow of INT64",
		"SELECT a FROM d.t WHERE a = DATE '2020-01-01'":                               "No matching signature for operator = for argument types: INT64, DATE",
		"SELECT a FROM d.t WHERE d = STRING '2020-01-01'":                             "Expected",
		"SELECT a FROM d.t WHERE d = '2020-13-01'":                                    "No matching signature",
		"SELECT a FROM d.t WHERE b = 'x'":                                             "No matching signature for operator = for argument types: BYTES, STRING",
		"SELECT a FROM d.t WHERE a LIKE '1'":                                          "LIKE is known for a STRING",
		"SELECT id FROM d.h WHERE name LIKE '\\\\'":                                   "ends with a backslash",
		"SELECT id FROM d.h WHERE NOT id":                                             "should be of type BOOL",
		"SELECT id FROM d.h WHERE name AND TRUE":                                      "should be of type BOOL",
		"SELECT id FROM d.h WHERE id NOT 1":                                           "Expected IN, BETWEEN or LIKE",
		"SELECT UPPER(name) FROM d.h":                                                 "Expected COUNT, MIN, MAX, SUM or ROW_NUMBER",
		"SELECT id FROM d.h JOIN d.t USING (id)":                                      "Expected the end of the statement",
		"SELECT id FROM d.h UNION ALL SELECT a FROM d.t":                              "Expected the end of the statement",
		"SELECT * EXCEPT (none) FROM d.h":                                             "does not exist",
		"SELECT * EXCEPT (a) FROM (SELECT 1 AS a)":                                    "no columns left",
		"SELECT other.id FROM d.h AS h":                                               "Unrecognized name: other.id",
		"SELECT DATE '2020-02-30'":                                                    "Invalid DATE literal",
		"SELECT 9223372036854775808":                                                  "Invalid INT64 literal",
		"SELECT " + strings.Repeat("(", 1000) + "1":                                   "Expected less nesting",
		"SELECT a FROM d.t WHERE " + strings.Repeat("NOT ", 1000) + "TRUE":            "Expected less nesting",
		"SELECT * FROM " + strings.Repeat("(SELECT * FROM ", 1000) + "d.t":            "Expected less nesting",
		`SELECT "\xZZ"`:   "Illegal escape sequence",
		`SELECT "\uD800"`: "Illegal escape sequence",
	} {
		refusedSQL(t, s, svc, sql, 400, "invalidQuery", text)
	}
}

// Three-valued logic and the comparisons that are special.
func TestSelectLogic(t *testing.T) {
	svc := rawREST(t, startServer(t, Config{}))
	for condition, want := range map[string]string{
		"NULL = 1": "<nil>", "NULL IS NULL": "true", "1 IS NOT NULL": "true", "NOT (NULL = 1)": "<nil>",
		"TRUE OR NULL = 1": "true", "FALSE OR NULL = 1": "<nil>", "TRUE AND NULL = 1": "<nil>", "FALSE AND NULL = 1": "false",
		"1 = 1.0": "true", "NUMERIC '1.50' = 1.5": "true", "BIGNUMERIC '1' > 0": "true", "2 < 10": "true", "'2' < '10'": "false",
		"1 IN (2, NULL)": "<nil>", "1 IN (1, NULL)": "true", "1 NOT IN (2, 3)": "true", "'b' LIKE NULL": "Error",
		"DATE '2020-01-02' > '2020-01-01'": "true", "TIMESTAMP '2020-01-01 00:00:00+01' < TIMESTAMP '2020-01-01'": "true",
		"TIME '10:00:00' = '10:00:00.000'": "true", "b'ab' < B'b'": "true", "b'a' = b'\\x61'": "true", "b'\\xff\\x00' > b'\\xfe'": "true", "-1 < 0": "true", "1e400 > 1": "true",
		"'\\x41\\u00e9\\U0001F600' = 'Aé😀'": "true",
	} {
		r, err := svc.Jobs.Query(project, standard("SELECT "+condition)).Do()
		got := "Error"
		if err == nil {
			got = strings.Trim(strings.ReplaceAll(answers(t, svc, "SELECT "+condition), "[", ""), "]")
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%v %v)", condition, got, want, r, err)
		}
	}
}

func TestLikeMatchesQuickly(t *testing.T) {
	p, _ := likePattern(strings.Repeat("%a", 200) + "%b")
	if p.match([]rune(strings.Repeat("a", 20_000))) {
		t.Fatal("matched")
	}
}

func TestParameters(t *testing.T) {
	s, _ := history(t)
	c := restClient(t, s)
	for sql, p := range map[string]bigquery.QueryParameter{
		"id = @p":                {Name: "p", Value: 3},
		"name = @p AND id = 3":   {Name: "p", Value: "a%_"},
		"_cdc_commit_time = @p":  {Name: "p", Value: "1970-01-01 00:00:05"},
		"id = 3 AND amount < @p": {Name: "p", Value: 1.5},
		"id = 3 AND @p":          {Name: "p", Value: true},
		"id = 3 AND (name = @p OR name IS NOT NULL)": {Name: "p", Value: bigquery.NullString{}},
	} {
		q := c.Query("SELECT id FROM d.h WHERE " + sql)
		q.Parameters = []bigquery.QueryParameter{p}
		it, err := q.Read(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var row []bigquery.Value
		if err := it.Next(&row); err != nil || row[0] != int64(3) {
			t.Errorf("%s: %v %v", sql, row, err)
		}
	}
}
