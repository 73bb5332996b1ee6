package alone

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func counts(published, backlog int64) sample {
	return sample{at: time.Now(), servers: []counted{
		{"pubsub", []quantity{{"published", published, true}, {"backlog", backlog, false}}},
		{"bigquery", []quantity{{"rows", 0, true}}},
	}}
}

func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := counts(100, 7)
		time.Sleep(5 * time.Second)
		for published, want := range map[int64]string{
			100: "pubsub: published=100 backlog=3  bigquery: rows=0",
			101: "pubsub: published=101 (+0.2/s) backlog=3  bigquery: rows=0",
			220: "pubsub: published=220 (+24/s) backlog=3  bigquery: rows=0",
		} {
			if got := counts(published, 3).line(before); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

// TestReport: a line when something has changed, a sign of life a minute after the
// last one, a last line with the rates of the whole time.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		published := func() int64 {
			switch passed := time.Since(started); {
			case passed < 7*time.Second:
				return 0
			case passed < 70*time.Second:
				return 100
			default:
				return 300
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		var out bytes.Buffer
		report(ctx, Options{Every: 5 * time.Second, Out: &out}, func() sample { return counts(published(), 0) })
		const want = `
00:00:10 pubsub: published=100 (+20/s) backlog=0  bigquery: rows=0
00:01:10 pubsub: published=300 (+40/s) backlog=0  bigquery: rows=0
00:02:10 unchanged  pubsub: published=300 backlog=0  bigquery: rows=0
00:02:30 stopped after 2m30s  pubsub: published=300 (+2.0/s) backlog=0  bigquery: rows=0
`
		if got := "\n" + out.String(); got != want {
			t.Errorf("printed %s\nwant %s", got, want)
		}
	})
}

// TestNothingToCount: a Postgres alone prints no lines.
func TestNothingToCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var out bytes.Buffer
		report(ctx, Options{Every: time.Second, Out: &out}, func() sample { return sample{at: time.Now()} })
		if out.Len() > 0 {
			t.Errorf("printed %s", &out)
		}
	})
}

// anyPort takes free ports.
func anyPort() map[string]int {
	out := map[string]int{}
	for name := range defaultPorts {
		out[name] = 0
	}
	return out
}

// TestPortInUse: the error names the port and what to do, and nothing stays behind.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for name := range defaultPorts {
		var out bytes.Buffer
		o := Options{Serve: []string{"pubsub", "bigquery"}, Ports: anyPort(), Every: time.Second, Out: &out}
		o.Ports[name] = port
		err := Run(t.Context(), o)
		e, ok := errors.AsType[*portTaken](err)
		if !ok || e.name != name || e.port != port || !strings.Contains(e.Fix(), "--ports "+name+"=") || out.Len() > 0 {
			t.Errorf("%s: %v, printed %q", name, err, &out)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Options{Serve: []string{"bigquery"}, Every: time.Second}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"want some of pubsub,bigquery,postgres":              func(o *Options) { o.Serve = nil },
		`--only "bigtable": want some of`:                    func(o *Options) { o.Serve = []string{"pubsub", "bigtable"} },
		"there are bigquery=9050, ":                          func(o *Options) { o.Ports = map[string]int{"kafka": 1} },
		"a port is 1–65535, or 0":                            func(o *Options) { o.Ports = map[string]int{"pubsub": 65_536} },
		"--ports pubsub=1: --only doesn't serve pubsub":      func(o *Options) { o.Ports = map[string]int{"pubsub": 1} },
		"port 9050 is for bigquery and for bigquery-storage": func(o *Options) { o.Ports = map[string]int{"bigquery-storage": 9050} },
		"--every 1ms: want at least 100ms":                   func(o *Options) { o.Every = time.Millisecond },
	} {
		o := good
		change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
