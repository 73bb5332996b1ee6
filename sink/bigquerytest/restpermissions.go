package bigquerytest

import (
	"net/http"
	"slices"
)

// resource is what a permission is needed on.
type resource struct {
	kind, name string // Project, Dataset or Table, and its name in messages
}

func onProject(project string) resource { return resource{"Project", project} }

func onDataset(project, dataset string) resource {
	return resource{"Dataset", project + ":" + dataset}
}

func onTable(project, dataset, table string) resource {
	return resource{"Table", project + ":" + dataset + "." + table}
}

// methodPermissions are what a REST method needs before it looks at anything.
// Statements need more: see where they run.
//
// https://docs.cloud.google.com/bigquery/docs/access-control#bq-permissions
var methodPermissions = map[string][]string{
	"datasets.insert": {"bigquery.datasets.create"},
	"datasets.get":    {"bigquery.datasets.get"},
	"datasets.patch":  {"bigquery.datasets.get", "bigquery.datasets.update"},
	"datasets.delete": {"bigquery.datasets.delete"},
	"tables.insert":   {"bigquery.tables.create"},
	"tables.list":     {"bigquery.tables.list"},
	"tables.get":      {"bigquery.tables.get"},
	"tables.patch":    {"bigquery.tables.get", "bigquery.tables.update"},
	"tables.delete":   {"bigquery.tables.delete"},
	"tabledata.list":  {"bigquery.tables.getData"},
	"jobs.query":      {"bigquery.jobs.create"},
	"jobs.insert":     {"bigquery.jobs.create"},
}

// permitted says whether the call's method is allowed.
func (c *call) permitted() *restError {
	r := onProject(c.project)
	switch {
	case c.table != "":
		r = onTable(c.project, c.dataset, c.table)
	case c.dataset != "":
		r = onDataset(c.project, c.dataset)
	}
	return c.server.may(r, methodPermissions[c.method]...)
}

// may refuses if one of the permissions is in Config.Denied.
func (s *Server) may(r resource, permissions ...string) *restError {
	for _, p := range permissions {
		if !slices.Contains(s.config.Denied, p) {
			continue
		}
		if r.kind == "Project" {
			return accessDenied(r, "User does not have "+p+" permission in project "+r.name+".")
		}
		lower := map[string]string{"Dataset": "dataset", "Table": "table"}[r.kind]
		return accessDenied(r, "Permission "+p+" denied on "+lower+" "+r.name+" (or it may not exist).")
	}
	return nil
}

// mayQuery is may for a table or view that a query reads.
func (s *Server) mayQuery(t *table) *restError {
	if !slices.Contains(s.config.Denied, "bigquery.tables.getData") {
		return nil
	}
	return accessDenied(onTable(t.project, t.dataset, t.name), "User does not have permission to query table "+t.id()+", or perhaps it does not exist.")
}

// mayStream is may for the Storage Write API.
//
// https://docs.cloud.google.com/bigquery/docs/write-api#required_permissions
func (s *Server) mayStream() *appendError {
	if !slices.Contains(s.config.Denied, "bigquery.tables.updateData") {
		return nil
	}
	e := (&Fault{Kind: FaultPermission}).refusal()
	e.rule = ruleDenied
	return e
}

func accessDenied(r resource, text string) *restError {
	return &restError{http.StatusForbidden, "accessDenied", "Access Denied: " + r.kind + " " + r.name + ": " + text, ruleDenied}
}

// testPermissions is tables.testIamPermissions. The service answers with an
// empty list for a table that doesn't exist.
//
// https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/tables/testIamPermissions
func (c *call) testPermissions() (any, *restError) {
	var req struct {
		Permissions []string `json:"permissions"`
	}
	if e := c.decode(&req); e != nil {
		return nil, e
	}
	if _, e := c.server.catalog.find(c.project, c.dataset, c.table); e != nil {
		return map[string][]string{}, nil
	}
	granted := slices.DeleteFunc(req.Permissions, func(p string) bool { return slices.Contains(c.server.config.Denied, p) })
	return map[string][]string{"permissions": granted}, nil
}
