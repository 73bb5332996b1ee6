package control

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// lastYear is as far as a clock can be moved: an int64 of nanoseconds ends in
// 2262.
const lastYear = 2200

// maxFaults bounds the queue.
const maxFaults = 1_000

// StandIn is what every stand-in can be asked. F is its kind of fault, a struct.
type StandIn[F any] struct {
	Counters     func() any // a struct
	CountersText string     // where the counters are explained

	FaultExample string // a fault as JSON
	FaultText    string // which kinds there are
	CheckFault   func(F) error
	Inject       func(F)
	Queued       func() []F
	ClearFaults  func()

	Now     func() time.Time
	Advance func(time.Duration)

	RoundTrip     func() time.Duration
	SetRoundTrip  func(time.Duration)
	RoundTripText string
}

// Standard makes the endpoints that every stand-in has.
func Standard[F any](s StandIn[F]) []Endpoint {
	faults := func() (any, error) {
		list := []map[string]any{}
		for _, f := range s.Queued() {
			list = append(list, EncodeSet(f))
		}
		return map[string]any{"faults": list}, nil
	}
	clock := func() (any, error) { return map[string]any{"now": s.Now()}, nil }
	roundTrip := func() (any, error) { return map[string]any{"round_trip": s.RoundTrip().String()}, nil }
	return []Endpoint{
		Bare(http.MethodGet, "/counters", "What happened since the start. "+s.CountersText,
			func() (any, error) { return Encode(s.Counters()), nil }),
		Bare(http.MethodGet, "/faults", "The faults that are queued and not used up, first one first.", faults),
		Taking(http.MethodPost, "/faults", "Queue a fault. "+s.FaultText, s.FaultExample, func(f F) (any, error) {
			if err := s.CheckFault(f); err != nil {
				return nil, err
			}
			if n := len(s.Queued()); n >= maxFaults {
				return nil, fmt.Errorf("%d faults are queued, the most there can be; DELETE /faults clears them", n)
			}
			s.Inject(f)
			return faults()
		}),
		Bare(http.MethodDelete, "/faults", "Take back every queued fault.", func() (any, error) {
			s.ClearFaults()
			return faults()
		}),
		Bare(http.MethodGet, "/clock", "The stand-in's time.", clock),
		Taking(http.MethodPost, "/clock", "Move the stand-in's clock on; what falls due by then happens.", `{"advance":"1h"}`,
			func(c struct{ Advance time.Duration }) (any, error) {
				if c.Advance <= 0 {
					return nil, errors.New(`advance must be above 0, such as "1h": the clock never goes back`)
				}
				if s.Now().Add(c.Advance).Year() > lastYear {
					return nil, fmt.Errorf("the clock can't pass the year %d", lastYear)
				}
				s.Advance(c.Advance)
				return clock()
			}),
		Bare(http.MethodGet, "/round-trip", "What is added to each call.", roundTrip),
		Taking(http.MethodPut, "/round-trip", s.RoundTripText, `{"round_trip":"20ms"}`,
			func(c struct{ RoundTrip time.Duration }) (any, error) {
				s.SetRoundTrip(c.RoundTrip)
				return roundTrip()
			}),
	}
}
