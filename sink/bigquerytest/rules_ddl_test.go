package bigquerytest

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/grpc/codes"
)

func TestRuleRenameAlone(t *testing.T) {
	s, svc := people(t, Config{})
	refusedSQL(t, s, svc, "ALTER TABLE d.users ADD COLUMN x INT64, RENAME COLUMN name TO n", 400, "invalidQuery", "RENAME COLUMN cannot be used with other")
	done(t, s, svc, "ALTER TABLE d.users ADD COLUMN other STRING",
		"ALTER TABLE d.users RENAME COLUMN name TO tmp, RENAME COLUMN other TO name, RENAME COLUMN tmp TO other")
	if got := answers(t, svc, "SELECT id, other FROM d.users WHERE name IS NULL ORDER BY id LIMIT 1"); got != "[1 ann]" {
		t.Fatal(got)
	}
}

func TestRuleDropNotNull(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE TABLE d.t (a INT64 NOT NULL, b INT64)", "ALTER TABLE d.t ALTER COLUMN a DROP NOT NULL", "ALTER TABLE d.t ALTER COLUMN IF EXISTS none DROP NOT NULL")
	got, err := svc.Tables.Get(project, "d", "t").Do()
	if err != nil || fieldNames(got.Schema) != "a INTEGER NULLABLE, b INTEGER NULLABLE" {
		t.Fatal(got, err)
	}
	refusedSQL(t, s, svc, "ALTER TABLE d.t ALTER COLUMN b DROP NOT NULL", 400, "invalidQuery", "does not have a NOT NULL constraint")
}

func TestRuleSetDataType(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE TABLE d.t (id INT64, i INT64, n NUMERIC(10, 6), m NUMERIC, s STRING(5), f FLOAT64, r ARRAY<INT64>, PRIMARY KEY (id) NOT ENFORCED)")
	stream := openStream(t, s)
	d := descriptor(field{name: "id", typ: protoInt64}, field{name: "i", typ: protoInt64}, field{name: "n", typ: protoString}, field{name: "_CHANGE_TYPE", typ: protoString})
	stream.stored(appendRequest("projects/p/datasets/d/tables/t/streams/_default", d, wire(1, int64(9007199254740993), "1.5", "UPSERT")))
	for _, column := range []string{
		"i SET DATA TYPE STRING", "i SET DATA TYPE NUMERIC(10)", "n SET DATA TYPE INT64", "n SET DATA TYPE NUMERIC(10, 7)", "m SET DATA TYPE NUMERIC(38, 9)",
		"m SET DATA TYPE BIGNUMERIC(38, 9)", "s SET DATA TYPE STRING(4)", "f SET DATA TYPE BIGNUMERIC",
	} {
		want := "is assignable to the new type"
		if column == "m SET DATA TYPE NUMERIC(38, 9)" || column == "m SET DATA TYPE BIGNUMERIC(38, 9)" {
			done(t, s, svc, "ALTER TABLE d.t ALTER COLUMN "+column) // NUMERIC is NUMERIC(38, 9)
			continue
		}
		refusedSQL(t, s, svc, "ALTER TABLE d.t ALTER COLUMN "+column, 400, "invalidQuery", want)
	}
	refusedSQL(t, s, svc, "ALTER TABLE d.t ALTER COLUMN i SET DATA TYPE ARRAY<NUMERIC>", 400, "invalidQuery", "Column `i` cannot change mode via SET DATA TYPE.")
	done(t, s, svc, "ALTER TABLE d.t ALTER COLUMN n SET DATA TYPE NUMERIC(12, 8)", "ALTER TABLE d.t ALTER COLUMN n SET DATA TYPE BIGNUMERIC",
		"ALTER TABLE d.t ALTER COLUMN s SET DATA TYPE STRING(7)", "ALTER TABLE d.t ALTER COLUMN s SET DATA TYPE STRING", "ALTER TABLE d.t ALTER COLUMN r SET DATA TYPE ARRAY<NUMERIC>")
	done(t, s, svc, "ALTER TABLE d.t ALTER COLUMN i SET DATA TYPE FLOAT64")
	if got := answers(t, svc, "SELECT i, n FROM d.t WHERE i > 1.5 AND n = 1.5"); got != "[9.007199254740992e+15 1.5]" {
		t.Fatal(got) // FLOAT64 has no 9007199254740993
	}
}

