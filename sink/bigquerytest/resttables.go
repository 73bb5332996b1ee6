package bigquerytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	bq "google.golang.org/api/bigquery/v2"
)

// Updates of one table's metadata that are allowed within a window: creating
// it, patches and DDL.
//
// https://docs.cloud.google.com/bigquery/quotas#standard_tables
const (
	maxUpdates   = 5
	updateWindow = 10 * time.Second
)

// checkTableName allows letters, marks, numbers, connectors, dashes and spaces,
// up to 1,024 bytes.
//
// https://docs.cloud.google.com/bigquery/docs/tables#table_naming
func checkTableName(name string) *restError {
	bad := func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc, unicode.Pd, unicode.Zs)
	}
	if name == "" || len(name) > 1024 || !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return restInvalid(ruleTableName, fmt.Sprintf("Invalid table ID \"%.80s\".", name))
	}
	return nil
}

func (c *call) insertTable() (any, *restError) {
	var in bq.Table
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	if in.TableReference == nil {
		return nil, restInvalid(ruleTableName, "Required parameter is missing: tableReference")
	}
	c.table = in.TableReference.TableId
	t, e := c.server.makeTable(c.project, c.dataset, c.table, &in)
	if e != nil {
		return nil, e
	}
	if in.MaxStaleness != "" && c.server.config.RESTMaxStaleness {
		if e := t.setStaleness(in.MaxStaleness); e != nil {
			return nil, e
		}
	}
	if e := c.server.catalog.addTable(t); e != nil {
		return nil, e
	}
	return t.answer(), nil
}

// makeTable checks a table's definition; the table isn't in the catalog yet.
func (s *Server) makeTable(project, dataset, name string, in *bq.Table) (*table, *restError) {
	if e := checkTableName(name); e != nil {
		return nil, e
	}
	if e := unbuilt(in); e != nil {
		return nil, e
	}
	now := s.clock.now()
	t := s.catalog.newTable(project, dataset, name, now)
	var columns []*column
	if in.Schema != nil {
		for _, f := range in.Schema.Fields {
			if f == nil {
				return nil, restInvalid(ruleColumnName, "Fields must have a name.")
			}
			t.columnID++
			col, e := newColumn(t.columnID, f)
			if e != nil {
				return nil, e
			}
			columns = append(columns, col)
		}
	}
	keys, cluster := primaryKey(in), clusterFields(in)
	if e := checkSchema(columns, keys, cluster); e != nil {
		return nil, e
	}
	t.schemas = []schemaAt{{newSchema(1, columns, keys, cluster), now}}
	t.updates = []time.Time{now}
	t.meta = bq.Table{
		Kind: "bigquery#table", Id: t.id(), Type: "TABLE",
		TableReference: &bq.TableReference{ProjectId: project, DatasetId: dataset, TableId: name},
		Description:    in.Description, FriendlyName: in.FriendlyName, Labels: in.Labels,
		CreationTime: millis(now),
	}
	return t, nil
}

// unbuilt refuses what tables of this server can't be.
func unbuilt(in *bq.Table) *restError {
	switch {
	case in.View != nil, in.MaterializedView != nil:
		return restUnhandled("views aren't built")
	case in.TimePartitioning != nil, in.RangePartitioning != nil:
		return restUnhandled("partitioned tables aren't built")
	case in.ExternalDataConfiguration != nil, in.BiglakeConfiguration != nil, in.CloneDefinition != nil, in.SnapshotDefinition != nil:
		return restUnhandled("only plain tables are built")
	case in.TableConstraints != nil && len(in.TableConstraints.ForeignKeys) > 0:
		return restUnhandled("foreign keys aren't built")
	case in.ExpirationTime != 0:
		return restUnhandled("expiration of tables isn't built")
	}
	return nil
}

func primaryKey(in *bq.Table) []string {
	if in.TableConstraints == nil || in.TableConstraints.PrimaryKey == nil {
		return nil
	}
	return in.TableConstraints.PrimaryKey.Columns
}

