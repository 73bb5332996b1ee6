package sink_test

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"

	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

// Everything that heals, mixed by a seed, under every setting of both stand-ins:
// up to three sinks at once, some killed and some stopped. In the end BigQuery
// has the newest of every key and nothing is a dead letter.
func TestChaos(t *testing.T) {
	t.Parallel()
	for range 2 {
		seed := newSeed(t)
		chaos(t, seed)
	}
}

func chaos(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	coin := func() bool { return r.IntN(2) == 0 }
	ps := pubsubtest.Config{BatchMessages: 1 + r.IntN(200), AckIDBytes: 32 + r.IntN(993)}
	if coin() {
		ps.OutOfOrderAcks = pubsubtest.AckDropped
	}
	if coin() {
		ps.EndedStreams = pubsubtest.KeyHeld
	}
	bq := bigquerytest.Config{
		Seed: seed | 1, NullKeys: coin(), StrictDeletes: coin(), StreamErrors: coin(), RESTMaxStaleness: coin(),
		RequireRouting: coin(), ExactJSON: coin(),
		CreateDelay: time.Duration(1 + r.IntN(1500)*int(time.Millisecond)), RoundTrip: time.Duration(r.IntN(4)) * time.Millisecond,
	}
	w := newWorld(t, seed, ps, bq)
	if coin() {
		w.cfg.Tables.MaxStaleness = time.Hour
	}
	w.cfg.Write.AppendTimeout = 400 * time.Millisecond // some slow answers are later, some aren't
	w.backoff = gax.Backoff{Initial: 10 * time.Millisecond, Max: 200 * time.Millisecond, Multiplier: 2}
	var sinks []*running
	for range 6 {
		for len(sinks) < 1+r.IntN(3) {
			sinks = append(sinks, w.start())
		}
		w.injectAny(r)
		w.transactions(20 + r.IntN(60))
		i := r.IntN(len(sinks))
		s := sinks[i]
		before := s.Stats().Messages
		w.eventually("something comes or all is done", func() bool {
			return s.Stats().Messages > before || w.pubsub.Backlog(subscription) == 0 || w.advanced()
		})
		if coin() {
			s.kill()
		} else if err := s.stop(); err != nil {
			t.Fatalf("seed %d: stop: %v", seed, err)
		}
		sinks = append(sinks[:i], sinks[i+1:]...)
		w.pubsub.Advance(11 * time.Second)
	}
	w.bigquery.ClearFaults()
	w.pubsub.ClearFaults()
	sinks = append(sinks, w.start())
	w.eventually("no backlog", func() bool { return w.pubsub.Backlog(subscription) == 0 })
	for _, s := range sinks {
		if err := s.stop(); err != nil {
			t.Errorf("seed %d: stop: %v", seed, err)
		}
	}
	if c := w.compare(); !c.OK() || c.Rows == 0 {
		t.Errorf("seed %d: BigQuery and the source differ: %+v", seed, c)
	}
	if n := len(w.dead()); n != 0 {
		t.Errorf("seed %d: %d dead letters", seed, n)
	}
}

// advanced moves Pub/Sub's clock past every lease, but leaves the sink time for
// its acks: more each time, so that a busy machine gets there too, and before
// the dead-letter policy's attempts are used up. It returns false.
func (w *world) advanced() bool {
	if time.Since(w.advancedAt) > w.advancePause {
		w.pubsub.Advance(11 * time.Second)
		w.advancedAt = time.Now()
		w.advancePause = min(2*w.advancePause+50*time.Millisecond, 2*time.Second)
	}
	return false
}

func (w *world) injectAny(r *rand.Rand) {
	append := []bigquerytest.FaultKind{
		bigquerytest.FaultAborted, bigquerytest.FaultUnavailable, bigquerytest.FaultAnswerLost,
		bigquerytest.FaultThroughput, bigquerytest.FaultSlow,
	}
	for range r.IntN(5) {
		w.bigquery.Inject(bigquerytest.Fault{
			Kind: append[r.IntN(len(append))], After: r.IntN(6), Count: 1 + r.IntN(3), Delay: time.Duration(r.IntN(500)) * time.Millisecond,
		})
	}
	methods := []string{"tables.get", "tables.insert", "jobs.query", "datasets.get"}
	for range r.IntN(3) {
		f := bigquerytest.Fault{Kind: bigquerytest.FaultRESTLost, Method: methods[r.IntN(len(methods))], Count: 1 + r.IntN(2)}
		switch r.IntN(3) {
		case 0:
			f.Kind = bigquerytest.FaultREST
		case 1:
			f.Kind, f.Status, f.Reason = bigquerytest.FaultREST, http.StatusForbidden, "rateLimitExceeded"
		}
		w.bigquery.Inject(f)
	}
	for range r.IntN(5) {
		kinds := []pubsubtest.Fault{
			{Kind: pubsubtest.AnswerLost, Method: "Acknowledge"},
			{Kind: pubsubtest.Refuse, Method: "Acknowledge"},
			{Kind: pubsubtest.AnswerLost, Method: "ModifyAckDeadline"},
			{Kind: pubsubtest.Refuse, Method: "ModifyAckDeadline"},
			{Kind: pubsubtest.Delay, Method: "Acknowledge", Delay: 50 * time.Millisecond},
			{Kind: pubsubtest.Late, Method: "Acknowledge", Delay: time.Second},
			{Kind: pubsubtest.Refuse, Method: "StreamingPull"},
			{Kind: pubsubtest.Refuse, Method: "StreamingPull", Code: codes.ResourceExhausted},
			{Kind: pubsubtest.Duplicate},
			{Kind: pubsubtest.EndStream},
			{Kind: pubsubtest.HoldOthers},
			{Kind: pubsubtest.ResetConnection},
			{Kind: pubsubtest.Delay, Method: "StreamingPull", Delay: 20 * time.Millisecond},
		}
		f := kinds[r.IntN(len(kinds))]
		f.Skip, f.Count = r.IntN(8), 1+r.IntN(3)
		w.pubsub.Inject(f)
	}
}
