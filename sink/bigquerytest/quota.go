package bigquerytest

import (
	"net/http"
	"time"
)

// Updates of metadata that are allowed within a window: of one table creating
// it, patches and DDL; of one dataset inserts, patches and deletes. And how
// many tables may be inserted in a second.
//
// https://docs.cloud.google.com/bigquery/quotas#standard_tables
// https://docs.cloud.google.com/bigquery/quotas#dataset_limits
// https://docs.cloud.google.com/bigquery/quotas#api_request_quotas
const (
	maxUpdates   = 5
	updateWindow = 10 * time.Second
	insertWindow = time.Second
)

// spend counts one use at now among those within a window, unless they are
// too many already.
func spend(times []time.Time, now time.Time, most int, window time.Duration) (kept []time.Time, ok bool) {
	for _, at := range times {
		if now.Sub(at) < window {
			kept = append(kept, at)
		}
	}
	if len(kept) >= most {
		return kept, false
	}
	return append(kept, now), true
}

const seeQuotas = " For more information, see https://cloud.google.com/bigquery/docs/troubleshoot-quotas"

func rateLimited(rule, text string) *restError {
	return &restError{http.StatusForbidden, "rateLimitExceeded", "Exceeded rate limits: " + text + seeQuotas, rule}
}

// spend counts one update of the table's metadata, or refuses it.
func (t *table) spend(now time.Time) *restError {
	var ok bool
	if t.updates, ok = spend(t.updates, now, maxUpdates, updateWindow); !ok {
		return rateLimited(ruleUpdateQuota, "too many table update operations for this table.")
	}
	return nil
}

// spendDataset counts one update of a dataset's metadata. The catalog is locked.
func (c *catalog) spendDataset(id string, now time.Time) *restError {
	if !c.spend("dataset "+id, now, maxUpdates, updateWindow) {
		return rateLimited(ruleDatasetQuota, "too many dataset metadata update operations for this dataset.")
	}
	return nil
}

// spendInsert counts one tables.insert; all callers here are one user.
func (c *catalog) spendInsert(project string, now time.Time) *restError {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.settings.InsertsPerSecond
	if most > 0 && !c.spend("inserts "+project, now, most, insertWindow) {
		return rateLimited(ruleInsertQuota, "too many api requests per user per method for this user_method.")
	}
	return nil
}

// spend keeps the times of what was used lately, by what it was used of.
func (c *catalog) spend(of string, now time.Time, most int, window time.Duration) bool {
	for key, times := range c.spent {
		if now.Sub(times[len(times)-1]) >= updateWindow {
			delete(c.spent, key)
		}
	}
	kept, ok := spend(c.spent[of], now, most, window)
	c.spent[of] = kept
	return ok
}
