package bigquerytest

import (
	"fmt"
	"strconv"
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// maxPageRows bounds one page of rows.
const maxPageRows = 10_000

// jobRequest is what jobs.query and jobs.insert have in common.
type jobRequest struct {
	id       string // "" makes one
	location string
	sql      string
	legacy   bool
	context  queryContext
}

// runJob runs a query and remembers it under its id. The same id twice is a
// duplicate, whatever became of the first.
func (s *Server) runJob(project string, r jobRequest) (*job, *restError) {
	if r.legacy {
		return nil, restUnhandled("legacy SQL isn't built")
	}
	j := &job{done: make(chan struct{})}
	s.jobs.mu.Lock()
	if r.id == "" {
		s.jobs.next++
		r.id = "job_" + strconv.Itoa(s.jobs.next)
	}
	id := project + "." + r.id
	if s.jobs.byID[id] != nil {
		s.jobs.mu.Unlock()
		return nil, restDuplicate(ruleDuplicate, fmt.Sprintf("Already Exists: Job %s:%s.%s", project, r.location, r.id))
	}
	s.jobs.add(id, j)
	s.jobs.mu.Unlock()
	defer s.jobs.finish(id, j)

	now := millis(s.clock.now())
	out, refused := s.run(r.sql, r.context)
	j.result, j.refused = out, refused
	j.meta = bq.Job{
		Kind: "bigquery#job", Id: project + ":" + r.location + "." + r.id,
		JobReference:  &bq.JobReference{ProjectId: project, JobId: r.id, Location: r.location},
		Configuration: &bq.JobConfiguration{JobType: "QUERY", Query: &bq.JobConfigurationQuery{Query: r.sql, UseLegacySql: new(bool)}},
		Status:        &bq.JobStatus{State: "DONE"},
		Statistics:    &bq.JobStatistics{CreationTime: now, StartTime: now, EndTime: millis(s.clock.now()), Query: &bq.JobStatistics2{}},
	}
	if refused != nil {
		problem := &bq.ErrorProto{Reason: refused.reason, Message: refused.message}
		j.meta.Status.ErrorResult, j.meta.Status.Errors = problem, []*bq.ErrorProto{problem}
		return j, nil
	}
	j.meta.Statistics.TotalBytesProcessed = out.bytes
	j.meta.Statistics.Query = out.statistics()
	return j, nil
}

func (r *result) statistics() *bq.JobStatistics2 {
	return &bq.JobStatistics2{
		StatementType: r.kind, DdlOperationPerformed: r.ddl, TotalBytesProcessed: r.bytes, TotalBytesBilled: r.bytes,
		ForceSendFields: []string{"TotalBytesProcessed"},
	}
}

// dryRun checks a statement and the rights that it needs, and says what it
// would read. Nothing is done and no job is remembered.
//
// https://docs.cloud.google.com/bigquery/docs/running-queries#dry-run
func (s *Server) dryRun(project string, r jobRequest) (*bq.Job, *restError) {
	if r.legacy {
		return nil, restUnhandled("legacy SQL isn't built")
	}
	r.context.dryRun = true
	out, e := s.run(r.sql, r.context)
	if e != nil {
		return nil, e
	}
	statistics := out.statistics()
	statistics.Schema, statistics.TotalBytesBilled = out.page(0, 0, false).schema, 0
	return &bq.Job{
		Kind:          "bigquery#job",
		JobReference:  &bq.JobReference{ProjectId: project, Location: r.location},
		Configuration: &bq.JobConfiguration{JobType: "QUERY", DryRun: true, Query: &bq.JobConfigurationQuery{Query: r.sql, UseLegacySql: new(bool)}},
		Status:        &bq.JobStatus{State: "DONE"},
		Statistics:    &bq.JobStatistics{CreationTime: millis(s.clock.now()), TotalBytesProcessed: out.bytes, Query: statistics},
	}, nil
}

func (c *call) insertJob() (any, *restError) {
	var in bq.Job
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	if in.Configuration == nil || in.Configuration.Query == nil {
		return nil, restUnhandled("only query jobs are built")
	}
	query := in.Configuration.Query
	if query.DestinationTable != nil {
		return nil, restUnhandled("destination tables aren't built")
	}
	params, e := parameters(query.QueryParameters)
	if e != nil {
		return nil, e
	}
	r := jobRequest{
		location: c.server.config.Location, sql: query.Query,
		legacy:  query.UseLegacySql == nil || *query.UseLegacySql,
		context: defaultDataset(c.project, query.DefaultDataset, params),
	}
	if in.Configuration.DryRun {
		j, e := c.server.dryRun(c.project, r)
		if e != nil {
			return nil, e
		}
		return j, nil
	}
	if in.JobReference != nil {
		r.id = in.JobReference.JobId
	}
	j, e := c.server.runJob(c.project, r)
	if e != nil {
		return nil, e
	}
	return &j.meta, nil
}

func (c *call) getJob() (any, *restError) {
	j, e := c.server.findJob(c.project, c.job)
	if e != nil {
		return nil, e
	}
	return &j.meta, nil
}

// query is jobs.query. A requestId that came before gets the first answer.
func (c *call) query() (any, *restError) {
	var in bq.QueryRequest
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	params, e := parameters(in.QueryParameters)
	if e != nil {
		return nil, e
	}
	r := jobRequest{
		location: c.server.config.Location, sql: in.Query,
		legacy:  in.UseLegacySql == nil || *in.UseLegacySql,
		context: defaultDataset(c.project, in.DefaultDataset, params),
	}
	if in.DryRun {
		j, e := c.server.dryRun(c.project, r)
		if e != nil {
			return nil, e
		}
		return &bq.QueryResponse{
			Kind: "bigquery#queryResponse", JobComplete: true, JobReference: j.JobReference, Schema: j.Statistics.Query.Schema, Location: r.location,
			TotalBytesProcessed: j.Statistics.TotalBytesProcessed, ForceSendFields: []string{"TotalBytesProcessed"},
		}, nil
	}
	if in.RequestId != "" {
		r.id = "request_" + in.RequestId
	}
	j, e := c.server.findJob(c.project, r.id)
	if e != nil {
		j, e = c.server.runJob(c.project, r)
	}
	if e != nil && in.RequestId != "" && e.reason == "duplicate" {
		j, e = c.server.findJob(c.project, r.id) // it came twice at once
	}
	if e != nil {
		return nil, e
	}
	if j.refused != nil {
		return nil, j.refused
	}
	most := maxPageRows
	if in.MaxResults > 0 {
		most = int(min(in.MaxResults, maxPageRows))
	}
	int64Times := in.FormatOptions != nil && in.FormatOptions.UseInt64Timestamp
	p := j.result.page(0, most, int64Times)
	return &bq.QueryResponse{
		Kind: "bigquery#queryResponse", JobComplete: true, JobReference: j.meta.JobReference,
		Schema: p.schema, Rows: p.rows, TotalRows: p.total, PageToken: p.next,
		Location: r.location, TotalBytesProcessed: j.result.bytes, ForceSendFields: []string{"TotalRows", "TotalBytesProcessed"},
	}, nil
}

// queryResults is jobs.getQueryResults.
func (c *call) queryResults() (any, *restError) {
	j, e := c.server.findJob(c.project, c.job)
	if e != nil {
		return nil, e
	}
	if j.refused != nil {
		return nil, j.refused
	}
	q := c.request.URL.Query()
	from, most := uint64(0), uint64(maxPageRows)
	for name, to := range map[string]*uint64{"startIndex": &from, "maxResults": &most} {
		if text := q.Get(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return nil, restInvalid(ruleBody, "Invalid value for "+name+": "+text)
			}
			*to = n
		}
	}
	if token := q.Get("pageToken"); token != "" {
		n, err := strconv.ParseUint(token, 10, 32)
		if err != nil {
			return nil, restInvalid(ruleBody, "Invalid page token")
		}
		from = n
	}
	p := j.result.page(int(from), int(min(most, maxPageRows)), q.Get("formatOptions.useInt64Timestamp") == "true")
	return &bq.GetQueryResultsResponse{
		Kind: "bigquery#getQueryResultsResponse", JobComplete: true, JobReference: j.meta.JobReference,
		Schema: p.schema, Rows: p.rows, TotalRows: p.total, PageToken: p.next, TotalBytesProcessed: j.result.bytes,
		ForceSendFields: []string{"TotalRows", "TotalBytesProcessed"},
	}, nil
}

