package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cdc/cmd/internal/config"
)

const hedgingFile = `version: 1
database: shop
source: {dsn: "${SHOP_DSN}"}
pubsub:
  project: acme-prod
  region: europe-west3
%s
bigquery: {project: acme-analytics, location: EU}
tables: [{match: public.orders}]
`

func check(t *testing.T, data string) (code int, stdout string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cdc.yaml")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = run(t.Context(), []string{"check", "--config-only", "--config", path}, &out, &errs)
	if errs.Len() > 0 {
		t.Errorf("stderr: %s", &errs)
	}
	return code, out.String()
}

// TestHedgingBoundaries runs check --config-only on both sides of every limit of
// hedging (DESIGN §7.3).
func TestHedgingBoundaries(t *testing.T) {
	hedge := func(rest string) string { return "  unordered:\n    hedging: {" + rest + "}" }
	timeouts := func(attempt, total, delay string) string {
		return fmt.Sprintf("  unordered:\n    attempt_timeout: %s\n    total_timeout: %s\n    hedging: {delay: %s}", attempt, total, delay)
	}
	for _, tt := range []struct {
		name, pubsub string
		want         int
		says         string
	}{
		{"delay 99ms", hedge("delay: 99ms"), 2, ":8:22: pubsub.unordered.hedging.delay: 99ms is out of range; write 100ms to 10s"},
		{"delay 100ms", hedge("delay: 100ms"), 0, ""},
		{"delay 10s", timeouts("11s", "60s", "10s"), 0, "warning"},
		{"delay 10.001s", timeouts("11s", "60s", "10.001s"), 2, "10.001s is out of range"},
		{"delay is attempt_timeout", timeouts("10s", "60s", "10s"), 2, "pubsub.unordered.hedging.delay: the delay (10s) isn't shorter than attempt_timeout (10s)"},
		{"delay is total_timeout", timeouts("5s", "5s", "5s"), 2, "isn't shorter than attempt_timeout (5s)"},
		{"delay is total_timeout alone", timeouts("6s", "5s", "5s"), 2, "isn't shorter than total_timeout (5s)"},
		{"delay is just shorter than both", timeouts("1001ms", "1001ms", "1s"), 0, "warning"},
		{"default delay is attempt_timeout", "  unordered: {attempt_timeout: 1s}", 2, "the delay (1s) isn't shorter than attempt_timeout (1s)"},
		{"tokens -1", hedge("max_tokens: -1"), 2, "-1 is out of range; write 1 to 250"},
		{"tokens 0", hedge("max_tokens: 0"), 2, "0 is out of range"},
		{"tokens 1", hedge("max_tokens: 1"), 0, ""},
		{"tokens 250", hedge("max_tokens: 250"), 0, ""},
		{"tokens 251", hedge("max_tokens: 251"), 2, "251 is out of range"},
		{"tokens 2^64", hedge("max_tokens: 18446744073709551616"), 2, "max_tokens"},
		{"refill 0.0009", hedge("refill_ratio: 0.0009"), 2, "0.0009 is out of range; write 0.001 to 0.2"},
		{"refill 0.001", hedge("refill_ratio: 0.001"), 0, ""},
		{"refill 0.2", hedge("refill_ratio: 0.2"), 0, ""},
		{"refill 0.201", hedge("refill_ratio: 0.201"), 2, "0.201 is out of range"},
		{"refill NaN", hedge("refill_ratio: .nan"), 2, "NaN is out of range"},
		{"refill infinite", hedge("refill_ratio: .inf"), 2, "+Inf is out of range"},
		{"off", "  unordered: {hedging: off}", 0, ""},
		{"under ordered", "  ordered:\n    hedging: {delay: 500ms}", 2, ":8:5: pubsub.ordered.hedging: hedging doesn't exist on the ordered topic: a hedged copy may be stored after a later change of its key"},
		{"off under ordered", "  ordered: {hedging: off}", 2, "pubsub.ordered.hedging: hedging doesn't exist on the ordered topic"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout := check(t, fmt.Sprintf(hedgingFile, tt.pubsub))
			if code != tt.want || !strings.Contains(stdout, tt.says) || (code == 0) != strings.HasSuffix(stdout, "cdc.yaml: ok\n") {
				t.Errorf("exit %d, want %d and %q:\n%s", code, tt.want, tt.says, stdout)
			}
		})
	}
}

// TestRegionByEnvironment: a stand-in has no region.
func TestRegionByEnvironment(t *testing.T) {
	data := strings.Replace(fmt.Sprintf(hedgingFile, ""), "  region: europe-west3\n", "", 1)
	t.Setenv("PUBSUB_EMULATOR_HOST", "")
	if code, stdout := check(t, data); code != 2 || !strings.Contains(stdout, "pubsub.region") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	t.Setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:8085")
	if code, stdout := check(t, data); code != 0 {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

// TestExampleIsAccepted: every key of the file form passes --config-only.
func TestExampleIsAccepted(t *testing.T) {
	data, err := os.ReadFile("../../deploy/config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout := check(t, string(data)); code != 0 {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

// TestReadmeIsAccepted: the file in README passes, and this version refuses
// nothing in it, for either service.
func TestReadmeIsAccepted(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(readme), "```yaml\n")
	data, _, found := strings.Cut(data, "```")
	if !found {
		t.Fatal("README has no file")
	}
	cfg, err := config.Parse("README.md", []byte(data), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []config.Service{config.Publisher, config.Sink} {
		if err := cfg.NotYet(s, "README.md"); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}
