package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of the health server.
const (
	healthTimeout     = 5 * time.Second
	healthHeaderBytes = 16 << 10
)

// health serves /healthz and /readyz.
type health struct {
	listener net.Listener
	server   *http.Server
}

// healthError says that the health endpoints can't be served.
type healthError struct{ err error }

func (e *healthError) Error() string { return fmt.Sprintf("serve health endpoints: %v", e.err) }
func (e *healthError) Unwrap() error { return e.err }
func (e *healthError) Code() string  { return "health_address" }
func (e *healthError) Fix() string {
	return "give health in the configuration a free address of this machine"
}

// listenHealth listens on address; port 0 takes a free port, addr says which.
func listenHealth(address string, ready *Readiness) (*health, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &healthError{err}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "alive", "")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ok, reason := ready.State(); !ok {
			answer(w, http.StatusServiceUnavailable, "not ready", reason)
		} else {
			answer(w, http.StatusOK, "ready", reason)
		}
	})
	return &health{l, &http.Server{
		Handler:           mux,
		ReadTimeout:       healthTimeout,
		ReadHeaderTimeout: healthTimeout,
		WriteTimeout:      healthTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    healthHeaderBytes,
	}}, nil
}

func answer(w http.ResponseWriter, code int, status, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitempty"`
	}{status, reason})
}

func (h *health) addr() string { return h.listener.Addr().String() }

// run serves until ctx ends.
func (h *health) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = h.server.Close() })
	defer stop()
	err := h.server.Serve(h.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return &healthError{err}
}
