package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cdc/cmd/internal/config"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-update writes it):\n%s", path, diff)
	}
}

// codedError has everything that an error may say.
type codedError struct{}

func (codedError) Error() string { return "the slot is gone" }
func (codedError) Code() string  { return "slot_lost" }
func (codedError) Fix() string   { return "run cdc-publisher init" }

// TestLogForm is the form of Cloud Logging, at the bubble's fixed time.
func TestLogForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := NewLogger(&b, slog.LevelDebug, "cdc-sink", "shop")
		log.Debug("debugged", "message_id", "7")
		log.Info("progress", "waiting_for", "source", "lag_bytes", 12, "wait_ms", 1.5)
		log.Warn("retrying", "error", errors.New("unavailable"), "level", "high")
		log.With("table", "public.orders").WithGroup("batch").Error("refused", "level", 3, "msg", "x", "secret", config.NewSecret("hunter2"))
		ctx := context.Background()
		logErrors(ctx, log, slog.LevelError, EventFailed, errors.Join(codedError{}, errors.New("unforeseen")))
		logErrors(ctx, log, slog.LevelError, EventRefused, config.Findings{{File: "cdc.yaml", Line: 3, Column: 7, Key: "source.slot", Problem: "unknown", Do: "take it out"}})
		golden(t, "testdata/log.golden", b.Bytes())
	})
}

// TestLogLines holds each line to the fields that Cloud Logging reads.
func TestLogLines(t *testing.T) {
	var b bytes.Buffer
	log := NewLogger(&b, slog.LevelInfo, "cdc-sink", "shop")
	log.Debug("not logged")
	log.Info("a\nb")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339Nano, line["time"].(string)); err != nil {
		t.Error(err)
	}
	if line["severity"] != "INFO" || line["message"] != "a\nb" || bytes.Count(b.Bytes(), []byte("\n")) != 1 {
		t.Errorf("%s", b.Bytes())
	}
}

// TestLevelSwitch sends the signal twice, from each configured level.
func TestLevelSwitch(t *testing.T) {
	for _, configured := range []string{"info", "warn", "error", "debug"} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			level := new(slog.LevelVar)
			level.Set(parseLevel(configured))
			log := NewLogger(&b, level, "cdc-sink", "shop")
			signals := make(chan os.Signal)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				watchLevel(ctx, signals, level, log)
			}()
			signals <- os.Interrupt
			synctest.Wait()
			log.Debug("first")
			signals <- os.Interrupt
			synctest.Wait()
			log.Debug("second")
			cancel()
			<-done
			if level.Level() != parseLevel(configured) {
				t.Errorf("%s: left at %s", configured, level.Level())
			}
			changed := len(regexp.MustCompile(EventLevel).FindAll(b.Bytes(), -1))
			if changed != 2 || !bytes.Contains(b.Bytes(), []byte(`"first"`)) || bytes.Contains(b.Bytes(), []byte(`"second"`)) != (configured == "debug") {
				t.Errorf("%s:\n%s", configured, b.Bytes())
			}
		})
	}
}