func TestRuleOnePrimaryKey(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE TABLE d.t (a INT64, b INT64)", "ALTER TABLE d.t DROP PRIMARY KEY IF EXISTS", "ALTER TABLE d.t ADD PRIMARY KEY (b, a) NOT ENFORCED")
	got, err := svc.Tables.Get(project, "d", "t").Do()
	if err != nil || strings.Join(got.TableConstraints.PrimaryKey.Columns, ",") != "b,a" {
		t.Fatal(got, err)
	}
	if got := answers(t, svc, "SELECT column_name, ordinal_position FROM d.INFORMATION_SCHEMA.KEY_COLUMN_USAGE WHERE table_name = 't'"); got != "[b 1] [a 2]" {
		t.Fatal(got)
	}
	if got := answers(t, svc, "SELECT constraint_type, enforced FROM d.INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE table_name = 't'"); got != "[PRIMARY KEY NO]" {
		t.Fatal(got)
	}
	refusedSQL(t, s, svc, "ALTER TABLE d.t ADD PRIMARY KEY (a) NOT ENFORCED", 400, "invalidQuery", "already has a primary key")
	done(t, s, svc, "ALTER TABLE d.t DROP PRIMARY KEY")
	refusedSQL(t, s, svc, "ALTER TABLE d.t DROP PRIMARY KEY", 400, "invalidQuery", "does not have a primary key")
	refusedSQL(t, s, svc, "ALTER TABLE d.users DROP PRIMARY KEY", 501, "notImplemented", "primary key of a table with rows")
}

func TestRuleDescription(t *testing.T) {
	s, svc := people(t, Config{})
	long, longer := strings.Repeat("ä", maxColumnDescription+1), strings.Repeat("ä", maxTableDescription+1)
	const column, table = "The description for field x is too long. The maximum length is 1024 characters.", "Descriptions can be at most 16384 characters long."
	refusedSQL(t, s, svc, "CREATE TABLE d.t (x INT64 OPTIONS (description = '"+long+"'))", 400, "invalid", column)
	refusedSQL(t, s, svc, "CREATE TABLE d.t (x INT64) OPTIONS (description = '"+longer+"')", 400, "invalid", table)
	done(t, s, svc, "CREATE TABLE d.t (x INT64 OPTIONS (description = 'it\\'s \\u00e4\\n')) OPTIONS (description = '"+longer[:2*maxTableDescription]+"')")
	refusedSQL(t, s, svc, "ALTER TABLE d.t ALTER COLUMN x SET OPTIONS (description = '"+long+"')", 400, "invalid", column)
	got, err := svc.Tables.Get(project, "d", "t").Do()
	if err != nil || got.Schema.Fields[0].Description != "it's ä\n" {
		t.Fatal(got, err)
	}
	done(t, s, svc, "ALTER TABLE d.t ALTER COLUMN x SET OPTIONS (description = NULL), SET OPTIONS (description = 'short')")
	got, err = svc.Tables.Get(project, "d", "t").Do()
	if err != nil || got.Schema.Fields[0].Description != "" || got.Description != "short" {
		t.Fatal(got, err)
	}
	body := definition("u", nil, "x INT64")
	body.Description = longer
	_, err = svc.Tables.Insert(project, "d", body).Do()
	wantREST(t, err, 400, "invalid", table)
	_, err = svc.Tables.Patch(project, "d", "t", &bq.Table{Description: longer}).Do()
	wantREST(t, err, 400, "invalid", table)
	body.Description, body.Schema.Fields[0].Description = "", long
	_, err = svc.Tables.Insert(project, "d", body).Do()
	wantREST(t, err, 400, "invalid", column)
}

func TestRuleRenameTable(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "CREATE TABLE d.other (a INT64)", "CREATE TABLE d.log (a INT64)")
	openStream(t, s).stored(appendRequest("projects/p/datasets/d/tables/log/streams/_default", descriptor(field{name: "a", typ: protoInt64}), wire(1), wire(2)))
	refusedSQL(t, s, svc, "ALTER TABLE d.log RENAME TO record", 400, "invalidQuery", "data was streamed into it lately")
	s.Advance(renameQuiet - time.Minute)
	refusedSQL(t, s, svc, "ALTER TABLE d.log RENAME TO record", 400, "invalidQuery", "data was streamed into it lately")
	s.Advance(time.Minute)
	refusedSQL(t, s, svc, "ALTER TABLE d.log RENAME TO other", 409, "duplicate", "Already Exists: Table p:d.other")
	refusedSQL(t, s, svc, "ALTER TABLE d.log RENAME TO `a/b`", 400, "invalid", "Invalid table ID")
	done(t, s, svc, "ALTER TABLE d.log RENAME TO record", "ALTER TABLE IF EXISTS d.log RENAME TO record")
	wantREST(t, exec(t, svc, "SELECT * FROM d.log"), 404, "notFound", "Table p:d.log")
	if got := answers(t, svc, "SELECT a FROM d.record ORDER BY a"); got != "[1] [2]" {
		t.Fatal(got)
	}
}

