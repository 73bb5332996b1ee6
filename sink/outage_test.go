package sink_test

import (
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"

	"cdc/publish/pubsubtest"
	"cdc/schema"
	"cdc/schema/schematest"
	"cdc/sink"
	"cdc/sink/bigquerytest"
)

var soon = gax.Backoff{Initial: 10 * time.Millisecond, Max: 100 * time.Millisecond, Multiplier: 2}

// One service or both are down for longer than a lease, and BigQuery says for
// long that a quota is used up; then they heal: nothing is acked meanwhile, the
// end is right, and nothing hangs.
func TestOutages(t *testing.T) {
	t.Parallel()
	bigQuery := func(kind bigquerytest.FaultKind) func(*world) {
		return func(w *world) {
			w.bigquery.Inject(bigquerytest.Fault{Kind: kind, Count: -1})
			w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultREST, Status: http.StatusForbidden, Reason: "quotaExceeded", Count: -1})
		}
	}
	pubSub := func(code codes.Code) func(*world) {
		return func(w *world) {
			for _, method := range []string{"Acknowledge", "ModifyAckDeadline", "StreamingPull"} {
				w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.Refuse, Method: method, Code: code, Count: -1})
			}
			w.pubsub.Inject(pubsubtest.Fault{Kind: pubsubtest.ResetConnection})
		}
	}
	for name, down := range map[string][]func(*world){
		"bigquery":          {bigQuery(bigquerytest.FaultUnavailable)},
		"quota":             {bigQuery(bigquerytest.FaultThroughput)},
		"pubsub":            {pubSub(codes.Unavailable)},
		"pubsub internal":   {pubSub(codes.Internal)},
		"pubsub, no tokens": {pubSub(codes.ResourceExhausted)},
		"both":              {bigQuery(bigquerytest.FaultAborted), pubSub(codes.Unavailable)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, early := range []bool{true, false} { // down before the first message, and after some
				outage(t, early, down)
			}
		})
	}
}

func outage(t *testing.T, early bool, down []func(*world)) {
	w := newWorld(t, newSeed(t), pubsubtest.Config{OutOfOrderAcks: pubsubtest.AckDropped}, bigquerytest.Config{CreateDelay: -1})
	w.backoff = soon
	s := w.start()
	if !early {
		w.transactions(20)
		w.settled(s.Sink)
	}
	for _, f := range down {
		f(w)
	}
	w.transactions(40)
	before := w.pubsub.Counters().Acks
	for range 6 { // each longer than a lease that isn't extended
		used := w.faults()
		w.eventually("it is tried again", func() bool { return w.faults() > used })
		w.pubsub.Advance(11 * time.Second)
		w.bigquery.Advance(11 * time.Second)
	}
	if n := w.pubsub.Counters().Acks; n != before {
		t.Errorf("%d acks while something was down", n-before)
	}
	w.bigquery.ClearFaults()
	w.pubsub.ClearFaults()
	w.eventually("all acked and equal", func() bool {
		return w.pubsub.Backlog(subscription) == 0 && s.Stats().Outstanding == 0 && w.compare().OK()
	})
	must(t, s.stop())
	if n := len(w.dead()); n != 0 {
		t.Errorf("%d dead letters of good rows", n)
	}
}

func (w *world) faults() int64 { return w.pubsub.Counters().Faults + w.bigquery.Counters().FaultsUsed }

