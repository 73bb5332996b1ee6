package conformance

import (
	"fmt"
	"strings"

	"cloud.google.com/go/bigquery"
	bqstorage "cloud.google.com/go/bigquery/storage/apiv1"
	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
)

// active makes employees a table with active change data capture, two rows,
// that merges at run time.
func (e *env) active() error {
	w, err := e.employeesWriter()
	if err != nil {
		return err
	}
	return w.append(upsert(1, "a", ""), upsert(2, "b", ""))
}

// refusedSQL checks that a statement is refused for a table with active change
// data capture, and not for how it is written.
func refusedSQL(statement string) func(*env) error {
	return func(e *env) error {
		if err := e.active(); err != nil {
			return err
		}
		_, err := e.sql(e.named(statement))
		if err != nil && strings.Contains(err.Error(), "Syntax error") {
			return fmt.Errorf("not built: %w", err)
		}
		return refused(err)
	}
}

func (e *env) copies(kind string) error {
	if err := e.active(); err != nil {
		return err
	}
	c := e.query.Dataset(e.dataset).Table("copied").CopierFrom(e.query.Dataset(e.dataset).Table("employees"))
	c.OperationType = bigquery.TableCopyOperationType(kind)
	job, err := c.Run(e.ctx)
	if err != nil {
		return refused(err)
	}
	done, err := job.Wait(e.ctx)
	if err == nil {
		err = done.Err()
	}
	return refused(err)
}

const (
	noDML  = "The stand-in has no DML, so that it can't refuse it for this reason."
	noCopy = "The stand-in has no copy jobs, so that it can't refuse one for this reason."
)