func clusterFields(in *bq.Table) []string {
	if in.Clustering == nil {
		return nil
	}
	return in.Clustering.Fields
}

// answer is the table as tables.get shows it.
func (t *table) answer() *bq.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.meta
	s := t.schema()
	out.Schema = s.rest()
	if len(s.keys) > 0 {
		out.TableConstraints = &bq.TableConstraints{PrimaryKey: &bq.TableConstraintsPrimaryKey{Columns: s.keyNames()}}
	}
	if len(s.cluster) > 0 {
		out.Clustering = &bq.Clustering{Fields: s.cluster}
	}
	if t.stale {
		out.MaxStaleness = intervalText(t.staleness)
	}
	out.Etag = etag(out.Id, t.etag)
	out.LastModifiedTime = uint64(millis(t.modified))
	return &out
}

func (c *call) getTable() (any, *restError) {
	t, e := c.server.catalog.find(c.project, c.dataset, c.table)
	if e != nil {
		return nil, e
	}
	return t.answer(), nil
}

func (c *call) deleteTable() (any, *restError) {
	return nil, c.server.catalog.removeTable(c.project, c.dataset, c.table)
}

func (c *call) listTables() (any, *restError) {
	tables, e := c.server.catalog.tables(c.project, c.dataset)
	if e != nil {
		return nil, e
	}
	var items []*bq.TableListTables
	for _, t := range tables {
		m := t.answer()
		items = append(items, &bq.TableListTables{
			Kind: m.Kind, Id: m.Id, TableReference: m.TableReference, Type: m.Type,
			FriendlyName: m.FriendlyName, Labels: m.Labels, Clustering: m.Clustering, CreationTime: m.CreationTime,
		})
	}
	total := int64(len(items))
	items, next, e := page(c, items)
	if e != nil {
		return nil, e
	}
	return &bq.TableList{Kind: "bigquery#tableList", Tables: items, NextPageToken: next, TotalItems: total}, nil
}

// patchTable changes the parts of a table that the body names.
func (c *call) patchTable() (any, *restError) {
	var in bq.Table
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	named := map[string]json.RawMessage{}
	if e := c.decode(&named); e != nil {
		return nil, e
	}
	t, e := c.server.catalog.find(c.project, c.dataset, c.table)
	if e != nil {
		return nil, e
	}
	if e := unbuilt(&in); e != nil {
		return nil, e
	}
	if e := c.applyPatch(t, &in, named); e != nil {
		return nil, e
	}
	return t.answer(), nil
}

func (c *call) applyPatch(t *table, in *bq.Table, named map[string]json.RawMessage) *restError {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := c.checkETag(etag(t.meta.Id, t.etag)); e != nil {
		return e
	}
	now := c.server.clock.now()
	if e := t.spend(now); e != nil {
		return e
	}
	if e := t.patchSchema(in, named, now); e != nil {
		return e
	}
	if in.MaxStaleness != "" && c.server.config.RESTMaxStaleness {
		if e := t.setStaleness(in.MaxStaleness); e != nil {
			return e
		}
	}
	if named["description"] != nil {
		t.meta.Description = in.Description
	}
	if named["friendlyName"] != nil {
		t.meta.FriendlyName = in.FriendlyName
	}
	if in.Labels != nil {
		t.meta.Labels = mergeLabels(t.meta.Labels, in.Labels)
	}
	t.changed(now)
	return nil
}

func (t *table) changed(now time.Time) {
	t.etag++
	t.modified = now
}

// spend counts one update of the table's metadata, or refuses it.
func (t *table) spend(now time.Time) *restError {
	kept := t.updates[:0]
	for _, at := range t.updates {
		if now.Sub(at) < updateWindow {
			kept = append(kept, at)
		}
	}
	t.updates = kept
	if len(t.updates) >= maxUpdates {
		return &restError{
			http.StatusForbidden, "rateLimitExceeded",
			"Exceeded rate limits: too many table update operations for this table. For more information, see https://cloud.google.com/bigquery/docs/troubleshoot-quotas", ruleUpdateQuota,
		}
	}
	t.updates = append(t.updates, now)
	return nil
}
