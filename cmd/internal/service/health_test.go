package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); code == 200 && got != "application/json" {
		t.Errorf("content type %s", got)
	}
	return resp.StatusCode, strings.TrimSpace(string(data))
}

func TestHealth(t *testing.T) {
	ready := &Readiness{}
	h, err := listenHealth("127.0.0.1:0", ready)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.run(ctx) }()
	base := "http://" + h.addr()
	expect := func(path string, code int, body string) {
		t.Helper()
		if c, b := get(t, base+path); c != code || b != body {
			t.Errorf("%s: %d %s, want %d %s", path, c, b, code, body)
		}
	}
	expect("/healthz", 200, `{"status":"alive"}`)
	expect("/readyz", 503, `{"status":"not ready","reason":"starting"}`)
	ready.Watch(func() (bool, string) { return false, "waiting for: slot" })
	expect("/readyz", 503, `{"status":"not ready","reason":"waiting for: slot"}`)
	ready.Watch(func() (bool, string) { return true, "" })
	expect("/readyz", 200, `{"status":"ready"}`)
	ready.stop()
	ready.Watch(func() (bool, string) { return true, "" })
	expect("/readyz", 503, `{"status":"not ready","reason":"stopping"}`)
	expect("/healthz", 200, `{"status":"alive"}`)
	if c, _ := get(t, base+"/other"); c != 404 {
		t.Errorf("/other: %d", c)
	}

	_, err = listenHealth(h.addr(), ready)
	if e, ok := errors.AsType[*healthError](err); !ok || e.Code() != "health_address" {
		t.Errorf("an address that is taken: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
