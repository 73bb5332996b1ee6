package conformance

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The DDL of the page, with a salary for the rows of employees.
const (
	createStale = `CREATE TABLE employees (
  id INT64 PRIMARY KEY NOT ENFORCED,
  name STRING)
  CLUSTER BY
    id
  OPTIONS (
    max_staleness = INTERVAL 10 MINUTE);`
	alterStale = `ALTER TABLE employees
SET OPTIONS (
  max_staleness = INTERVAL 15 MINUTE);`
	readStale = `SELECT
  option_name,
  option_value
FROM
  DATASET_NAME.INFORMATION_SCHEMA.TABLE_OPTIONS
WHERE
  option_name = 'max_staleness'
  AND table_name = 'TABLE_NAME';`
	readWatermark = `SELECT upsert_stream_apply_watermark
FROM DATASET_NAME.INFORMATION_SCHEMA.TABLES
WHERE table_name = 'TABLE_NAME';`
)

const interval = 10 * time.Minute

// named fills the page's placeholders in.
func (e *env) named(sql string) string {
	return strings.NewReplacer("DATASET_NAME", e.dataset, "TABLE_NAME", "employees", "region-REGION", "region-"+strings.ToLower(e.location), "PROJECT_ID", e.project).Replace(sql)
}

// watermark is when changes to employees were last applied; zero before that.
func (e *env) watermark() (time.Time, error) {
	rows, err := e.sql(e.named(readWatermark))
	if err != nil {
		return time.Time{}, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return time.Time{}, fmt.Errorf("the watermark's query answers %v", rows)
	}
	at, _ := rows[0][0].(time.Time)
	return at, nil
}

// applied waits until a background apply has taken in what came before since.
func (e *env) applied(since time.Time) error {
	return e.eventually(e.ctx, 2*interval+7*time.Minute, func() (bool, error) {
		at, err := e.watermark()
		return err == nil && at.After(since), err
	})
}

var narrow = rowsOf("int64 id", "string name", "string _CHANGE_TYPE", "string _CHANGE_SEQUENCE_NUMBER")

// staleEmployees makes the page's table, stores rows and waits for their apply.
func (e *env) staleEmployees(rows ...string) (*writer, error) {
	if err := e.ddl(createStale); err != nil {
		return nil, err
	}
	w, err := e.store("employees", narrow, rows...)
	if err != nil {
		return nil, err
	}
	return w, e.applied(e.now())
}

const byID = "SELECT id, name FROM employees ORDER BY id"

// unmoved runs try between two equal watermarks, and again if an apply ran
// meanwhile: the service may run one at any time.
func (e *env) unmoved(try func() error) error {
	for range 3 {
		before, err := e.watermark()
		if err != nil {
			return err
		}
		result := try()
		after, err := e.watermark()
		if err != nil {
			return err
		}
		if before.Equal(after) {
			return result
		}
	}
	return errors.New("an apply ran in each of three tries")
}

