package pubsubtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FaultKind is a way in which a call or a stream goes wrong.
type FaultKind int

const (
	// Refuse answers with Code and does nothing. On StreamingPull it refuses
	// the stream when it is opened.
	Refuse FaultKind = iota + 1
	// AnswerLost does what was asked, then answers with Code: a message is
	// stored though its publisher was told otherwise.
	AnswerLost
	// Late does what was asked once Delay has passed on the server's clock, and
	// never answers: the caller runs into its deadline.
	Late
	// Delay answers after Delay (real time); it is done at once. On
	// StreamingPull it holds one response back, and all behind it.
	Delay
	// EndStream ends a StreamingPull stream with Code instead of sending a
	// response. The messages of that response stay leased.
	EndStream
	// ResetConnection closes the TCP connections of the server instead of
	// sending a response on a StreamingPull stream: an abrupt disconnect.
	ResetConnection
	// Duplicate delivers the last message of a StreamingPull response and lets
	// its lease end at once, so that it comes again (with all later ones of its
	// ordering key) though no deadline passed.
	Duplicate
	// HoldOthers hits the end of a StreamingPull stream, whatever ends it (the
	// client, EndStream, ResetConnection, EndStreams): while messages with an
	// ordering key that it had are outstanding, no ordering key of the
	// subscription is delivered to anyone. It is over once they are acked or
	// given back, or their deadlines pass. (The ordering page: unacknowledged messages
	// of one key can delay other keys, above all during server restarts or changes
	// of traffic.)
	HoldOthers
)

// faultNames are the kinds as text: a constant's name in snake_case.
var faultNames = map[FaultKind]string{
	Refuse:          "refuse",
	AnswerLost:      "answer_lost",
	Late:            "late",
	Delay:           "delay",
	EndStream:       "end_stream",
	ResetConnection: "reset_connection",
	Duplicate:       "duplicate",
	HoldOthers:      "hold_others",
}

// onStream reports whether the kind hits a response, or the end, of a stream.
func (k FaultKind) onStream() bool {
	return k == EndStream || k == ResetConnection || k == Duplicate || k == HoldOthers
}

// String is the kind's name, such as answer_lost.
func (k FaultKind) String() string {
	if name, ok := faultNames[k]; ok {
		return name
	}
	return fmt.Sprintf("FaultKind(%d)", int(k))
}

// MarshalText writes what String returns; it never fails.
func (k FaultKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *FaultKind) UnmarshalText(text []byte) error {
	for kind, name := range faultNames {
		if name == string(text) {
			*k = kind
			return nil
		}
	}
	return fmt.Errorf("unknown kind %q; allowed: %s", text, knownFaults())
}

// knownFaults lists the kinds in the order of their constants.
func knownFaults() string {
	var names []string
	for _, kind := range slices.Sorted(maps.Keys(faultNames)) {
		names = append(names, faultNames[kind])
	}
	return strings.Join(names, ", ")
}