func TestRuleKeyFixed(t *testing.T) {
	s, svc := people(t, Config{})
	s.Advance(renameQuiet)
	refusedSQL(t, s, svc, "ALTER TABLE d.users RENAME TO people", 400, "invalidQuery", "has a primary key: it can't be renamed")
	refusedSQL(t, s, svc, "ALTER TABLE d.users ALTER COLUMN id SET DATA TYPE NUMERIC", 400, "invalidQuery", "Column `id` is of the primary key")
	done(t, s, svc, "CREATE TABLE d.plain (id INT64)", "ALTER TABLE d.plain ALTER COLUMN id SET DATA TYPE NUMERIC", "ALTER TABLE d.plain RENAME TO other")
}

func TestRuleDML(t *testing.T) {
	s, svc := people(t, Config{})
	for _, sql := range []string{
		"DELETE FROM d.users WHERE id = 1", "DELETE d.users WHERE true", "UPDATE d.users SET name = 'x' WHERE true",
		"MERGE INTO d.users USING d.other ON FALSE WHEN NOT MATCHED THEN INSERT ROW", "TRUNCATE TABLE d.users",
	} {
		refusedSQL(t, s, svc, sql, 400, "invalid", "DELETE/UPDATE/MERGE DMLs are currently not supported over tables that had UPSERT streams.")
	}
	refusedSQL(t, s, svc, "DELETE FROM d.none WHERE true", 404, "notFound", "Table p:d.none")
	done(t, s, svc, "CREATE TABLE d.log (a INT64)")
	stream := openStream(t, s)
	stream.stored(appendRequest("projects/p/datasets/d/tables/log/streams/_default", descriptor(field{name: "a", typ: protoInt64}), wire(1), wire(2)))
	refusedSQL(t, s, svc, "DELETE FROM d.log WHERE true", 501, "notImplemented", "DELETE isn't built")
	refusedSQL(t, s, svc, "INSERT d.users (id) VALUES (1)", 501, "notImplemented", "INSERT isn't built")
	done(t, s, svc, "TRUNCATE TABLE d.log")
	if got := answers(t, svc, "SELECT COUNT(*) FROM d.log"); got != "[0]" {
		t.Fatal(got)
	}
}

func TestRuleDropTable(t *testing.T) {
	s, svc := people(t, Config{})
	done(t, s, svc, "DROP TABLE IF EXISTS d.none", "DROP VIEW IF EXISTS d.none", "CREATE VIEW d.v AS SELECT * FROM d.users", "DROP TABLE d.users")
	refusedSQL(t, s, svc, "DROP TABLE d.users", 404, "notFound", "Not found: Table p:d.users")
	refusedSQL(t, s, svc, "DROP VIEW d.users", 404, "notFound", "Not found: Table p:d.users")
	wantREST(t, exec(t, svc, "SELECT * FROM d.v"), 404, "notFound", "Not found: Table p:d.users")
	done(t, s, svc, "DROP VIEW d.v")
	refusedSQL(t, s, svc, "SELECT * FROM d.v", 404, "notFound", "Not found: Table p:d.v")
}

func TestRuleRecreatedName(t *testing.T) {
	s, svc := people(t, Config{RecreateDelay: time.Minute})
	stream := openStream(t, s)
	stream.stored(up(usersDescriptor))
	done(t, s, svc, "DROP TABLE d.users", "CREATE TABLE d.users (id INT64, name STRING, PRIMARY KEY (id) NOT ENFORCED)")
	row := up(usersDescriptor, wire(1, "x", "UPSERT", "1"))
	wantAppend(t, openStream(t, s).ask(row), codes.NotFound, "", storagepb.StorageError_TABLE_NOT_FOUND)
	s.Advance(time.Minute)
	openStream(t, s).stored(row)
	done(t, s, svc, "DROP TABLE d.users")
	s.Advance(droppedMemory)
	done(t, s, svc, "CREATE TABLE d.users (id INT64, name STRING, PRIMARY KEY (id) NOT ENFORCED)")
	openStream(t, s).stored(row)
}
