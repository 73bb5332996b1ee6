package bigquerytest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// everyTable makes table d.e with a column of every type.
func everyTable(tb testing.TB, s *Server) {
	tb.Helper()
	body := definition("e", []string{"int64", "string", "numeric"})
	for _, k := range slices.Sorted(maps.Keys(accepted)) {
		body.Schema.Fields = append(body.Schema.Fields, &bq.TableFieldSchema{Name: strings.ToLower(string(k)), Type: string(k)},
			&bq.TableFieldSchema{Name: "r_" + strings.ToLower(string(k)), Type: string(k), Mode: "REPEATED"})
	}
	svc := rawREST(tb, s)
	rawDataset(tb, svc)
	insertTable(tb, svc, body)
}

const everyStream = "projects/p/datasets/d/tables/e/streams/_default"

func everyDescriptor() *descriptorpb.DescriptorProto {
	var fields []field
	for _, k := range slices.Sorted(maps.Keys(accepted)) {
		types := accepted[k]
		fields = append(fields, field{name: strings.ToLower(string(k)), typ: types[0]}, field{name: "r_" + strings.ToLower(string(k)), typ: types[len(types)-1], repeated: true})
	}
	return descriptor(append(fields, field{name: "_CHANGE_TYPE", typ: protoString}, field{name: "_CHANGE_SEQUENCE_NUMBER", typ: protoString})...)
}

// FuzzAppend takes any descriptor and any row: nothing panics, and what is
// stored can be read.
func FuzzAppend(f *testing.F) {
	s := startServer(f, Config{NullKeys: true})
	everyTable(f, s)
	d, err := proto.Marshal(everyDescriptor())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(d, wire("x", 1, 2, "UPSERT"), "")
	small, err := proto.Marshal(descriptor(field{name: "int64", typ: protoInt64}, field{name: "string", typ: protoString}, field{name: "numeric", typ: protoString},
		field{name: "_CHANGE_TYPE", typ: protoString}, field{name: "json", typ: protoString}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small, wire(1, "a", "1.50", "UPSERT", `{"a":[1]}`), "1,a,1.5")
	f.Fuzz(func(t *testing.T, descriptorBytes, row []byte, key string) {
		var d descriptorpb.DescriptorProto
		if proto.Unmarshal(descriptorBytes, &d) != nil {
			return
		}
		s.ClearFaults()
		if key != "" {
			s.Inject(Fault{Kind: FaultRefuseRow, Key: key})
		}
		c := s.openConnection()
		defer s.closeConnection(c)
		c.append(appendRequest(everyStream, &d, row))
		c.append(appendRequest("", nil, row, row))
		s.Rows(project, "d", "e")
	})
}

// FuzzRow takes any row of a descriptor with every type, whose read row must
// decode.
func FuzzRow(f *testing.F) {
	s := startServer(f, Config{})
	everyTable(f, s)
	p, e := newRowPlan(everyDescriptor(), s.catalog.table(project, "d", "e").schema())
	if e != nil {
		f.Fatal(e)
	}
	r := newRowReader(p, &Config{NullKeys: true})
	f.Add(wire("x", 1, 2, "UPSERT"))
	f.Fuzz(func(t *testing.T, row []byte) {
		p.keyText(row)
		if _, problem := r.read(row); problem == nil {
			p.decode(row)
		}
	})
}

func FuzzREST(f *testing.F) {
	s := startServer(f, Config{})
	everyTable(f, s)
	h := s.routes()
	f.Add("POST", "/projects/p/datasets", `{"datasetReference":{"datasetId":"x"}}`)
	f.Add("POST", "/projects/p/datasets/d/tables", `{"tableReference":{"tableId":"x"},"schema":{"fields":[{"name":"a","type":"INT64"},null]},"clustering":{"fields":["a"]}}`)
	f.Add("PATCH", "/projects/p/datasets/d/tables/e", `{"schema":{"fields":[null]},"maxStaleness":"0-0 0 0:1:0"}`)
	f.Add("POST", "/projects/p/queries", `{"query":"SELECT * FROM d.e","useLegacySql":false,"queryParameters":[null]}`)
	f.Add("POST", "/bigquery/v2/projects/p/jobs", `{"configuration":{"query":{"query":"SELECT * FROM d.e","useLegacySql":false}}}`)
	f.Add("GET", "/projects/p/datasets/d/tables/e/data?startIndex=5&maxResults=99999999999", "")
	f.Add("POST", "/projects/p/datasets/d/tables", `{"tableReference":{"tableId":"v"},"view":{"query":"SELECT string FROM d.e","useLegacySql":false}}`)
	f.Add("PATCH", "/projects/p/datasets/d/tables/v", `{"view":{"query":"SELECT int64 FROM d.e","useLegacySql":false},"description":null}`)
	f.Add("POST", "/projects/p/queries", `{"query":"SELECT @a","useLegacySql":false,"dryRun":true,"queryParameters":[{"name":"a","parameterType":{"type":"NUMERIC"},"parameterValue":{"value":"1e99"}}]}`)
	f.Add("POST", "/projects/p/datasets/d/tables/e:testIamPermissions", `{"permissions":["x",""]}`)
	f.Add("DELETE", "/projects/p/datasets/d?deleteContents=true", "")
	f.Fuzz(func(t *testing.T, method, target, body string) {
		s.Advance(updateWindow)
		r, err := http.NewRequest(method, "http://x", strings.NewReader(body))
		if err != nil {
			return
		}
		if r.URL, err = r.URL.Parse(target); err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Fatal(w.Body)
		}
	})
}

