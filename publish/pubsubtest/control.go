package pubsubtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

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
	if s.cfg.ControlAddr == "" {
		return nil
	}
	if s.control, err = control.Listen(s.cfg.ControlAddr, "Pub/Sub stand-in on "+s.Addr(), s.endpoints()); err != nil {
		return fmt.Errorf("start the control endpoint of the Pub/Sub stand-in: %w", err)
	}
	return nil
}

func (s *Server) endpoints() []control.Endpoint {
	standard := control.Standard(control.StandIn[Fault]{
		Counters: func() any { return s.Counters() }, CountersText: "go doc cdc/publish/pubsubtest.Counters explains them.",
		FaultExample: `{"kind":"refuse","method":"Publish","code":"UNAVAILABLE","count":3}`,
		FaultText:    "Kinds: " + knownFaults() + "; go doc cdc/publish/pubsubtest.Fault explains the fields.",
		CheckFault:   checkFault, Inject: s.Inject, Queued: s.queuedFaults, ClearFaults: s.ClearFaults,
		Now: s.Now, Advance: s.Advance,
		RoundTrip: s.faults.roundTrip, SetRoundTrip: s.SetRoundTrip,
		RoundTripText: "Make every call take so much longer (real time). DELETE /faults ends it too.",
	})
	return append(
		standard,
		control.Bare(http.MethodGet, "/topics", "The topics' names.", func() (any, error) {
			return map[string]any{"topics": s.Topics()}, nil
		}),
		control.Bare(http.MethodGet, "/subscriptions", "Every subscription with its backlog: the messages that are not acked.", func() (any, error) {
			list := []map[string]any{}
			for _, sub := range s.Subscriptions() {
				list = append(list, control.Encode(sub))
			}
			return map[string]any{"subscriptions": list}, nil
		}),
		control.Taking(http.MethodPost, "/end-streams", "End all StreamingPull streams of a subscription with a code (UNAVAILABLE by default).",
			`{"subscription":"projects/p/subscriptions/orders-sink","code":"UNAVAILABLE"}`, s.endStreams),
		control.Bare(http.MethodPost, "/reset-connections", "Cut every open connection, as a network does.", func() (any, error) {
			s.ResetConnections()
			return map[string]any{}, nil
		}),
		control.Taking(http.MethodPost, "/sabotage", "Break one message as the service never does, after so many with an ordering key: drop it, or swap it with the key's next.",
			`{"kind":"drop","after":100}`, s.sabotageFrom),
	)
}

func (s *Server) endStreams(r struct {
	Subscription string
	Code         codes.Code
},
) (any, error) {
	if !slices.ContainsFunc(s.Subscriptions(), func(sub SubscriptionState) bool { return sub.Name == r.Subscription }) {
		return nil, fmt.Errorf("there is no subscription %q; GET /subscriptions lists them", r.Subscription)
	}
	return map[string]any{"ended": s.EndStreams(r.Subscription, r.Code)}, nil
}

func (s *Server) sabotageFrom(r struct {
	Kind  SabotageKind
	After int
},
) (any, error) {
	if r.After < 0 {
		return nil, fmt.Errorf("after: %d is negative", r.After)
	}
	return map[string]any{}, s.Sabotage(r.Kind, r.After)
}

// checkFault refuses what Inject would take and no call could meet.
func checkFault(f Fault) error {
	switch {
	case f.Kind == 0:
		return errors.New("kind is missing; allowed: " + knownFaults())
	case f.Skip < 0:
		return fmt.Errorf("skip: %d is negative", f.Skip)
	case f.Method != "" && !slices.Contains(methods(), f.Method):
		return fmt.Errorf("unknown method %q; allowed: %s", f.Method, strings.Join(methods(), ", "))
	case f.Kind == Delay && f.Delay == 0:
		return errors.New("delay is missing")
	case f.Kind.onStream() && f.Method != "" && f.Method != "StreamingPull":
		return fmt.Errorf("%s hits StreamingPull only, not %s", f.Kind, f.Method)
	case (f.Kind == Late || f.Kind == AnswerLost) && f.Method == "StreamingPull":
		return fmt.Errorf("%s hits unary calls only, not %s", f.Kind, f.Method)
	case f.Target != "" && !resourceName.MatchString(f.Target):
		return fmt.Errorf("target: %q is not a full name, such as projects/p/topics/orders", f.Target)
	}
	return nil
}

// methods are the names of all calls.
func methods() []string {
	var names []string
	for _, d := range []grpc.ServiceDesc{pubsubpb.Publisher_ServiceDesc, pubsubpb.Subscriber_ServiceDesc} {
		for _, m := range d.Methods {
			names = append(names, m.MethodName)
		}
		for _, m := range d.Streams {
			names = append(names, m.StreamName)
		}
	}
	return names
}
