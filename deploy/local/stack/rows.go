package stack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"
	"google.golang.org/api/iterator"
)

// tableRows is a table's rows in a form that both sides are brought to: for
// each canonical key the columns' values as text, so that equal rows are equal.
type tableRows map[string]map[string]string

// null stands for a null; no Postgres text has a zero byte.
const null = "\x00"

// sourceRows SELECTs every row of a table from Postgres. Postgres itself writes
// the values in a common form.
func sourceRows(ctx context.Context, conn *pgx.Conn, table string, key []string) (tableRows, error) {
	columns, err := sourceColumns(ctx, conn, table)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(columns))
	exprs := make([]string, 0, len(columns))
	for _, c := range columns {
		names = append(names, c.name)
		exprs = append(exprs, c.common())
	}
	rows, err := conn.Query(ctx, "SELECT "+strings.Join(exprs, ", ")+" FROM public."+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return nil, fmt.Errorf("select from %s: %w", table, err)
	}
	defer rows.Close()
	out := tableRows{}
	for rows.Next() {
		texts := make([]*string, len(names))
		dest := make([]any, len(names))
		for i := range texts {
			dest[i] = &texts[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("select from %s: %w", table, err)
		}
		row := map[string]string{}
		for i, name := range names {
			row[name] = null
			if texts[i] != nil {
				if row[name], err = columns[i].canonical(*texts[i]); err != nil {
					return nil, fmt.Errorf("select from %s, column %s: %w", table, name, err)
				}
			}
		}
		out[keyText(row, key)] = row
	}
	return out, rows.Err()
}

type sourceColumn struct{ name, typ string }

func sourceColumns(ctx context.Context, conn *pgx.Conn, table string) ([]sourceColumn, error) {
	rows, err := conn.Query(ctx, `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = ('public.' || quote_ident($1))::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, table)
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (c sourceColumn, err error) {
		return c, r.Scan(&c.name, &c.typ)
	})
}

// common returns the SQL expression that writes a column as text in the form
// that BigQuery's client also gives.
func (c sourceColumn) common() string {
	name := pgx.Identifier{c.name}.Sanitize()
	switch {
	case strings.HasSuffix(c.typ, "[]"):
		return "to_json(" + name + ")::text"
	case c.typ == "bytea":
		return "translate(encode(" + name + ", 'base64'), E'\\n', '')"
	case c.typ == "timestamp with time zone":
		return "to_char(" + name + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`
	case c.typ == "timestamp without time zone":
		return "to_char(" + name + `, 'YYYY-MM-DD"T"HH24:MI:SS.US')`
	case c.typ == "time without time zone":
		return "to_char(" + name + ", 'HH24:MI:SS.US')"
	default:
		return name + "::text"
	}
}

func (c sourceColumn) canonical(text string) (string, error) {
	switch {
	case strings.HasPrefix(c.typ, "numeric"):
		return canonicalNumber(text)
	case c.typ == "json", c.typ == "jsonb", strings.HasSuffix(c.typ, "[]"):
		return canonicalJSON(text)
	case c.typ == "double precision":
		f, err := strconv.ParseFloat(text, 64)
		return strconv.FormatFloat(f, 'g', -1, 64), err
	default:
		return text, nil
	}
}

func canonicalNumber(text string) (string, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return "", errors.New("not a number")
	}
	return r.RatString(), nil
}

func canonicalJSON(text string) (string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func keyText(row map[string]string, key []string) string {
	parts := make([]string, 0, len(key))
	for _, k := range key {
		parts = append(parts, strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(row[k]))
	}
	return strings.Join(parts, ",")
}

// destinationRows queries every row of a table from BigQuery. Columns that the
// sink adds are left out. A table that doesn't exist has no rows.
func destinationRows(ctx context.Context, client *bigquery.Client, table string, key []string) (tableRows, error) {
	meta, err := client.Dataset(dataset).Table(table).Metadata(ctx)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", table, err)
	}
	it, err := client.Query("SELECT * FROM `" + project + "." + dataset + "." + table + "`").Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", table, err)
	}
	out := tableRows{}
	for {
		var values []bigquery.Value
		err := it.Next(&values)
		if errors.Is(err, iterator.Done) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", table, err)
		}
		row := map[string]string{}
		for i, f := range meta.Schema {
			if strings.HasPrefix(f.Name, "_cdc_") {
				continue
			}
			if row[f.Name], err = canonicalValue(f, values[i]); err != nil {
				return nil, fmt.Errorf("query %s, column %s: %w", table, f.Name, err)
			}
		}
		out[keyText(row, key)] = row
	}
}

func canonicalValue(f *bigquery.FieldSchema, v bigquery.Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return null, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case *big.Rat:
		return v.RatString(), nil
	case []byte:
		return base64.StdEncoding.EncodeToString(v), nil
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.000000"), nil
	case civil.Date:
		return v.String(), nil
	case civil.DateTime:
		return v.In(time.UTC).Format("2006-01-02T15:04:05.000000"), nil
	case civil.Time:
		return fmt.Sprintf("%02d:%02d:%02d.%06d", v.Hour, v.Minute, v.Second, v.Nanosecond/1000), nil
	case string:
		if f.Type == bigquery.JSONFieldType {
			return canonicalJSON(v)
		}
		return v, nil
	case []bigquery.Value:
		if len(v) == 0 {
			return "[]", nil // the client gives a nil slice
		}
		b, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		return canonicalJSON(string(b))
	default:
		return "", fmt.Errorf("no common form for a %T", v)
	}
}

// difference counts how got differs from want.
type difference struct {
	rows                   int // of want
	lost, extra, different int
	findings               []string // a few, by table, key and column; never a value
}

// compare leaves out the keys that skip names, of rows that were dead-lettered.
func compare(table string, want, got tableRows, skip func(key string) bool) (d difference) {
	d.rows = len(want)
	find := func(format string, args ...any) { d.findings = append(d.findings, fmt.Sprintf(format, args...)) }
	for key, w := range want {
		g, ok := got[key]
		switch {
		case !ok && skip(key):
			d.rows--
		case !ok:
			d.lost++
			find("lost: %s, key %s", table, key)
		default:
			if columns := differing(w, g); len(columns) > 0 {
				d.different++
				find("different: %s, key %s, columns %s", table, key, strings.Join(columns, " "))
			}
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			d.extra++
			find("extra: %s, key %s", table, key)
		}
	}
	slices.Sort(d.findings)
	return d
}

func differing(want, got map[string]string) (columns []string) {
	for name, w := range want {
		if g, ok := got[name]; !ok || g != w {
			columns = append(columns, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			columns = append(columns, name)
		}
	}
	slices.Sort(columns)
	return columns
}
