package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cdc/deploy/local/stack"
)

// services builds the executables once for all runs of a test.
func services(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := stack.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

var verdictLine = regexp.MustCompile(`^demo: (ok|FAILED) rows=(\d+) lost=(\d+) extra=(\d+) different=(\d+) out_of_order=(\d+) ` +
	`dead_letters=(\d+) kills=(\d+) redelivered=(\d+) p50_ms=\d+ p99_ms=\d+$`)

// demo runs the demo and returns its exit code and its last line's numbers.
func demo(t *testing.T, args ...string) (code int, numbers map[string]int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, &stdout, &stderr)
	t.Logf("%s%s", &stderr, &stdout)
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	m := verdictLine.FindStringSubmatch(lines[len(lines)-1])
	if m == nil {
		t.Fatalf("the last line is not a verdict: %q", lines[len(lines)-1])
	}
	if ok := m[1] == "ok"; ok != (code == exitDone) {
		t.Errorf("exit code %d with a verdict that says %s", code, m[1])
	}
	numbers = map[string]int{}
	for i, name := range []string{"rows", "lost", "extra", "different", "out_of_order", "dead_letters", "kills", "redelivered"} {
		n, err := strconv.Atoi(m[i+2])
		if err != nil {
			t.Fatal(err)
		}
		numbers[name] = n
	}
	return code, numbers
}

// TestDemo runs the whole pipeline as it is, and with one message broken inside
// the stand-in, which it must find.
func TestDemo(t *testing.T) {
	bin := services(t)
	t.Setenv("TMPDIR", t.TempDir()) // runs that fail leave their logs behind
	t.Run("as it is", func(t *testing.T) {
		t.Parallel() // most of a run is waiting for leases
		code, n := demo(t, "--seed", "1", "--bin", bin)
		if code != exitDone {
			t.Errorf("exit code %d, want %d: %v", code, exitDone, n)
		}
	})
	for sabotage, counter := range map[string]string{"drop": "lost", "swap": "out_of_order"} {
		t.Run("sabotage "+sabotage, func(t *testing.T) {
			t.Parallel()
			code, n := demo(t, "--seed", "2", "--bin", bin, "--sabotage", sabotage)
			if code != exitFailed || n[counter] == 0 {
				t.Errorf("exit code %d, %s=%d; want %d and more than 0: %v", code, counter, n[counter], exitFailed, n)
			}
		})
	}
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"--nonsense"}, {"more"}, {"--seed", "x"}, {"--sabotage", "melt"}, {"--bin", "/nonexistent"}} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
		if stdout.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("%q: the reason belongs on stderr; stdout %q, stderr %q", args, &stdout, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"--help"}, &stdout, &stderr)
	if code != exitDone || !strings.Contains(stdout.String(), "--sabotage") || !strings.Contains(stdout.String(), "(default random)") {
		t.Errorf("--help: exit code %d, stdout %q", code, &stdout)
	}
}

// cancelOn cancels when text is written.
type cancelOn struct {
	bytes.Buffer
	text   string
	cancel context.CancelFunc
}

func (c *cancelOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.text)) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

// TestNoVerdict: whatever keeps the demo from a verdict, the last line says so
// in one line, stderr says what to do, and nothing is left behind.
func TestNoVerdict(t *testing.T) {
	bin := services(t)
	for _, tt := range []struct {
		name, postgres, path, dir, cancelOn string
		args                                []string
		code                                int
		last, stderr                        string
	}{
		{name: "no Postgres", postgres: "/nonexistent", args: []string{"--bin", bin}, code: exitUsage, last: "demo: FAILED use CDC_POSTGRES_BIN=/nonexistent: ", stderr: "Set CDC_POSTGRES_BIN to a folder"},
		{name: "no Go", path: "/nonexistent", code: exitFailed, last: "demo: FAILED build the services: ", stderr: "--bin"},
		{name: "elsewhere", dir: "/", code: exitFailed, last: "demo: FAILED build the services: the current folder isn't in the module cdc", stderr: "clone"},
		{name: "interrupted", cancelOn: " of 4000 transactions", args: []string{"--bin", bin}, code: exitFailed, last: "demo: FAILED interrupted\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			if tt.postgres != "" {
				t.Setenv("CDC_POSTGRES_BIN", tt.postgres)
			}
			if tt.path != "" {
				t.Setenv("PATH", tt.path)
			}
			if tt.dir != "" {
				t.Chdir(tt.dir)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var stdout bytes.Buffer
			stderr := cancelOn{text: tt.cancelOn, cancel: cancel}
			if tt.cancelOn == "" {
				stderr.cancel = func() {}
			}
			code := run(ctx, tt.args, &stdout, &stderr)
			if code != tt.code || !strings.HasPrefix(stdout.String(), tt.last) || strings.Count(stdout.String(), "\n") != 1 || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, tt.code, &stdout, &stderr)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}
