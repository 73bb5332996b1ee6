package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type measurement struct {
	runs      int
	benchtime string
	workDir   string // empty: the present one
}

// measure runs the figure's benchmark and returns what each run reported.
func (m measurement) measure(ctx context.Context, f figure) ([]float64, error) {
	// Each part of a benchmark's name is a pattern of its own.
	pattern := "^" + strings.ReplaceAll(f.benchmark, "/", "$/^") + "$"
	cmd := exec.CommandContext(ctx, "go", "test", f.dir, "-run", "^$", "-bench", pattern,
		"-benchtime", m.benchtime, "-count", strconv.Itoa(m.runs))
	cmd.Dir = m.workDir
	var failed bytes.Buffer
	cmd.Stderr = &failed
	// The benchmark itself is a child of go test, which outlives it: both are ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s\n%s%s", err, cmd, out, failed.Bytes())
	}
	values := metrics(string(out), f.metric)
	if len(values) != m.runs {
		return nil, fmt.Errorf("%d runs of %s reported %q: %s\n%s", len(values), f.benchmark, f.metric, cmd, out)
	}
	return values, nil
}

var times = regexp.MustCompile(`^[1-9][0-9]*x$`)

// checkBenchtime refuses what go test would.
func checkBenchtime(text string) error {
	if d, err := time.ParseDuration(text); (err != nil || d <= 0) && !times.MatchString(text) {
		return fmt.Errorf("--benchtime %s: want a time such as 1s, or a number of times such as 100x", text)
	}
	return nil
}

// metrics takes the values of one metric out of what go test -bench printed:
// lines of a name, a count and pairs of value and unit (go.dev/design/14313-benchmark-format).
func metrics(out, metric string) (values []float64) {
	for l := range strings.Lines(out) {
		fields := strings.Fields(l)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for pair := range slices.Chunk(fields[2:], 2) {
			if len(pair) == 2 && pair[1] == metric {
				if v, err := strconv.ParseFloat(pair[0], 64); err == nil {
					values = append(values, v)
				}
			}
		}
	}
	return values
}

func line(f figure, values []float64) string {
	values = slices.Sorted(slices.Values(values))
	median := values[len(values)/2]
	if n := len(values); n%2 == 0 {
		median = (values[n/2-1] + values[n/2]) / 2
	}
	return fmt.Sprintf("figure: %s %s %s goal=%s min=%s max=%s runs=%d",
		f.name, short(median), f.unit, f.goal, short(values[0]), short(values[len(values)-1]), len(values))
}

// short writes three significant digits, and never an exponent.
func short(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', digits, 64)
}
