package pubsubtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	half = strings.Repeat("x", 500_000) // half a second's bytes of a key
	// large keeps its key over the rate for longer than a busy machine takes for
	// what a test does meanwhile: the server's clock goes on.
	large = strings.Repeat("x", 9_900_000)
)

func (r *rig) ratedKeys() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.topics[testTopic].rates.keys)
}

func TestRuleKeyRate(t *testing.T) {
	const text = "The publisher throughput of an ordering key exceeds the maximum of 1000000 bytes per second."
	r := newRig(t, Config{KeyRate: KeyRateRefused, Record: true})
	publish := func(key, data string) error {
		_, err := r.pub.Publish(t.Context(), publishOf(key, data))
		return err
	}
	taken := 0
	var err error
	for _, data := range []string{half, half, large, half} { // a second's worth at once, and the request that goes over it
		if err = publish("hot", data); err != nil {
			break
		}
		taken++
	}
	r.wantRefused(t, RuleKeyRate, codes.ResourceExhausted, text, err)
	if taken != 3 {
		t.Errorf("%d requests were taken, want 3", taken)
	}
	for _, key := range []string{"cold", ""} { // no other key is touched, and no message without one
		for range 3 {
			if err := publish(key, half); err != nil {
				t.Errorf("key %q: %v", key, err)
			}
		}
	}
	for range 10 { // a refused request costs nothing
		r.wantRefused(t, RuleKeyRate, codes.ResourceExhausted, text, publish("hot", half))
	}
	r.Advance(10 * time.Second)
	if err := publish("hot", half); err != nil {
		t.Errorf("after its bytes are paid for: %v", err)
	}
	stored := len(r.Stored(testTopic))
	if c := r.Counters(); stored != 10 || c.Throttled != 11 || c.Answers["ResourceExhausted"] != 11 || c.Answers["OK"] != 10 {
		t.Errorf("%d stored, counters %+v", stored, c)
	}
	if err := publish("large", large); err != nil {
		t.Errorf("one large message: %v", err)
	}
	r.wantRefused(t, RuleKeyRate, codes.ResourceExhausted, text, publish("large", "x"))
	r.Advance(9 * time.Second)
	if err := publish("large", "x"); err != nil {
		t.Error(err)
	}
	r.Advance(2 * time.Second)
	if n := r.ratedKeys(); n != 0 {
		t.Errorf("%d idle keys are remembered", n)
	}
}

// TestKeyRateDelayed: over its rate a key's request is stored, its answer waits
// for the server's clock, and a caller that gives up leaves nothing behind.
func TestKeyRateDelayed(t *testing.T) {
	r := newRig(t, Config{Record: true})
	r.send(t, "hot", large)
	done := make(chan error, 1)
	go func() {
		_, err := r.pub.Publish(t.Context(), publishOf("hot", "late"))
		done <- err
	}()
	waitFor(t, "the request to be stored", func() bool { return len(r.Stored(testTopic)) == 2 })
	r.send(t, "cold", "other")
	r.send(t, "", half, half, half, half)
	r.send(t, "", "unordered")
	select {
	case err := <-done:
		t.Fatalf("answered at once: %v", err)
	default:
	}
	r.Advance(9 * time.Second)
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	r.send(t, "given up", large)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := r.pub.Publish(ctx, publishOf("given up", "stored")); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("beyond its deadline: %v", err)
	}
	waitFor(t, "the answer to be forgotten", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.laters) == 0
	})
	if c := r.Counters(); c.Throttled != 2 || c.Refused[RuleKeyRate] != 0 {
		t.Errorf("counters %+v", c)
	}
	stored := r.Stored(testTopic)
	if last := stored[len(stored)-1]; string(last.Data) != "stored" {
		t.Errorf("what was not answered in time is not stored: the last is %.20q", last.Data)
	}
}

func TestKeyRateOff(t *testing.T) {
	r := newRig(t, Config{KeyRate: KeyRateOff})
	for range 20 {
		r.send(t, "hot", half)
	}
	if n := r.Counters().Throttled; n != 0 || r.ratedKeys() != 0 {
		t.Errorf("%d throttled, %d keys known", n, r.ratedKeys())
	}
}

// TestKeyRatesOver: one second's bytes may be ahead, and time pays for them.
func TestKeyRatesOver(t *testing.T) {
	var r keyRates
	for i, want := range []time.Duration{0, -500 * time.Millisecond, 0, 500 * time.Millisecond} { // before the i-th half second's bytes
		if got := time.Duration(r.over([]byte("k"), 0)); got != want {
			t.Errorf("before charge %d the key is over by %s, want %s", i, got, want)
		}
		r.charge("k", len(half), 0)
	}
	if got := r.over([]byte("k"), int64(time.Second)); got != 0 {
		t.Errorf("a second later it is over by %s", time.Duration(got))
	}
}

// TestKeyRatesForget: however many keys pass, only those ahead of their rate are
// remembered, in the order of time or not.
func TestKeyRatesForget(t *testing.T) {
	var r keyRates
	now := int64(0)
	most := 0
	for i := range 100_000 {
		now += 10_000 // 100,000 requests a second of 1,000 bytes: 100 keys are ahead
		r.forget(now, forgetPerRequest)
		r.charge(fmt.Sprint("k", i), 1_000, now)
		if i%1_000 == 0 {
			r.charge("hot", 1_000_000, now)
		}
		most = max(most, len(r.keys))
	}
	if most > 300 {
		t.Errorf("%d keys were remembered at once", most)
	}
	if over := r.over([]byte("hot"), now); over < int64(90*time.Second) {
		t.Errorf("the hot key waits for %s", time.Duration(over))
	}
	r.forget(now+int64(time.Hour), len(r.keys))
	if len(r.keys) != 0 || r.first != nil || r.last != nil {
		t.Errorf("%d keys are left", len(r.keys))
	}
	if r.sweep(r.sweepAt); r.keys != nil || r.sweepAt != 0 {
		t.Errorf("an empty map is kept, which may be as large as it ever was; the next sweep is at %d", r.sweepAt)
	}
}
