package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cdc/cmd/internal/config"
)

const good = `version: 1
database: shop
source: {dsn: "${SHOP_DSN}"}
pubsub: {project: acme-prod, region: europe-west3}
bigquery: {project: acme-analytics, location: EU, max_staleness: 15m}
tables: [{match: public.orders}]
health: {publisher: "127.0.0.1:0", sink: "127.0.0.1:0"}
`

// asProcess makes the test binary the service: see TestSignals.
const asProcess = "CDC_SERVICE_TEST"

func TestMain(m *testing.M) {
	if how := os.Getenv(asProcess); how != "" {
		os.Exit(Main(context.Background(), testProgram(how), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// testProgram works until it is stopped, well or never.
func testProgram(how string) Program {
	return Program{
		Service:   config.Sink,
		Short:     "Test",
		Emulators: []string{"CDC_TEST_EMULATOR"},
		Health:    func(h config.Health) string { return h.Sink },
		StopLimit: 2 * time.Second,
		Run: func(ctx context.Context, _ *config.Config, log *slog.Logger, ready *Readiness) error {
			ready.Watch(func() (bool, string) { return true, "" })
			log.Info("working")
			<-ctx.Done()
			log.Debug("asked to stop")
			if how == "never" {
				select {}
			}
			return nil
		},
	}
}

func write(t *testing.T, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cdc.yaml")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// invoke runs the command line in this process.
func invoke(t *testing.T, p Program, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), p, args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestCommandLine(t *testing.T) {
	path := write(t, good)
	p := testProgram("well")
	p.Check = func(context.Context, *config.Config, *slog.Logger) ([]Finding, error) {
		return []Finding{{"slot_missing", "there is no slot", "run init", false}, {"wal_unbounded", "no limit", "set one", true}}, codedError{}
	}
	p.Init = func(context.Context, *config.Config, *slog.Logger) ([]string, error) {
		return []string{"create slot"}, nil
	}
	for _, tt := range []struct {
		args   []string
		code   int
		stdout string // parts
		stderr string
	}{
		{nil, 2, "", "a command is missing"},
		{[]string{"fly"}, 2, "", `unknown command "fly"`},
		{[]string{"run", "now"}, 2, "", `run takes no argument "now": name the file with --config`},
		{[]string{"run", "--fast"}, 2, "", "unknown flag: --fast"},
		{[]string{"check", "--config"}, 2, "", "flag needs an argument"},
		{[]string{"completion"}, 2, "", "unknown command"},
		{[]string{"--help"}, 0, "Examples:", ""},
		{[]string{"run", "--help"}, 0, "cdc-sink run --config /etc/cdc/shop.yaml", ""},
		{[]string{"check", "--help"}, 0, "cdc-sink check --config-only", ""},
		{[]string{"init", "--help"}, 0, "cdc-sink init --config shop.yaml", ""},
		{[]string{"--version"}, 0, "cdc-sink version ", ""},
		{[]string{"check", "--config", path + "x"}, 2, "error: config_unreadable: read configuration", ""},
		{[]string{"check", "--config", path, "--config-only"}, 0, "cdc.yaml: ok", ""},
		{[]string{"check", "--config", path}, 1, "error: slot_missing: there is no slot; run init\nwarning: wal_unbounded: no limit; set one\nerror: slot_lost: the slot is gone; run cdc-publisher init\n", ""},
		{[]string{"init", "--config", path}, 0, "did: create slot\n", ""},
		{[]string{"init", "--config", path}, 0, "cdc.yaml: 1 change\n", ""},
	} {
		code, stdout, stderr := invoke(t, p, tt.args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
			t.Errorf("%q: exit %d\nstdout: %s\nstderr: %s", tt.args, code, stdout, stderr)
		}
	}
}

// TestConfigOnlyNamesLaterKeys: a valid file stays valid, but whoever checks it
// hears at once what run will refuse.
func TestConfigOnlyNamesLaterKeys(t *testing.T) {
	path := write(t, good+"defaults: {mode: history}\n")
	code, stdout, _ := invoke(t, testProgram("well"), "check", "--config-only", "--config", path)
	if code != ExitDone || !strings.Contains(stdout, "refused by init and run: "+path) || !strings.Contains(stdout, "defaults.mode") ||
		!strings.HasSuffix(stdout, path+": ok\n") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

// TestCheckWithoutAnswer: a server that can't be reached or never answers isn't
// a riddle, whichever package met it.
func TestCheckWithoutAnswer(t *testing.T) {
	path := write(t, good)
	for name, check := range map[string]func(context.Context) error{
		"refused": func(context.Context) error {
			return fmt.Errorf("look:\n\t%w", &net.OpError{Op: "dial", Err: errors.New("refused")})
		},
		"silent": func(ctx context.Context) error { <-ctx.Done(); return errors.New("rpc error: code = DeadlineExceeded") },
	} {
		p := testProgram("well")
		p.CheckLimit = 10 * time.Millisecond
		p.Check = func(ctx context.Context, _ *config.Config, _ *slog.Logger) ([]Finding, error) {
			return nil, errors.Join(check(ctx), codedError{})
		}
		code, stdout, _ := invoke(t, p, "check", "--config", path)
		if code != ExitFailed || !strings.HasPrefix(stdout, "error: unreachable: ") || !strings.Contains(stdout, "error: slot_lost: ") || strings.Count(stdout, "\n") != 2 {
			t.Errorf("%s: exit %d\n%s", name, code, stdout)
		}
	}
}

// events decodes a log.
func events(t *testing.T, log string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

func find(all []map[string]any, message string) map[string]any {
	i := slices.IndexFunc(all, func(e map[string]any) bool { return e["message"] == message })
	if i < 0 {
		return nil
	}
	return all[i]
}

// TestRunRefuses shows the events of a refused file, one a finding.
func TestRunRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		want []string // line:key
	}{
		"bad":     {strings.Replace(good, "location: EU", "locution: EU", 1), []string{"5:bigquery.location", "5:bigquery.locution"}},
		"not yet": {strings.Replace(good, ", max_staleness: 15m", "", 1) + "defaults: {mode: both}\n", []string{"5:bigquery.max_staleness", "8:defaults.mode"}},
	} {
		code, stdout, stderr := invoke(t, testProgram("well"), "run", "--config", write(t, tt.data))
		var got []string
		for _, e := range events(t, stderr) {
			if e["message"] != EventRefused || e["severity"] != "ERROR" || e["code"] != "config_invalid" || e["fix"] == "" || e["column"].(float64) < 1 {
				t.Errorf("%s: %v", name, e)
			}
			got = append(got, fmt.Sprint(e["line"], ":", e["key"]))
		}
		slices.Sort(got)
		if code != ExitUsage || stdout != "" || !slices.Equal(got, tt.want) {
			t.Errorf("%s: exit %d, %q", name, code, got)
		}
	}
}

// TestRunFails shows the events of a run that ends with errors.
func TestRunFails(t *testing.T) {
	t.Setenv("CDC_TEST_EMULATOR", "127.0.0.1:1")
	p := testProgram("well")
	p.Run = func(context.Context, *config.Config, *slog.Logger, *Readiness) error {
		return fmt.Errorf("capture: %w", codedError{})
	}
	code, _, stderr := invoke(t, p, "run", "--config", write(t, good))
	all := events(t, stderr)
	e := find(all, EventFailed)
	if code != ExitFailed || e == nil || e["code"] != "slot_lost" || e["fix"] != "run cdc-publisher init" || e["error"] != "capture: the slot is gone" {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if e := find(all, EventEmulator); e == nil || e["severity"] != "WARNING" || e["variable"] != "CDC_TEST_EMULATOR" {
		t.Errorf("no warning of the stand-in:\n%s", stderr)
	}
}

func TestRunWithoutAddress(t *testing.T) {
	data := strings.Replace(good, `sink: "127.0.0.1:0"`, `sink: "203.0.113.1:1"`, 1)
	code, _, stderr := invoke(t, testProgram("well"), "run", "--config", write(t, data))
	if e := find(events(t, stderr), EventFailed); code != ExitFailed || e == nil || e["code"] != "health_address" {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// process is the test binary as a service, with its log.
type process struct {
	cmd *exec.Cmd
	log *lines
}

// lines is a log that is written and waited for.
type lines struct {
	next chan string
	rest string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(p), nil
		}
		l.rest = rest
		l.next <- line
	}
}

func start(t *testing.T, how string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{exec.Command(exe, "run", "--config", write(t, good)), &lines{next: make(chan string, 1000)}}
	p.cmd.Env = append(os.Environ(), asProcess+"="+how)
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// await returns the next event with the message.
func (p *process) await(t *testing.T, message string) map[string]any {
	t.Helper()
	for {
		select {
		case line := <-p.log.next:
			if e := events(t, line)[0]; e["message"] == message {
				return e
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no event %q", message)
		}
	}
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *process) code() int {
	if err := p.cmd.Wait(); err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return e.ExitCode()
		}
		return -2
	}
	return 0
}

// TestSignals sends the real signals to a real process.
func TestSignals(t *testing.T) {
	t.Run("graceful", func(t *testing.T) {
		t.Parallel()
		p := start(t, "well")
		address := p.await(t, EventHealth)["address"]
		p.await(t, "working")
		resp, err := http.Get(fmt.Sprintf("http://%s/readyz", address))
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%v %v", resp, err)
		} else {
			_ = resp.Body.Close()
		}
		p.signal(t, syscall.SIGUSR1)
		if e := p.await(t, EventLevel); e["level"] != "DEBUG" {
			t.Errorf("%v", e)
		}
		p.signal(t, syscall.SIGTERM)
		p.await(t, EventStopping)
		p.await(t, "asked to stop") // at debug
		p.await(t, EventStopped)
		if code := p.code(); code != ExitDone {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("limit", func(t *testing.T) {
		t.Parallel()
		p := start(t, "never")
		p.await(t, "working")
		p.signal(t, syscall.SIGINT)
		if e := p.await(t, EventStopLimit); e["severity"] != "ERROR" || e["code"] != "stop_limit" || e["fix"] == "" {
			t.Errorf("%v", e)
		}
		if code := p.code(); code != ExitFailed {
			t.Errorf("exit %d", code)
		}
	})
	t.Run("second signal", func(t *testing.T) {
		t.Parallel()
		p := start(t, "never")
		p.await(t, "working")
		p.signal(t, syscall.SIGTERM)
		p.await(t, EventStopping)
		p.signal(t, syscall.SIGINT)
		p.await(t, EventSecondSignal)
		if code := p.code(); code != ExitFailed {
			t.Errorf("exit %d", code)
		}
	})
}