func defaultDataset(project string, d *bq.DatasetReference, params map[string]literal) queryContext {
	q := queryContext{project: project, params: params}
	if d != nil {
		q.dataset = d.DatasetId
		if d.ProjectId != "" {
			q.project = d.ProjectId
		}
	}
	return q
}

// parameters takes named scalar parameters.
func parameters(in []*bq.QueryParameter) (map[string]literal, *restError) {
	out := map[string]literal{}
	for _, p := range in {
		if p == nil || p.Name == "" || p.ParameterType == nil || p.ParameterValue == nil {
			return nil, restUnhandled("only named scalar query parameters are built")
		}
		l := literal{text: p.ParameterValue.Value, kind: typeNames[strings.ToUpper(p.ParameterType.Type)]}
		switch l.kind {
		case kindInt64, kindFloat64, kindBool, kindNumeric, kindBigNumeric:
		case kindString, kindDate, kindDatetime, kindTime, kindTimestamp, kindBytes, kindJSON:
			l.quote = true
		default:
			return nil, restUnhandled("query parameters of type " + p.ParameterType.Type + " aren't built")
		}
		// Google's client sends a value of null, which reads as "".
		l.null = l.text == "" && l.kind != kindString && l.kind != kindBytes
		out[strings.ToLower(p.Name)] = l
	}
	return out, nil
}