func FuzzSQL(f *testing.F) {
	s := startServer(f, Config{})
	everyTable(f, s)
	stream := openStream(f, s)
	stream.stored(appendRequest(everyStream, descriptor(
		field{name: "int64", typ: protoInt64}, field{name: "string", typ: protoString}, field{name: "numeric", typ: protoString}, field{name: "json", typ: protoString},
		field{name: "bool", typ: protoBool}, field{name: "timestamp", typ: protoInt64}, field{name: "bytes", typ: protoBytes}, field{name: "date", typ: protoString},
		field{name: "r_string", typ: protoString, repeated: true}, field{name: "_CHANGE_TYPE", typ: protoString}),
		wire(1, "a", "1.5", `{"a":1}`, true, 5, []byte{1, 2}, "2020-01-01", "x", "UPSERT"), wire(1, "b", "-2", nil, false, 6, nil, nil, nil, "UPSERT"), wire(2, "a%", "0", nil, nil, nil, nil, nil, nil, "UPSERT")))
	for _, sql := range []string{
		"SELECT * FROM d.e WHERE int64 = 1 AND string >= 'x' ORDER BY json LIMIT 1 OFFSET 2",
		"SELECT COUNT(*) n, date FROM `p.d.e`; -- x",
		"CREATE TABLE IF NOT EXISTS d.x (a NUMERIC(5,2) NOT NULL PRIMARY KEY NOT ENFORCED, b ARRAY<STRING(5)>) CLUSTER BY a OPTIONS (max_staleness = INTERVAL '0-0 1 2:3:4' YEAR TO SECOND)",
		"ALTER TABLE d.e ADD COLUMN y DATE, DROP COLUMN y, RENAME COLUMN y TO z, ALTER COLUMN z DROP NOT NULL, SET OPTIONS (description = \"\\n\")",
		"SELECT option_value FROM my-project-1.d.INFORMATION_SCHEMA.TABLE_OPTIONS", "SELECT * FROM d.INFORMATION_SCHEMA.COLUMNS WHERE ordinal_position > -1.5e3",
	} {
		f.Add(sql)
	}
	for _, sql := range []string{
		"SELECT DISTINCT e.int64, COUNT(DISTINCT string) AS n, SUM(numeric), MAX(date) FROM d.e AS e WHERE (NOT bool OR float64 IN (1, -2.5e3, NULL)) AND string LIKE 'a%\\\\_' GROUP BY 1 HAVING n > 1 ORDER BY n DESC, 1",
		"SELECT * EXCEPT (json) FROM (SELECT * FROM d.e WHERE timestamp BETWEEN TIMESTAMP '2020-01-01' AND @t) AS x QUALIFY ROW_NUMBER() OVER (PARTITION BY int64, string ORDER BY bytes DESC) = 1 LIMIT 5",
		"CREATE OR REPLACE VIEW d.v (a OPTIONS (description = 'x'), b) OPTIONS (description = '\\u00e4') AS SELECT int64, string FROM d.e", "SELECT a FROM d.v WHERE b > b'\\xff'",
		"CREATE VIEW d.v AS SELECT * FROM d.v", "DROP VIEW IF EXISTS d.v", "DROP TABLE d.x;", "TRUNCATE TABLE d.x", "MERGE INTO d.e USING d.x ON FALSE", "ALTER TABLE d.x RENAME TO y",
		"ALTER TABLE d.x ALTER COLUMN a SET DATA TYPE BIGNUMERIC(40, 20), ALTER COLUMN b SET OPTIONS (description = NULL), ADD PRIMARY KEY (a) NOT ENFORCED, DROP PRIMARY KEY IF EXISTS",
		"ALTER VIEW d.v SET OPTIONS (description = 'y')", "SELECT * FROM `region-eu`.INFORMATION_SCHEMA.JOBS", "SELECT * FROM d.INFORMATION_SCHEMA.KEY_COLUMN_USAGE", "SELECT 1, NULL, DATE '2020-01-01'",
		"SELECT int64 / 2 * 3 - -1 + float64, CEILING(APPROX_QUANTILES(TIMESTAMP_DIFF(timestamp, @t, MILLISECOND)/1000, 100)[OFFSET(95)]*2/60)+7 FROM d.e WHERE DATE(timestamp) BETWEEN DATE_SUB(CURRENT_DATE(), INTERVAL 7 DAY) AND CURRENT_DATE() GROUP BY 1, float64",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s.Advance(updateWindow)
		params := map[string]literal{"t": {text: "2024-01-01", quote: true, kind: kindTimestamp}}
		_, _ = s.run(sql, queryContext{project: project, dataset: "d", params: params, dryRun: true})
		out, e := s.run(sql, queryContext{project: project, dataset: "d", params: params})
		switch {
		case e == nil && out == nil:
			t.Fatal("neither an answer nor a refusal")
		case e == nil:
			out.page(0, 10, true)
		}
	})
}

