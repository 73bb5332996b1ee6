package conformance

import (
	"fmt"
	"strings"

	"cloud.google.com/go/bigquery"
	"google.golang.org/grpc/codes"
)

// creates makes the table t with one more column of each name.
func (e *env) creates(names ...string) error {
	schema := bigquery.Schema{{Name: "id", Type: bigquery.IntegerFieldType}}
	for _, n := range names {
		schema = append(schema, &bigquery.FieldSchema{Name: n, Type: bigquery.StringFieldType})
	}
	return e.query.Dataset(e.dataset).Table("t").Create(e.ctx, &bigquery.TableMetadata{Schema: schema})
}

// refusesNames checks that a table with a column of each name is refused.
func refusesNames(names ...string) func(*env) error {
	return func(e *env) error {
		for _, n := range names {
			if err := refused(e.creates(n)); err != nil {
				return fmt.Errorf("column %q: %w", n, err)
			}
		}
		return nil
	}
}

func makesKey(column string) func(*env) error {
	return func(e *env) error {
		return e.ddl("CREATE TABLE t (" + column + ", PRIMARY KEY (id) NOT ENFORCED)")
	}
}

var schemaCases = []Case{
	{ID: "schemas/prefixes", Section: "column_names", Says: "Nine prefixes are reserved.", Run: refusesNames("_TABLE_x", "_FILE_x", "_PARTITIONx", "_ROW_TIMESTAMP", "__ROOT__x", "_COLIDENTIFIER", "_CHANGE_SEQUENCE_NUMBER", "_CHANGE_TYPE", "_change_type", "_CHANGE_TIMESTAMP")},
	{ID: "schemas/duplicates", Section: "column_names", Says: "Column1 and column1 are the same name.", Run: func(e *env) error { return refused(e.creates("Column1", "column1")) }},
	{ID: "schemas/length", Section: "column_names", Says: "A name has at most 300 characters.", Run: func(e *env) error {
		if err := refused(e.creates(strings.Repeat("a", 301))); err != nil {
			return err
		}
		return e.creates(strings.Repeat("a", 300))
	}},
	{ID: "schemas/flexible", Section: "flexible-column-names", Says: "Flexible names have letters, numbers, marks, connectors, dashes and some signs.", Run: func(e *env) error {
		return e.creates("name-列", "Zoë & co", "50%", "a=b", "a+b", "a:b", "it's", "<x>", "#1", "a|b", "1st", "é")
	}},
	{ID: "schemas/not-flexible", Section: "flexible-column-names", Says: "Twenty signs aren't supported.", Run: func(e *env) error {
		for _, sign := range "!\"$()*,./;?@[\\]^`{}~" {
			if err := refusesNames("a" + string(sign))(e); err != nil {
				return err
			}
		}
		return nil
	}},
	{ID: "schemas/column-name-example", Section: "flexible-column-names", Says: "The writer schema gives a flexible name as column_name, which wins over the field's name.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE t (`name-列` STRING, `description-列` STRING)"); err != nil {
			return err
		}
		d := rowsOf("string item_name_column=name-列", "string item_description_column=description-列")
		if _, err := e.store("t", d, `{"item_name_column":"a","item_description_column":"b"}`); err != nil {
			return err
		}
		return e.wantRows("SELECT `name-列`, `description-列` FROM t", "a b")
	}},
	{ID: "schemas/nullable", Section: "modes", Says: "Without a mode a column is NULLABLE.", Run: func(e *env) error {
		if err := e.creates("v"); err != nil {
			return err
		}
		if _, err := e.store("t", rowsOf("int64 id", "string v"), `{"id":1}`); err != nil {
			return err
		}
		return e.wantRows("SELECT id, v FROM t", "1 NULL")
	}},
	{ID: "schemas/required", Section: "modes", Says: "A REQUIRED column takes no NULL.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE t (id INT64, v STRING NOT NULL)"); err != nil {
			return err
		}
		w, err := e.store("t", rowsOf("int64 id", "string v"), `{"id":1,"v":""}`)
		if err != nil {
			return err
		}
		return w.refuses(codes.InvalidArgument, nil, `{"id":2}`)
	}},
	{ID: "schemas/repeated", Section: "modes", Says: "A REPEATED column holds an array.", Run: func(e *env) error {
		if err := e.ddl("CREATE TABLE t (id INT64, v ARRAY<INT64>)"); err != nil {
			return err
		}
		if _, err := e.store("t", rowsOf("int64 id", "repeated int64 v"), `{"id":1,"v":[1,2,2]}`, `{"id":2}`); err != nil {
			return err
		}
		return e.wantRows("SELECT id, v FROM t ORDER BY id", "1 [1,2,2]", "2 []")
	}},
	{ID: "schemas/rounding-mode", Section: "rounding_mode", Says: "The table of four numbers, rounded half to even and half away from zero.", Run: func(e *env) error {
		err := e.query.Dataset(e.dataset).Table("mytable").Create(e.ctx, &bigquery.TableMetadata{Schema: bigquery.Schema{
			{Name: "n", Type: bigquery.IntegerFieldType},
			{Name: "x", Type: bigquery.NumericFieldType, Precision: 5, Scale: 2, RoundingMode: bigquery.RoundHalfEven},
			{Name: "y", Type: bigquery.NumericFieldType, Precision: 5, Scale: 2, RoundingMode: bigquery.RoundHalfAwayFromZero},
		}})
		if err != nil {
			return err
		}
		var rows []string
		for i, v := range []string{"1.025", "1.0251", "1.035", "-1.025"} {
			rows = append(rows, fmt.Sprintf(`{"n":%d,"x":%q,"y":%q}`, i, v, v))
		}
		if _, err := e.store("mytable", rowsOf("int64 n", "string x", "string y"), rows...); err != nil {
			return err
		}
		return e.wantRows("SELECT x, y FROM mytable ORDER BY n", "1.02 1.03", "1.03 1.03", "1.04 1.04", "-1.02 -1.03")
	}},
	{ID: "keys/unenforced", Section: "limitations", Says: "Key constraints aren't enforced: NOT ENFORCED is part of the statement.", Run: makesKey("id INT64")},
	{ID: "keys/types", Section: "limitations", Says: "Nine types can be keys.", Run: func(e *env) error {
		var columns, names []string
		for i, typ := range []string{"BIGNUMERIC", "BOOL", "BYTES", "DATE", "DATETIME", "INT64", "NUMERIC", "STRING", "TIMESTAMP"} {
			names = append(names, fmt.Sprintf("k%d", i))
			columns = append(columns, fmt.Sprintf("k%d %s", i, typ))
		}
		return e.ddl("CREATE TABLE t (" + strings.Join(columns, ", ") + ", PRIMARY KEY (" + strings.Join(names, ", ") + ") NOT ENFORCED)")
	}},
	{ID: "keys/other-types", Section: "limitations", Says: "Others can't.", Run: func(e *env) error {
		for _, typ := range []string{"FLOAT64", "TIME", "JSON"} {
			if err := refused(makesKey("id " + typ)(e)); err != nil {
				return fmt.Errorf("%s: %w", typ, err)
			}
		}
		return nil
	}},
	{ID: "keys/rename-column", Section: "limitations", Says: "A key's column can't be renamed.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		return refused(e.ddl("ALTER TABLE employees RENAME COLUMN id TO number"))
	}},
	{ID: "keys/retype-column", Section: "limitations", Says: "A key's column can't change its type.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		return refused(e.ddl("ALTER TABLE employees ALTER COLUMN id SET DATA TYPE NUMERIC"))
	}},
	{ID: "keys/rename-table", Section: "limitations", Says: "A table with a key can't be renamed.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		return refused(e.ddl("ALTER TABLE employees RENAME TO workers"))
	}},
}
