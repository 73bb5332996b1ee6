package main

// figure is a claim of speed or size: a benchmark that reports it as a metric.
type figure struct {
	name      string // stable
	dir       string // of the package, relative to the module
	benchmark string // the whole name; "/" leads to a sub-benchmark
	metric    string // the unit under which the benchmark reports it
	unit      string // printed; a ratio has the unit x
	goal      string // printed
}

// figures are all claims that the documents make.
var figures = []figure{
	{"pubsubtest-publish", "./publish/pubsubtest", "BenchmarkPublishOrdered", "msg/s", "1/s", "200000"},
	{"pubsubtest-deliver", "./publish/pubsubtest", "BenchmarkDeliverOrdered", "msg/s", "1/s", "200000"},
	{"bigquerytest-rows", "./sink/bigquerytest", "BenchmarkApplied/rows=1000", "rows/s", "1/s", "300000"},
}

func names(list []figure) []string {
	out := make([]string, len(list))
	for i, f := range list {
		out[i] = f.name
	}
	return out
}