// The backlog is much larger than the window and BigQuery slow: the heap keeps to
// the window and a constant, and a stop at any moment leaves no goroutine behind.
func TestMemoryIsBounded(t *testing.T) {
	const messages, perKey, constant = 300_000, 1000, 32 << 20
	seed := newSeed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, seed, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.Pull.MaxMessages, w.cfg.Pull.MaxBytes, w.cfg.Grace = 20_000, 16<<20, 0
	w.cfg.Write.AppendTimeout = time.Minute
	w.bigquery.Inject(bigquerytest.Fault{Kind: bigquerytest.FaultSlow, Delay: time.Minute, Count: -1})
	w.backlog(messages, perKey)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for range 8 { // stopped while it starts, receives, or is full
		s := w.start()
		want := r.Int64N(3000)
		w.eventually("received", func() bool { return s.Stats().Messages >= want })
		must(t, s.stop())
		w.pubsub.Advance(11 * time.Second)
	}
	w.eventually("goroutines ended", func() bool { return ours() == 0 })
	before := heap()
	s := w.start()
	last, since := int64(0), time.Now()
	w.eventually("the window is full", func() bool {
		if n := s.Stats().Messages; n != last {
			last, since = n, time.Now()
		}
		return last > 5000 && time.Since(since) > 300*time.Millisecond
	})
	used := heap() - before
	t.Logf("window %d bytes, %d messages held: heap + %d bytes", w.cfg.Pull.MaxBytes, s.Stats().Outstanding, used)
	if limit := 2*w.cfg.Pull.MaxBytes + constant; used > limit {
		t.Errorf("heap + %d bytes, want at most %d", used, limit)
	}
	if ours() == 0 {
		t.Error("no goroutine of a sink is seen while it runs")
	}
	must(t, s.stop())
	w.eventually("goroutines ended", func() bool { return ours() == 0 })
}

// ours returns how many goroutines are the sink's. The libraries keep some for a
// bounded time: managedwriter for 20 s a connection, net/http for 90 s.
func ours() (n int) {
	b := make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		for _, name := range []string{"sink", "sink/pull", "sink/deadletter", "sink/storagewrite", "sink/tables"} {
			if strings.Contains(stack, "\ncdc/"+name+".") || strings.Contains(stack, "created by cdc/"+name+".") {
				n++
				break
			}
		}
	}
	return n
}

// backlog publishes n messages, perKey of each ordering key: the same ones, since
// only their size and number matter.
func (w *world) backlog(n, perKey int) {
	w.t.Helper()
	request := &pubsubpb.PublishRequest{Topic: topic}
	for i := range perKey {
		m, err := schematest.Message(w.order(strconv.Itoa(i), strings.Repeat("x", 200), 1000+i, schema.Update))
		must(w.t, err)
		attributes := make(map[string]string)
		m.Attributes.Each(func(name string, value []byte) { attributes[name] = string(value) })
		request.Messages = append(request.Messages, &pubsubpb.PubsubMessage{Data: m.Data, Attributes: attributes})
	}
	for key := range n / perKey {
		for _, m := range request.Messages {
			m.OrderingKey = strconv.Itoa(key)
		}
		_, err := w.publish.Publish(w.t.Context(), request)
		must(w.t, err)
	}
}

// Nothing answers any more when the sink is stopped: it ends in time all the same.
func TestStopEndsInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, pubsubtest.Config{}, bigquerytest.Config{CreateDelay: -1})
	w.cfg.Grace = 300 * time.Millisecond
	w.backoff = soon
	for _, f := range []pubsubtest.Fault{
		{Kind: pubsubtest.Late, Method: "Acknowledge"},
		{Kind: pubsubtest.Late, Method: "ModifyAckDeadline"},
		{Kind: pubsubtest.Late, Method: "Publish", Target: deadTopic},
	} {
		f.Delay, f.Count = time.Hour, -1
		w.pubsub.Inject(f)
	}
	s := w.start()
	for i := range 3000 { // more than one request acks
		w.send(w.order(strconv.Itoa(i), "x", 100+i, schema.Create))
	}
	w.sendRaw("", []byte("x"), map[string]string{"v": "1"})
	w.eventually("written", func() bool { return s.Stats().Changes == 3000 })
	began := time.Now()
	must(t, s.stop())
	if took := time.Since(began); took > w.cfg.Grace+sink.AfterGrace+time.Second {
		t.Errorf("the stop took %s", took)
	} else {
		t.Logf("the stop took %s", took)
	}
}
