package conformance

import (
	"slices"
	"strings"
)

// Case is one statement or example of a page.
type Case struct {
	ID      string // PAGE/NAME, with PAGE a key of pages
	Section string // the anchor on the page
	Says    string // in our words
	Run     func(*env) error
	// Why the stand-in doesn't hold it, "" if it does: see testdata/differences.txt.
	StandIn string
}

const docs = "https://docs.cloud.google.com/bigquery/docs/"

var pages = map[string]string{
	"cdc":            docs + "change-data-capture",
	"write-api":      docs + "write-api",
	"streaming":      docs + "write-api-streaming",
	"batch":          docs + "write-api-batch",
	"best-practices": docs + "write-api-best-practices",
	"types":          docs + "supported-data-types",
	"data-types":     docs + "reference/standard-sql/data-types",
	"schemas":        docs + "schemas",
	"keys":           docs + "primary-foreign-keys",
	"quotas":         "https://docs.cloud.google.com/bigquery/quotas",
}

func (c Case) document() string {
	page, _, _ := strings.Cut(c.ID, "/")
	return pages[page] + "#" + c.Section
}

// cases are all of them.
var cases = slices.Concat(cdcCases, orderCases, stalenessCases, limitCases, streamCases, schemaCases, typeCases(), valueCases)