func FuzzSequence(f *testing.F) {
	f.Add("FFFFFFFFFFFFFFFF/0/1/a")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSequence([]byte(text))
		if err != nil {
			return
		}
		if again, err := parseSequence([]byte(s.String())); err != nil || again != s {
			t.Fatalf("%q became %q", text, s)
		}
	})
}

func FuzzDecimal(f *testing.F) {
	f.Add("-1234567890123456789012345678.9876543210e-3")
	c := &column{kind: kindBigNumeric}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := c.unscaled([]byte(text))
		if simpleDecimal([]byte(text), c.intDigits()) && err != nil {
			t.Fatalf("%q is simple, and refused: %v", text, err)
		}
		if err != nil {
			return
		}
		again, err := c.unscaled([]byte(decimalText(n, bigNumericScale)))
		if err != nil || again.Cmp(n) != 0 {
			t.Fatalf("%q: %v became %v, %v", text, n, again, err)
		}
	})
}

func FuzzCivil(f *testing.F) {
	f.Add("2024-02-29T23:59:59.999999")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseDatetime([]byte(text)); err == nil {
			if again, err := parseDatetime([]byte(datetimeText(n))); err != nil || again != n {
				t.Fatalf("%q: %d became %d, %v", text, n, again, err)
			}
		}
		if n, err := parseTime([]byte(text)); err == nil {
			if again, err := parseTime([]byte(timeText(n))); err != nil || again != n {
				t.Fatalf("%q: %d became %d, %v", text, n, again, err)
			}
		}
		if n, err := parseDate([]byte(text)); err == nil {
			if again, err := parseDate([]byte(dateText(n))); err != nil || again != n {
				t.Fatalf("%q: %d became %d, %v", text, n, again, err)
			}
		}
	})
}
