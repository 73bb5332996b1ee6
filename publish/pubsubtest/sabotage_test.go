package pubsubtest

import (
	"fmt"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
)

func ackRequest(msgs ...*pubsubpb.ReceivedMessage) *pubsubpb.AcknowledgeRequest {
	return &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: ackIDsOf(msgs)}
}

func storedTexts(r *rig) []string {
	var out []string
	for _, m := range r.Stored(testTopic) {
		out = append(out, string(m.Data))
	}
	return out
}

func TestSabotageDrop(t *testing.T) {
	r := newRig(t, Config{Record: true})
	if err := r.Sabotage("drop", 2); err != nil {
		t.Fatal(err)
	}
	r.send(t, "", "unordered, not counted")
	r.send(t, "k", "a0", "a1", "a2", "a3")
	r.open(t).wantTexts("a0", "a1", "a3", "unordered, not counted")
	if diff := cmp.Diff([]string{"unordered, not counted", "a0", "a1", "a3"}, storedTexts(r)); diff != "" {
		t.Error(diff)
	}
	if n := r.Counters().Sabotaged; n != 1 {
		t.Errorf("sabotaged %d", n)
	}
}

func TestSabotageSwap(t *testing.T) {
	r := newRig(t, Config{Record: true})
	if err := r.Sabotage(Swap, 1); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "a0", "a1", "a2")
	r.send(t, "l", "b0", "b1")
	r.send(t, "k", "a3") // held back: its key has had three
	r.send(t, "l", "b2")
	r.send(t, "k", "a4")
	r.send(t, "k", "a5")
	r.send(t, "l", "b3", "b4")
	if diff := cmp.Diff([]string{"a0", "a1", "a2", "b0", "b1", "b2", "a4", "a3", "a5", "b3", "b4"}, storedTexts(r)); diff != "" {
		t.Error(diff)
	}
	if n := r.Counters().Sabotaged; n != 2 {
		t.Errorf("sabotaged %d", n)
	}
}

func TestSabotageSwapInOneRequest(t *testing.T) {
	r := newRig(t, Config{Record: true})
	if err := r.Sabotage(Swap, 0); err != nil {
		t.Fatal(err)
	}
	r.send(t, "k", "a0", "a1", "a2", "a3", "a4", "a5")
	r.open(t).wantTexts("a0", "a1", "a2", "a4", "a3", "a5")
}

func TestSabotageSwapTriesAnotherKey(t *testing.T) {
	r := newRig(t, Config{Record: true})
	if err := r.Sabotage(Swap, 0); err != nil {
		t.Fatal(err)
	}
	r.send(t, "rare", "a0", "a1", "a2")
	r.send(t, "rare", "a3")
	for i := range swapPatience + 1 {
		r.send(t, fmt.Sprint("once", i), "x")
	}
	r.send(t, "k", "b0", "b1", "b2")
	r.send(t, "k", "b3")
	r.send(t, "k", "b4")
	got := storedTexts(r)
	if n := len(got); n != swapPatience+10 {
		t.Errorf("%d stored", n)
	}
	if diff := cmp.Diff([]string{"b0", "b1", "b2", "b4", "b3"}, got[len(got)-5:]); diff != "" {
		t.Error(diff)
	}
}

// TestSabotageSwapAmongRowsThatComeTwice is the demo's burst: many rows inserted
// and updated once, few keys that come again and again.
func TestSabotageSwapAmongRowsThatComeTwice(t *testing.T) {
	r := newRig(t, Config{Record: true})
	if err := r.Sabotage(Swap, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		for range 2 {
			r.send(t, fmt.Sprint("row", i), "x")
		}
		if i%20 == 0 {
			r.send(t, "hot", "x")
		}
	}
	if n := r.Counters().Sabotaged; n != 2 {
		t.Errorf("sabotaged %d", n)
	}
}

func TestSabotageUnknown(t *testing.T) {
	r := newRig(t, Config{})
	if err := r.Sabotage("burn", 0); err == nil {
		t.Error("an unknown kind is accepted")
	}
}
