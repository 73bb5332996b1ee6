package conformance

import (
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
)

// employees is the writer schema of the page's examples.
var employees = rowsOf("int64 id", "string name", "int64 salary", "string _CHANGE_TYPE", "string _CHANGE_SEQUENCE_NUMBER")

// makeEmployees makes the table of the page's first example.
func (e *env) makeEmployees() error {
	return e.ddl("CREATE TABLE employees (id INT64 PRIMARY KEY NOT ENFORCED, name STRING, salary INT64)")
}

func upsert(id int, name, sequence string) string {
	text := fmt.Sprintf(`{"id":%d,"name":%q,"_CHANGE_TYPE":"UPSERT"`, id, name)
	if sequence != "" {
		text += fmt.Sprintf(`,"_CHANGE_SEQUENCE_NUMBER":%q`, sequence)
	}
	return text + "}"
}

// employeesWriter makes the table and opens a stream to it.
func (e *env) employeesWriter() (*writer, error) {
	if err := e.makeEmployees(); err != nil {
		return nil, err
	}
	return e.store("employees", employees)
}

var cdcCases = []Case{
	{ID: "cdc/permission", Section: "required_permissions", Says: "The Storage Write API needs bigquery.tables.updateData.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		resource := fmt.Sprintf("projects/%s/datasets/%s/tables/employees", e.project, e.dataset)
		r, err := e.calls.Tables.TestIamPermissions(resource, &bq.TestIamPermissionsRequest{Permissions: []string{"bigquery.tables.updateData"}}).Context(e.ctx).Do()
		if err != nil {
			return err
		}
		if len(r.Permissions) != 1 {
			return fmt.Errorf("permissions %v", r.Permissions)
		}
		_, err = e.store("employees", employees, upsert(1, "a", ""))
		return err
	}},
	{ID: "cdc/default-stream-only", Section: "prerequisites", Says: "Changes go through the default stream only.", StandIn: "Streams of an application aren't built, so that nothing can be sent to one.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		m, err := e.write.NewManagedStream(e.ctx, managedwriter.WithDestinationTable(e.path("employees")), managedwriter.WithType(managedwriter.CommittedStream), managedwriter.WithSchemaDescriptor(employees.proto))
		if err != nil {
			return refused(err)
		}
		e.closing = append(e.closing, func() { _ = m.Close() })
		_, err = (&writer{m, e, employees}).answer([]string{upsert(1, "a", "")})
		return refused(err)
	}},
	{ID: "cdc/no-arrow", Section: "prerequisites", Says: "Arrow isn't supported for changes.", StandIn: "Arrow isn't built at all.", Run: func(e *env) error {
		if _, err := e.employeesWriter(); err != nil {
			return err
		}
		stream, err := e.raw.AppendRows(e.ctx)
		if err != nil {
			return err
		}
		row, err := employees.row(upsert(1, "a", ""))
		if err != nil {
			return err
		}
		first := protoRequest(e.path("employees")+"/streams/_default", employees, row)
		second := &storagepb.AppendRowsRequest{Rows: &storagepb.AppendRowsRequest_ArrowRows{ArrowRows: &storagepb.AppendRowsRequest_ArrowData{}}}
		for _, req := range []*storagepb.AppendRowsRequest{first, second} {
			if err := stream.Send(req); err != nil {
				return err
			}
		}
		if r, err := stream.Recv(); err != nil || r.GetError() != nil {
			return fmt.Errorf("the first request: %w %v", err, r.GetError())
		}
		r, err := stream.Recv()
		if err == nil && r.GetError() != nil {
			err = errors.New(r.GetError().GetMessage())
		}
		return refused(err)
	}},
	{ID: "cdc/primary-key", Section: "prerequisites", Says: "The table declares a primary key.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE employees (id INT64, name STRING, salary INT64)"); err != nil {
			return err
		}
		// Wait for the table to be seen, with rows that need no key.
		if _, err := e.store("employees", rowsOf("int64 id"), `{"id":1}`); err != nil {
			return err
		}
		w, err := e.writer("employees", employees)
		if err != nil {
			return err
		}
		return w.refuses(codes.InvalidArgument, []string{"primary key"}, upsert(1, "a", ""))
	}},
	{ID: "cdc/composite-key", Section: "prerequisites", Says: "A primary key may have up to 16 columns.", Run: func(e *env) error {
		names, columns, fields, values := keyColumns(16)
		if err := e.ddl("CREATE TABLE wide (" + columns + ", v STRING, PRIMARY KEY (" + names + ") NOT ENFORCED)"); err != nil {
			return err
		}
		d := rowsOf(append(fields, "string v", "string _CHANGE_TYPE")...)
		row := func(v string) string { return "{" + values + `,"v":"` + v + `","_CHANGE_TYPE":"UPSERT"}` }
		w, err := e.store("wide", d, row("old"))
		if err != nil {
			return err
		}
		if err := w.append(row("new")); err != nil {
			return err
		}
		return e.wantRows("SELECT k0, k15, v FROM wide", "0 15 new")
	}},
	{ID: "cdc/change-types", Section: "specify_changes_to_existing_records", Says: "_CHANGE_TYPE accepts UPSERT and DELETE only.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for _, bad := range []string{"UPDATE", "MERGE", "REPLACE"} {
			if err := w.refuses(codes.InvalidArgument, []string{"CHANGE_TYPE"}, strings.Replace(upsert(1, "a", ""), "UPSERT", bad, 1)); err != nil {
				return err
			}
		}
		return w.append(upsert(1, "a", ""), `{"id":1,"_CHANGE_TYPE":"DELETE"}`)
	}},
	{ID: "cdc/upsert-delete-example", Section: "example_with_upsert_and_delete_values", Says: "A DELETE, an UPSERT of a row and one of a new row change the table of three.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		return firstError(
			func() error {
				return w.append(`{"id":100,"name":"Charlie","salary":2000,"_CHANGE_TYPE":"UPSERT"}`, `{"id":101,"name":"Tal","salary":3000,"_CHANGE_TYPE":"UPSERT"}`, `{"id":102,"name":"Lee","salary":5000,"_CHANGE_TYPE":"UPSERT"}`)
			},
			func() error {
				return e.wantRows("SELECT id, name, salary FROM employees ORDER BY id", "100 Charlie 2000", "101 Tal 3000", "102 Lee 5000")
			},
			func() error {
				return w.append(`{"id":100,"_CHANGE_TYPE":"DELETE"}`, `{"id":101,"name":"Tal","salary":8000,"_CHANGE_TYPE":"UPSERT"}`, `{"id":105,"name":"Izumi","salary":6000,"_CHANGE_TYPE":"UPSERT"}`)
			},
			func() error {
				return e.wantRows("SELECT id, name, salary FROM employees ORDER BY id", "101 Tal 8000", "102 Lee 5000", "105 Izumi 6000")
			},
		)
	}},
}

// keyColumns are n integer columns: their names, their DDL, their fields and
// the JSON of their values.
func keyColumns(n int) (names, columns string, fields []string, values string) {
	var ns, cs, vs []string
	for i := range n {
		ns = append(ns, fmt.Sprintf("k%d", i))
		cs = append(cs, fmt.Sprintf("k%d INT64", i))
		vs = append(vs, fmt.Sprintf(`"k%d":%d`, i, i))
		fields = append(fields, fmt.Sprintf("int64 k%d", i))
	}
	return strings.Join(ns, ", "), strings.Join(cs, ", "), fields, strings.Join(vs, ",")
}

func protoRequest(stream string, d *rowSchema, rows ...[]byte) *storagepb.AppendRowsRequest {
	data := &storagepb.AppendRowsRequest_ProtoData{Rows: &storagepb.ProtoRows{SerializedRows: rows}}
	if d != nil {
		data.WriterSchema = &storagepb.ProtoSchema{ProtoDescriptor: d.proto}
	}
	return &storagepb.AppendRowsRequest{WriteStream: stream, Rows: &storagepb.AppendRowsRequest_ProtoRows{ProtoRows: data}}
}
