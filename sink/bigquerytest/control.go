package bigquerytest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cdc/deploy/local/control"
)

// ControlAddr is the host and port of the control endpoint, or "" without one.
func (s *Server) ControlAddr() string {
	if s.control == nil {
		return ""
	}
	return s.control.Addr()
}

// startControl serves the control endpoint, if the Config asks for it: what the
// methods of Server do, over HTTP. See package control for what all endpoints
// have in common, and GET /help of a running one for the list.
func (s *Server) startControl() (err error) {
	if s.config.ControlAddr == "" {
		return nil
	}
	if s.control, err = control.Listen(s.config.ControlAddr, "BigQuery stand-in on "+s.Addr(), s.endpoints()); err != nil {
		return fmt.Errorf("start the control endpoint of the BigQuery stand-in: %w", err)
	}
	return nil
}

func (s *Server) endpoints() []control.Endpoint {
	standard := control.Standard(control.StandIn[Fault]{
		Counters: func() any { return s.Counters() }, CountersText: "go doc cdc/sink/bigquerytest.Counters explains them.",
		FaultExample: `{"kind":"unavailable","table":"p.shop.orders","count":3}`,
		FaultText:    "Kinds: " + knownFaults() + "; go doc cdc/sink/bigquerytest.Fault explains the fields.",
		CheckFault:   checkFault, Inject: s.Inject, Queued: s.queuedFaults, ClearFaults: s.ClearFaults,
		Now: s.Now, Advance: s.Advance,
		RoundTrip:     func() time.Duration { return time.Duration(s.roundTrip.Load()) },
		SetRoundTrip:  s.SetRoundTrip,
		RoundTripText: "Answer every append so much later (real time).",
	})
	return append(
		standard,
		control.Bare(http.MethodGet, "/tables", "Every table: its rows, merged and in the baseline, and its apply watermark.", func() (any, error) {
			list := []map[string]any{}
			for _, t := range s.Tables() {
				list = append(list, control.Encode(t))
			}
			return map[string]any{"tables": list}, nil
		}),
		control.Taking(http.MethodPost, "/apply", "Run a table's background apply now.",
			`{"table":"p.shop.orders"}`, func(r struct{ Table string }) (any, error) {
				return s.onTable(r.Table, func(t *table) { s.Apply(t.project, t.dataset, t.name) })
			}),
		control.Taking(http.MethodPost, "/pause-apply", "Hold a table's background applies back, or let them go on.",
			`{"table":"p.shop.orders","paused":true}`, func(r struct {
				Table  string
				Paused bool
			},
			) (any, error) {
				return s.onTable(r.Table, func(t *table) { s.PauseApply(t.project, t.dataset, t.name, r.Paused) })
			}),
	)
}

// onTable does something to a table and answers with its state.
func (s *Server) onTable(name string, do func(*table)) (any, error) {
	if p := strings.Split(name, "."); len(p) == 3 {
		if t := s.catalog.table(p[0], p[1], p[2]); t != nil {
			do(t)
			return control.Encode(t.state(s.clock.now())), nil
		}
	}
	return nil, fmt.Errorf("there is no table %q, written project.dataset.table; GET /tables lists them", name)
}

// SetRoundTrip is Config.RoundTrip from now on; a negative d counts as 0.
func (s *Server) SetRoundTrip(d time.Duration) { s.roundTrip.Store(int64(max(0, d))) }

func knownFaults() string {
	var names []string
	for _, k := range faultKinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// checkFault refuses what Inject would take and no request could meet.
func checkFault(f Fault) error {
	switch {
	case f.Kind == "":
		return errors.New("kind is missing; allowed: " + knownFaults())
	case !slices.Contains(faultKinds, f.Kind):
		return fmt.Errorf("unknown kind %q; allowed: %s", f.Kind, knownFaults())
	case f.After < 0:
		return fmt.Errorf("after: %d is negative", f.After)
	case f.Status != 0 && (f.Status < http.StatusBadRequest || f.Status > 599):
		return fmt.Errorf("status: %d is not an error's (400–599)", f.Status)
	case strings.Count(f.Table, ".") > 2 || strings.ContainsAny(f.Table, ":/"):
		return fmt.Errorf("table: %q is not written table, dataset.table or project.dataset.table", f.Table)
	case f.Key != "" && f.Kind != FaultRefuseRow && f.Kind != FaultRefuseRequest:
		return fmt.Errorf("key: only %s and %s have one", FaultRefuseRow, FaultRefuseRequest)
	case f.Delay != 0 && f.Kind != FaultSlow:
		return fmt.Errorf("delay: only %s has one", FaultSlow)
	case (f.Status != 0 || f.Reason != "") && f.Kind != FaultREST:
		return fmt.Errorf("status, reason: only %s has them", FaultREST)
	case f.Table != "" && f.Method != "" && !strings.HasPrefix(strings.ToLower(f.Method), "table"), f.Table != "" && strings.EqualFold(f.Method, "tables.list"):
		return fmt.Errorf("table: %s isn't about one", f.Method)
	case f.Kind == FaultRefuseRow && f.Key == "":
		return errors.New("key is missing: the values of the row's key columns, joined by commas")
	case f.Kind == FaultSlow && f.Delay <= 0:
		return errors.New("delay is missing: how long, such as \"250ms\"")
	case f.Method == "":
	case !f.isREST():
		return fmt.Errorf("method: only %s and %s have one", FaultREST, FaultRESTLost)
	case !slices.ContainsFunc(restMethods(), func(m string) bool { return strings.EqualFold(m, f.Method) }):
		return fmt.Errorf("unknown method %q; allowed: %s", f.Method, strings.Join(restMethods(), ", "))
	}
	return nil
}

// restMethods are the names of all REST calls.
func restMethods() []string {
	var names []string
	for _, c := range restCalls {
		names = append(names, c.method)
	}
	return names
}

func (s *Server) queuedFaults() []Fault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	var out []Fault
	for _, f := range s.faults.queue {
		out = append(out, *f)
	}
	return out
}
