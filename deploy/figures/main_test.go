package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
pkg: cdc/publish/pubsubtest
BenchmarkPublishOrdered-2   	     120	  10223 ns/op	  2011223 msg/s	       0 B/op
BenchmarkPublishOrdered-2   	     121	  10100 ns/op	  1900000 msg/s
BenchmarkOther 1 5 ns/op
PASS
`

func TestMetrics(t *testing.T) {
	if diff := cmp.Diff([]float64{2011223, 1900000}, metrics(output, "msg/s")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{10223, 10100, 5}, metrics(output, "ns/op")); diff != "" {
		t.Error(diff)
	}
	if v := metrics(output, "rows/s"); v != nil {
		t.Errorf("a metric that nobody reports: %v", v)
	}
}

func TestLine(t *testing.T) {
	f := figure{name: "n", unit: "1/s", goal: "200000"}
	for want, values := range map[string][]float64{
		"figure: n 3.00 1/s goal=200000 min=1.00 max=9.50 runs=5":     {9.5, 1, 3, 2, 4},
		"figure: n 2.50 1/s goal=200000 min=0.123 max=1234568 runs=4": {3, 0.12345, 2, 1234567.8},
		"figure: n 0 1/s goal=200000 min=0 max=0 runs=1":              {0},
	} {
		if got := line(f, values); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Every figure names a benchmark that there is and that reports the metric.
func TestFiguresExist(t *testing.T) {
	for _, f := range figures {
		files, err := filepath.Glob(filepath.Join("..", "..", f.dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no test files in %s (%v)", f.name, f.dir, err)
		}
		function, _, _ := strings.Cut(f.benchmark, "/")
		found, reports := false, false
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					found = found || n.Name.Name == function
				case *ast.BasicLit:
					reports = reports || n.Value == `"`+f.metric+`"`
				}
				return true
			})
		}
		if !found || !reports {
			t.Errorf("%s: %s in %s: found %t, its package reports %q %t", f.name, f.benchmark, f.dir, found, f.metric, reports)
		}
	}
}

// A benchmark of a module of its own is measured, and what can't be is said.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module m\n\ngo 1.26\n")
	write(t, dir, "m_test.go", `package m

import "testing"

func BenchmarkTwo(b *testing.B) {
	b.Run("a", func(b *testing.B) { for b.Loop() {}; b.ReportMetric(42, "rows/s") })
	b.Run("ab", func(b *testing.B) { for b.Loop() {}; b.ReportMetric(1, "rows/s") })
}

func BenchmarkFails(b *testing.B) { b.Fatal("no") }
`)
	t.Chdir(dir)
	list := []figure{
		{"two", ".", "BenchmarkTwo/a", "rows/s", "1/s", "40"},
		{"fails", ".", "BenchmarkFails", "rows/s", "1/s", "1"},
		{"missing", ".", "BenchmarkMissing", "rows/s", "1/s", "1"},
		{"silent", ".", "BenchmarkTwo/a", "msg/s", "1/s", "1"},
	}
	for _, test := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--runs", "3", "--benchtime", "1x", "two"}, exitDone, "figure: two 42.0 1/s goal=40 min=42.0 max=42.0 runs=3\n", "measuring two"},
		{[]string{"--runs", "1", "--benchtime", "1x", "fails"}, exitFailed, "", "BenchmarkFails"},
		{[]string{"--runs", "1", "--benchtime", "1x", "missing"}, exitFailed, "", "0 runs of BenchmarkMissing"},
		{[]string{"--runs", "1", "--benchtime", "1x", "silent"}, exitFailed, "", `reported "msg/s"`},
		{[]string{"unknown"}, exitUsage, "", `no figure "unknown"`},
		{[]string{"--runs", "0"}, exitUsage, "", "--runs 0"},
		{[]string{"--benchtime", "1"}, exitUsage, "", "--benchtime 1: want a time such as 1s"},
		{[]string{"--benchtime", "0s"}, exitUsage, "", "--benchtime 0s"},
		{[]string{"--benchtime", "0x"}, exitUsage, "", "--benchtime 0x"},
		{[]string{"--nope"}, exitUsage, "", "--nope"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), list, test.args, &stdout, &stderr)
		if code != test.code || stdout.String() != test.stdout || !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", test.args, code, stdout.String(), stderr.String())
		}
	}
}

// What is interrupted ends with its benchmark, and says so.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module m\n\ngo 1.26\n")
	write(t, dir, "m_test.go", `package m

import ("fmt"; "os"; "testing"; "time")

func BenchmarkLong(b *testing.B) {
	if err := os.WriteFile("pid", fmt.Append(nil, os.Getpid()), 0o600); err != nil { b.Fatal(err) }
	if err := os.Rename("pid", "started"); err != nil { b.Fatal(err) }
	time.Sleep(time.Hour)
}
`)
	t.Chdir(dir)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	started := make(chan int)
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if text, err := os.ReadFile("started"); err == nil {
				pid, _ := strconv.Atoi(string(text))
				cancel()
				started <- pid
				return
			}
			time.Sleep(10 * time.Millisecond) // until the benchmark has been compiled
		}
		started <- 0
	}()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []figure{{"long", ".", "BenchmarkLong", "rows/s", "1/s", "1"}}, nil, &stdout, &stderr)
	if code != exitFailed || !strings.HasSuffix(stderr.String(), "figures: measure long: interrupted\n") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	pid := <-started
	if pid == 0 {
		t.Fatalf("the benchmark never started: %s", &stderr)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) { // it is not our child
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the benchmark runs on")
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
