package bigquerytest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// datasetName is letters, digits and underscores, up to 1,024 characters.
//
// https://docs.cloud.google.com/bigquery/docs/datasets#dataset-naming
var datasetName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func millis(t time.Time) int64 { return t.UnixMilli() }

// etag is opaque; it changes with each change of what it stands for.
func etag(name string, n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s#%d", name, n))
}

func (c *call) insertDataset() (any, *restError) {
	var in bq.Dataset
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	if in.DatasetReference == nil || len(in.DatasetReference.DatasetId) > 1024 || !datasetName.MatchString(in.DatasetReference.DatasetId) {
		return nil, restInvalid(ruleDatasetName, "Invalid dataset ID. Dataset IDs must be alphanumeric (plus underscores) and must be at most 1024 characters long.")
	}
	id := in.DatasetReference.DatasetId
	cat := c.server.catalog
	cat.mu.Lock()
	defer cat.mu.Unlock()
	key := [2]string{c.project, id}
	if cat.datasets[key] != nil {
		return nil, restDuplicate(ruleDuplicate, "Already Exists: Dataset "+c.project+":"+id)
	}
	now := c.server.clock.now()
	if e := cat.spendDataset(c.project+":"+id, now); e != nil {
		return nil, e
	}
	in.Kind, in.Id = "bigquery#dataset", c.project+":"+id
	in.DatasetReference = &bq.DatasetReference{ProjectId: c.project, DatasetId: id}
	if in.Location == "" {
		in.Location = c.server.config.Location
	}
	in.CreationTime, in.LastModifiedTime = millis(now), millis(now)
	d := &dataset{meta: in, etag: 1, tables: map[string]*table{}}
	cat.datasets[key] = d
	return d.answer(), nil
}

func (d *dataset) answer() *bq.Dataset {
	out := d.meta
	out.Etag = etag(out.Id, d.etag)
	return &out
}

// dataset finds the call's dataset; the catalog is locked.
func (c *call) findDataset() (*dataset, *restError) {
	d := c.server.catalog.datasets[[2]string{c.project, c.dataset}]
	if d == nil {
		return nil, datasetMissing(c.project, c.dataset)
	}
	return d, nil
}

func (c *call) getDataset() (any, *restError) {
	c.server.catalog.mu.RLock()
	defer c.server.catalog.mu.RUnlock()
	d, e := c.findDataset()
	if e != nil {
		return nil, e
	}
	return d.answer(), nil
}

// patchDataset changes description, friendly name and labels.
func (c *call) patchDataset() (any, *restError) {
	var in bq.Dataset
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	c.server.catalog.mu.Lock()
	defer c.server.catalog.mu.Unlock()
	d, e := c.findDataset()
	if e != nil {
		return nil, e
	}
	if e := c.checkETag(etag(d.meta.Id, d.etag)); e != nil {
		return nil, e
	}
	if e := c.server.catalog.spendDataset(d.meta.Id, c.server.clock.now()); e != nil {
		return nil, e
	}
	if in.Description != "" {
		d.meta.Description = in.Description
	}
	if in.FriendlyName != "" {
		d.meta.FriendlyName = in.FriendlyName
	}
	if in.Labels != nil {
		d.meta.Labels = mergeLabels(d.meta.Labels, in.Labels)
	}
	d.etag++
	d.meta.LastModifiedTime = millis(c.server.clock.now())
	return d.answer(), nil
}

func mergeLabels(old, change map[string]string) map[string]string {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, change)
	return out
}

func (c *call) deleteDataset() (any, *restError) {
	c.server.catalog.mu.Lock()
	defer c.server.catalog.mu.Unlock()
	d, e := c.findDataset()
	if e != nil {
		return nil, e
	}
	if len(d.tables) > 0 && c.request.URL.Query().Get("deleteContents") != "true" {
		return nil, &restError{http.StatusBadRequest, "resourceInUse", "Dataset " + d.meta.Id + " is still in use", ruleInUse}
	}
	if e := c.server.catalog.spendDataset(d.meta.Id, c.server.clock.now()); e != nil {
		return nil, e
	}
	for _, t := range d.tables {
		c.server.catalog.forget(d, t)
	}
	delete(c.server.catalog.datasets, [2]string{c.project, c.dataset})
	return nil, nil
}

func (c *call) listDatasets() (any, *restError) {
	c.server.catalog.mu.RLock()
	defer c.server.catalog.mu.RUnlock()
	keys := slices.SortedFunc(maps.Keys(c.server.catalog.datasets), func(a, b [2]string) int { return strings.Compare(a[1], b[1]) })
	var items []*bq.DatasetListDatasets
	for _, k := range keys {
		if k[0] != c.project {
			continue
		}
		m := c.server.catalog.datasets[k].meta
		items = append(items, &bq.DatasetListDatasets{
			Kind: m.Kind, Id: m.Id, DatasetReference: m.DatasetReference, Location: m.Location, Labels: m.Labels, FriendlyName: m.FriendlyName,
		})
	}
	items, next, e := page(c, items)
	if e != nil {
		return nil, e
	}
	return &bq.DatasetList{Kind: "bigquery#datasetList", Datasets: items, NextPageToken: next}, nil
}

// checkETag answers 412 when the call has another If-Match than the present ETag.
func (c *call) checkETag(now string) *restError {
	match := c.request.Header.Get("If-Match")
	if match == "" || match == "*" || match == now {
		return nil
	}
	return &restError{http.StatusPreconditionFailed, "conditionNotMet", "Precondition check failed.", ruleETag}
}

// page cuts a list by maxResults and pageToken, which is the index to go on at.
func page[T any](c *call, items []T) (cut []T, next string, e *restError) {
	q := c.request.URL.Query()
	from := 0
	if token := q.Get("pageToken"); token != "" {
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || n > len(items) {
			return nil, "", restInvalid(ruleBody, "Invalid page token")
		}
		from = n
	} else if start := q.Get("startIndex"); start != "" {
		n, err := strconv.ParseUint(start, 10, 63)
		if err != nil {
			return nil, "", restInvalid(ruleBody, "Invalid value for startIndex: "+start)
		}
		from = int(min(n, uint64(len(items))))
	}
	most := len(items) - from
	if limit := q.Get("maxResults"); limit != "" {
		n, err := strconv.ParseUint(limit, 10, 32)
		if err != nil {
			return nil, "", restInvalid(ruleBody, "Invalid value for maxResults: "+limit)
		}
		most = min(most, int(n))
	}
	to := from + most
	if to < len(items) {
		next = strconv.Itoa(to)
	}
	return items[from:to], next, nil
}