var limitCases = []Case{
	{ID: "cdc/no-key-enforcement", Section: "limitations", Says: "Keys aren't enforced: inserts of one key are two rows.", StandIn: "Rows without a change type in a table with a primary key aren't built: which of them a later UPSERT replaces isn't documented.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		if _, err := e.store("employees", rowsOf("int64 id", "string name"), `{"id":1,"name":"a"}`, `{"id":1,"name":"b"}`); err != nil {
			return err
		}
		return e.wantRows("SELECT id, name FROM employees ORDER BY name", "1 a", "1 b")
	}},
	{ID: "cdc/key-of-17", Section: "limitations", Says: "A primary key can't exceed 16 columns.", Run: func(e *env) error {
		names, columns, _, _ := keyColumns(17)
		return refused(e.ddl("CREATE TABLE wide (" + columns + ", PRIMARY KEY (" + names + ") NOT ENFORCED)"))
	}},
	{ID: "cdc/columns", Section: "limitations", Says: "A table with active change data capture has at most 2,000 columns.", Run: func(e *env) error {
		for _, n := range []int{2000, 2001} {
			table := fmt.Sprintf("columns%d", n)
			body := &bq.Table{
				TableReference: &bq.TableReference{ProjectId: e.project, DatasetId: e.dataset, TableId: table}, Schema: &bq.TableSchema{},
				TableConstraints: &bq.TableConstraints{PrimaryKey: &bq.TableConstraintsPrimaryKey{Columns: []string{"c0"}}},
			}
			for i := range n {
				body.Schema.Fields = append(body.Schema.Fields, &bq.TableFieldSchema{Name: fmt.Sprintf("c%d", i), Type: "INTEGER"})
			}
			if _, err := e.calls.Tables.Insert(e.project, e.dataset, body).Context(e.ctx).Do(); err != nil {
				return err
			}
			w, err := e.writer(table, rowsOf("int64 c0", "string _CHANGE_TYPE"))
			if err != nil {
				return err
			}
			row := `{"c0":1,"_CHANGE_TYPE":"UPSERT"}`
			if n == 2000 {
				err = w.append(row)
			} else {
				err = w.refuses(codes.InvalidArgument, nil, row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{ID: "cdc/no-delete", Section: "limitations", Says: "DELETE isn't supported.", Run: refusedSQL("DELETE FROM employees WHERE id = 1")},
	{ID: "cdc/no-update", Section: "limitations", Says: "UPDATE isn't supported.", Run: refusedSQL("UPDATE employees SET name = 'x' WHERE id = 1")},
	{ID: "cdc/no-merge", Section: "limitations", Says: "MERGE isn't supported.", Run: refusedSQL("MERGE employees t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")},
	{ID: "cdc/no-wildcard", Section: "limitations", Says: "Wildcard tables can't be queried.", StandIn: "The stand-in takes the wildcard for a table's name and doesn't find it.", Run: func(e *env) error {
		if err := e.active(); err != nil {
			return err
		}
		_, err := e.sql(e.named("SELECT id FROM `DATASET_NAME.employ*`"))
		if err != nil && strings.Contains(err.Error(), "Not found") {
			return fmt.Errorf("not built: %w", err)
		}
		return refused(err)
	}},
	{ID: "cdc/no-search-index", Section: "limitations", Says: "Search indexes aren't supported.", StandIn: "The stand-in has no search indexes.", Run: refusedSQL("CREATE SEARCH INDEX i ON employees(ALL COLUMNS)")},
	{ID: "cdc/no-copy", Section: "limitations", Says: "A table that merges at run time can't be copied.", StandIn: noCopy, Run: func(e *env) error { return e.copies("COPY") }},
	{ID: "cdc/no-clone", Section: "limitations", Says: "It can't be cloned.", StandIn: noCopy, Run: func(e *env) error { return e.copies("CLONE") }},
	{ID: "cdc/no-snapshot", Section: "limitations", Says: "No snapshot of it can be made.", StandIn: noCopy, Run: func(e *env) error { return e.copies("SNAPSHOT") }},
	{ID: "cdc/no-read-api", Section: "limitations", Says: "The Storage Read API can't read it.", StandIn: "The Storage Read API isn't built.", Run: func(e *env) error {
		if err := e.active(); err != nil {
			return err
		}
		client, err := bqstorage.NewBigQueryReadClient(e.ctx, e.storage...)
		if err != nil {
			return err
		}
		e.closing = append(e.closing, func() { _ = client.Close() })
		_, err = client.CreateReadSession(e.ctx, &storagepb.CreateReadSessionRequest{
			Parent:      "projects/" + e.project,
			ReadSession: &storagepb.ReadSession{Table: e.path("employees"), DataFormat: storagepb.DataFormat_AVRO},
		})
		return refused(err)
	}},
	{ID: "cdc/no-partition-filter", Section: "limitations", Says: "requirePartitionFilter isn't supported.", StandIn: "Partitioned tables aren't built.", Run: func(e *env) error {
		body := &bq.Table{
			TableReference: &bq.TableReference{ProjectId: e.project, DatasetId: e.dataset, TableId: "parts"}, RequirePartitionFilter: true,
			TimePartitioning: &bq.TimePartitioning{Type: "DAY", Field: "day"},
			Schema:           &bq.TableSchema{Fields: []*bq.TableFieldSchema{{Name: "id", Type: "INTEGER"}, {Name: "day", Type: "DATE"}}},
			TableConstraints: &bq.TableConstraints{PrimaryKey: &bq.TableConstraintsPrimaryKey{Columns: []string{"id"}}},
		}
		if _, err := e.calls.Tables.Insert(e.project, e.dataset, body).Context(e.ctx).Do(); err != nil {
			return refused(err)
		}
		if _, err := e.store("parts", rowsOf("int64 id", "int32 day", "string _CHANGE_TYPE"), `{"id":1,"day":19000,"_CHANGE_TYPE":"UPSERT"}`); err != nil {
			return refused(err)
		}
		_, err := e.sql("SELECT id FROM parts WHERE day = DATE '2022-01-08'")
		return refused(err)
	}},
	{ID: "cdc/pseudo-change-type", Section: "limitations", Says: "_CHANGE_TYPE can't be queried.", Run: refusedSQL("SELECT _CHANGE_TYPE FROM employees")},
	{ID: "cdc/pseudo-sequence", Section: "limitations", Says: "_CHANGE_SEQUENCE_NUMBER can't be queried.", Run: refusedSQL("SELECT _CHANGE_SEQUENCE_NUMBER FROM employees")},
	{ID: "cdc/pseudo-not-in-star", Section: "limitations", Says: "SELECT * doesn't show them.", Run: func(e *env) error {
		if err := e.active(); err != nil {
			return err
		}
		return e.wantRows("SELECT * FROM employees ORDER BY id", "1 a NULL", "2 b NULL")
	}},
	{ID: "cdc/mixed-insert", Section: "limitations", Says: "On a connection with UPSERTs an INSERT is refused: The given value is not a valid CHANGE_TYPE.", Run: mixed(`{"id":3,"_CHANGE_TYPE":"INSERT"}`)},
	{ID: "cdc/mixed-unspecified", Section: "limitations", Says: "So is a row without a change type.", Run: mixed(`{"id":3}`)},
}

func mixed(row string) func(*env) error {
	return func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		if err := w.append(upsert(1, "a", ""), `{"id":2,"_CHANGE_TYPE":"DELETE"}`); err != nil {
			return err
		}
		if err := w.refuses(codes.InvalidArgument, []string{"The given value is not a valid CHANGE_TYPE"}, row); err != nil {
			return err
		}
		return e.wantRows(byID, "1 a")
	}
}