var stalenessCases = []Case{
	{ID: "cdc/fresh-by-default", Section: "manage_table_staleness", Says: "Without max_staleness a query shows everything that came before it.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		for i := range 3 {
			if err := w.append(upsert(i, "a", "")); err != nil {
				return err
			}
			if err := e.wantRows("SELECT COUNT(*) FROM employees", fmt.Sprint(i+1)); err != nil {
				return err
			}
		}
		return nil
	}},
	{ID: "cdc/applied-within-interval", Section: "manage_table_staleness", Says: "Changes are applied at least once within max_staleness.", Run: func(e *env) error {
		_, err := e.staleEmployees(upsert(1, "a", ""))
		if err != nil {
			return err
		}
		return e.wantRows(byID, "1 a")
	}},
	{ID: "cdc/staleness-within", Section: "query-max-staleness", Says: "5 minutes after the apply at T20 a query (T25, within 10) shows the table of T20.", Run: func(e *env) error {
		w, err := e.staleEmployees(upsert(1, "T20", ""))
		if err != nil {
			return err
		}
		return e.unmoved(func() error {
			if err := w.append(upsert(1, "T25", ""), upsert(2, "T25", "")); err != nil {
				return err
			}
			return e.wantRows(byID, "1 T20")
		})
	}},
	{ID: "cdc/staleness-beyond", Section: "query-max-staleness", Says: "15 minutes after it, with changes that weren't applied (T35), a query shows everything and the watermark stays.", Run: func(e *env) error {
		w, err := e.staleEmployees(upsert(1, "T20", ""))
		if err != nil {
			return err
		}
		held := e.holdApply(e.dataset, "employees")
		before, err := e.watermark()
		if err != nil {
			return err
		}
		if err := w.append(upsert(1, "T35", ""), upsert(2, "T35", "")); err != nil {
			return err
		}
		if err := e.pass(e.ctx, 15*time.Minute); err != nil {
			return err
		}
		if err := e.wantRows(byID, "1 T35", "2 T35"); err != nil {
			return err
		}
		if after, err := e.watermark(); err != nil || held && !after.Equal(before) {
			return fmt.Errorf("a merge at run time moved the watermark from %v to %v: %w", before, after, err)
		}
		return nil
	}},
	{ID: "cdc/recommended-staleness-query", Section: "recommended-max-staleness", Says: "A query over JOBS gives the 95th percentile of the background applies' durations.", StandIn: "INFORMATION_SCHEMA.JOBS has the applies, but the stand-in's SQL lacks the query's functions.", Run: func(e *env) error {
		_, err := e.sql(e.named(`SELECT
  project_id,
  destination_table.dataset_id,
  destination_table.table_id,
  APPROX_QUANTILES((TIMESTAMP_DIFF(end_time, creation_time,MILLISECOND)/1000), 100)[OFFSET(95)] AS p95_background_apply_duration_in_seconds,
  CEILING(APPROX_QUANTILES((TIMESTAMP_DIFF(end_time, creation_time,MILLISECOND)/1000), 100)[OFFSET(95)]*2/60)+7 AS recommended_max_staleness_with_buffer_in_minutes
FROM ` + "`region-REGION`" + `.INFORMATION_SCHEMA.JOBS AS job
WHERE
  project_id = 'PROJECT_ID'
  AND DATE(creation_time) BETWEEN DATE_SUB(CURRENT_DATE(), INTERVAL 7 DAY) AND CURRENT_DATE()
  AND job_id LIKE "%cdc_background%"
GROUP BY 1,2,3;`))
		return err
	}},
	{ID: "cdc/create-table", Section: "create-max-staleness", Says: "CREATE TABLE sets a max_staleness of 10 minutes; TABLE_OPTIONS shows it.", Run: func(e *env) error {
		if err := e.ddl(createStale); err != nil {
			return err
		}
		return e.wantRows(e.named(readStale), "max_staleness 0-0 0 0:10:0")
	}},
	{ID: "cdc/alter-table", Section: "modify-max-staleness", Says: "ALTER TABLE sets it to 15 minutes.", Run: func(e *env) error {
		if err := e.ddl(createStale, alterStale); err != nil {
			return err
		}
		return e.wantRows(e.named(readStale), "max_staleness 0-0 0 0:15:0")
	}},
	{ID: "cdc/add-staleness", Section: "modify-max-staleness", Says: "ALTER TABLE adds it to a table without one; TABLE_OPTIONS has no row before.", Run: func(e *env) error {
		if err := e.makeEmployees(); err != nil {
			return err
		}
		if err := e.wantRows(e.named(readStale)); err != nil {
			return err
		}
		if err := e.ddl(alterStale); err != nil {
			return err
		}
		return e.wantRows(e.named(readStale), "max_staleness 0-0 0 0:15:0")
	}},
	{ID: "cdc/watermark-query", Section: "monitor_table_upsert_operation_progress", Says: "TABLES.upsert_stream_apply_watermark is a timestamp once changes were applied.", Run: func(e *env) error {
		start := e.now().Add(-time.Minute)
		if _, err := e.staleEmployees(upsert(1, "a", "")); err != nil {
			return err
		}
		at, err := e.watermark()
		if err != nil {
			return err
		}
		if at.Before(start) || at.After(e.now().Add(time.Minute)) {
			return fmt.Errorf("watermark %v between %v and %v", at, start, e.now())
		}
		return nil
	}},
	{ID: "cdc/apply-jobs", Section: "monitor_table_upsert_operation_progress", Says: "Applies appear in the project's job history, run by bigquery-adminbot.", StandIn: "INFORMATION_SCHEMA.JOBS has the applies, but jobs.list isn't built.", Run: func(e *env) error {
		if _, err := e.staleEmployees(upsert(1, "a", "")); err != nil {
			return err
		}
		r, err := e.calls.Jobs.List(e.project).AllUsers(true).MaxResults(1000).Context(e.ctx).Do()
		if err != nil {
			return err
		}
		for _, j := range r.Jobs {
			if strings.HasPrefix(j.UserEmail, "bigquery-adminbot@system") {
				return nil
			}
		}
		return fmt.Errorf("no job of bigquery-adminbot among %d", len(r.Jobs))
	}},
	{ID: "cdc/slots-query", Section: "size-reservation", Says: "A query over JOBS_TIMELINE_BY_PROJECT gives the slots that applies used.", StandIn: "There is no JOBS_TIMELINE: an apply takes no slots here.", Run: func(e *env) error {
		_, err := e.sql(e.named(`SELECT
  period_start,
  SUM(period_slot_ms) / (1000 * 60) AS slots_used
FROM
  region-REGION.INFORMATION_SCHEMA.JOBS_TIMELINE_BY_PROJECT
WHERE
  DATE(job_creation_time) BETWEEN DATE_SUB(CURRENT_DATE(), INTERVAL 7 DAY)
  AND CURRENT_DATE()
  AND job_id LIKE '%cdc_background%'
GROUP BY
  period_start
ORDER BY
  period_start DESC;`))
		return err
	}},
	{ID: "cdc/delete-applied", Section: "deleted_data_considerations", Says: "A DELETE is applied once the watermark has passed its time.", Run: func(e *env) error {
		w, err := e.staleEmployees(upsert(1, "a", ""), upsert(2, "b", ""))
		if err != nil {
			return err
		}
		err = e.unmoved(func() error {
			if err := w.append(`{"id":1,"_CHANGE_TYPE":"DELETE"}`); err != nil {
				return err
			}
			return e.wantRows(byID, "1 a", "2 b")
		})
		if err != nil {
			return err
		}
		if err := e.applied(e.now()); err != nil {
			return err
		}
		return e.wantRows(byID, "2 b")
	}},
	{ID: "cdc/delete-retention", Section: "deleted_data_considerations", Says: "A DELETE holds back older UPSERTs that arrive within two days after it.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		if err := w.append(`{"id":1,"_CHANGE_TYPE":"DELETE","_CHANGE_SEQUENCE_NUMBER":"5"}`); err != nil {
			return err
		}
		if err := e.pass(e.ctx, 47*time.Hour); err != nil {
			return err
		}
		if w, err = e.writer("employees", employees); err != nil { // the old one was idle
			return err
		}
		if err := w.append(upsert(1, "old", "4")); err != nil {
			return err
		}
		return e.wantRows(byID)
	}},
	{ID: "cdc/merge-keeps-watermark", Section: "estimate_bigquery_cdc_ingestion_costs", Says: "Merges at run time don't advance the watermark.", Run: func(e *env) error {
		w, err := e.employeesWriter()
		if err != nil {
			return err
		}
		if err := w.append(upsert(1, "a", "")); err != nil {
			return err
		}
		return e.unmoved(func() error { return e.wantRows(byID, "1 a") })
	}},
}
