package bigquerytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	bq "google.golang.org/api/bigquery/v2"
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
	if e := c.server.catalog.spendInsert(c.project, c.server.clock.now()); e != nil {
		return nil, e
	}
	c.table = in.TableReference.TableId
	view, e := c.viewDefinition()
	if e != nil {
		return nil, e
	}
	var t *table
	if view != nil {
		t, e = c.insertView(&in, view)
	} else {
		t, e = c.server.makeTable(c.project, c.dataset, c.table, &in)
	}
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
	return t.answer(c.server.clock.now()), nil
}

func (c *call) insertView(in *bq.Table, view *viewDefinition) (*table, *restError) {
	if in.Schema != nil || in.TableConstraints != nil || in.Clustering != nil || in.MaxStaleness != "" {
		return nil, restInvalid(ruleViewQuery, "Schema, constraints, clustering and max_staleness are not allowed for a view")
	}
	t, e := c.server.makeView(c.project, c.dataset, c.table, *view, queryContext{})
	if e != nil {
		return nil, e
	}
	t.meta.FriendlyName, t.meta.Labels, t.meta.Description = in.FriendlyName, in.Labels, in.Description
	return t, checkDescription(in.Description)
}

// makeTable checks a table's definition; the table isn't in the catalog yet.
func (s *Server) makeTable(project, dataset, name string, in *bq.Table) (*table, *restError) {
	if e := checkTableName(name); e != nil {
		return nil, e
	}
	if e := unbuilt(in); e != nil {
		return nil, e
	}
	if e := checkDescription(in.Description); e != nil {
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
	case in.MaterializedView != nil:
		return restUnhandled("materialized views aren't built")
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
func (t *table) answer(now time.Time) *bq.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.catchUp(now)
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
	if t.view != nil {
		out.View = &bq.ViewDefinition{Query: t.view.query, ForceSendFields: []string{"UseLegacySql"}}
		return &out
	}
	size := t.size()
	out.NumRows, out.NumBytes = size.rows, size.bytes
	out.ForceSendFields = []string{"NumRows", "NumBytes"}
	return &out
}

func (c *call) getTable() (any, *restError) {
	t, e := c.server.catalog.find(c.project, c.dataset, c.table)
	if e != nil {
		return nil, e
	}
	return t.answer(c.server.clock.now()), nil
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
		m := t.answer(c.server.clock.now())
		items = append(items, &bq.TableListTables{
			Kind: m.Kind, Id: m.Id, TableReference: m.TableReference, Type: m.Type,
			FriendlyName: m.FriendlyName, Labels: m.Labels, Clustering: m.Clustering, CreationTime: m.CreationTime,
		})
		if m.View != nil {
			items[len(items)-1].View = &bq.TableListTablesView{ForceSendFields: []string{"UseLegacySql"}}
		}
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
	if e := c.patchView(t, &in); e != nil {
		return nil, e
	}
	if e := c.applyPatch(t, &in, named); e != nil {
		return nil, e
	}
	return t.answer(c.server.clock.now()), nil
}

// patchView checks what is said about a view, and changes its query.
func (c *call) patchView(t *table, in *bq.Table) *restError {
	def, e := c.viewDefinition()
	switch {
	case e != nil:
		return e
	case t.view == nil && def == nil:
		return nil
	case t.view == nil:
		return restInvalid(ruleViewKind, "Cannot change the type of table "+t.id()+" from TABLE to VIEW")
	case in.Schema != nil, in.TableConstraints != nil, in.Clustering != nil, in.MaxStaleness != "":
		return restUnhandled("changing more of a view than its query and its description isn't built")
	case def == nil:
		return nil
	}
	t.mu.Lock()
	e = c.checkETag(etag(t.meta.Id, t.etag))
	comment := t.meta.Description
	t.mu.Unlock()
	if e != nil {
		return e
	}
	if e := c.server.setView(t, *def, queryContext{}, &options{comment: &comment}); e != nil {
		return e
	}
	c.request.Header.Del("If-Match") // it was right before the query changed
	return nil
}

func (c *call) applyPatch(t *table, in *bq.Table, named map[string]json.RawMessage) *restError {
	if e := t.lockLive(); e != nil {
		return e
	}
	defer t.mu.Unlock()
	if e := c.checkETag(etag(t.meta.Id, t.etag)); e != nil {
		return e
	}
	now := c.server.clock.now()
	if in.View == nil { // a changed query was counted
		if e := t.spend(now); e != nil {
			return e
		}
	}
	if e := checkDescription(in.Description); e != nil {
		return e
	}
	if e := t.patchSchema(in, named, now); e != nil {
		return e
	}
	if in.MaxStaleness != "" && c.server.config.RESTMaxStaleness {
		t.catchUp(now)
		if e := t.setStaleness(in.MaxStaleness); e != nil {
			return e
		}
		t.overdue(now)
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
