package bigquerytest

import (
	"fmt"
	"strconv"

	bq "google.golang.org/api/bigquery/v2"
)

type resultPage struct {
	schema *bq.TableSchema
	rows   []*bq.TableRow
	total  uint64
	next   string
}

// page cuts a result and writes its rows in the REST API's form.
func (r *result) page(from, most int, int64Times bool) resultPage {
	p := resultPage{total: uint64(len(r.rows))}
	if r.ddl == "" {
		p.schema = &bq.TableSchema{}
	}
	for _, c := range r.columns {
		p.schema.Fields = append(p.schema.Fields, c.field)
	}
	from = min(from, len(r.rows))
	to := min(from+most, len(r.rows))
	for _, row := range r.rows[from:to] {
		p.rows = append(p.rows, restRow(r.columns, row, int64Times))
	}
	if to < len(r.rows) && most > 0 {
		p.next = strconv.Itoa(to)
	}
	return p
}

func restRow(columns []*column, row []any, int64Times bool) *bq.TableRow {
	out := &bq.TableRow{}
	for i, c := range columns {
		var v any
		switch x := row[i].(type) {
		case string:
			v = c.restText(x, int64Times)
		case []any:
			list := make([]any, len(x))
			for n, item := range x {
				text, _ := item.(string)
				list[n] = map[string]any{"v": c.restText(text, int64Times)}
			}
			v = list
		}
		out.F = append(out.F, &bq.TableCell{V: v, ForceSendFields: []string{"V"}, NullFields: nullField(v)})
	}
	return out
}

func nullField(v any) []string {
	if v == nil {
		return []string{"V"}
	}
	return nil
}

// restText turns a canonical text into what the REST API sends.
func (c *column) restText(text string, int64Times bool) string {
	if c.kind != kindTimestamp {
		return text
	}
	micros, ok := parseTimestamp(text)
	if !ok {
		return text
	}
	if int64Times {
		return strconv.FormatInt(micros, 10)
	}
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	return fmt.Sprintf("%s%d.%06d", sign, micros/1e6, micros%1e6)
}

// listData is tabledata.list. It shows the baseline: what the service's
// preview shows of a table with change data capture.
func (c *call) listData() (any, *restError) {
	t, e := c.server.catalog.find(c.project, c.dataset, c.table)
	if e != nil {
		return nil, e
	}
	if t.view != nil {
		return nil, restInvalid(ruleViewData, "Cannot list a table of type VIEW.")
	}
	columns, stored := t.read(c.server.clock.now(), true)
	total := int64(len(stored))
	cut, next, e := page(c, stored)
	if e != nil {
		return nil, e
	}
	if len(cut) > maxPageRows {
		first := len(stored) - len(cut)
		if next != "" {
			n, _ := strconv.Atoi(next)
			first = n - len(cut)
		}
		cut, next = cut[:maxPageRows], strconv.Itoa(first+maxPageRows)
	}
	int64Times := c.request.URL.Query().Get("formatOptions.useInt64Timestamp") == "true"
	out := &bq.TableDataList{Kind: "bigquery#tableDataList", TotalRows: total, PageToken: next, ForceSendFields: []string{"TotalRows"}}
	for _, r := range cut {
		values, row := r.plan.decode(r.row), make([]any, len(columns))
		for i, col := range columns {
			row[i] = col.shown(values)
		}
		out.Rows = append(out.Rows, restRow(columns, row, int64Times))
	}
	return out, nil
}
