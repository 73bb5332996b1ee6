package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cdc/publish/queue"
	"cdc/schema"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// unavailable is an answer that is retried.
var unavailable = status.Error(codes.Unavailable, "try again")

func TestPublishInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error {
			time.Sleep(20 * time.Millisecond)
			return nil
		}}
		d := start(t, Config{}, conn)
		m := testMessage("a", "1")
		if err := d.Publish(t.Context(), m, 0, d.call); err != nil {
			t.Fatal(err)
		}
		m.Data[0], m.OrderingKey[0] = '9', 'z' // m is copied
		synctest.Wait()
		for i := uint64(1); i < 10; i++ {
			d.put(t, "a", fmt.Sprint(i+1), i)
		}
		time.Sleep(time.Second)
		if err := d.end(t); err != nil {
			t.Error(err)
		}
		conn.check(t)
		d.once(t, 10)
		if want := "[a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9 a=10]"; fmt.Sprint(conn.stored) != want {
			t.Errorf("stored %v", conn.stored)
		}
		if conn.calls != 2 {
			t.Errorf("%d requests: what gathers goes into the next", conn.calls)
		}
		s := d.Stats()
		if s.Messages != 10 || s.Requests != 2 || s.QueuedMessages != 0 || s.P50 < 20*time.Millisecond || s.P99 > 55*time.Millisecond {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestRetriesForEver: an outage of three hours ends with the message stored, once accepted.
func TestRetriesForEver(t *testing.T) {
	for _, code := range []codes.Code{
		codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unavailable,
	} {
		t.Run(code.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := time.Now().Add(3 * time.Hour)
				conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error {
					time.Sleep(time.Millisecond)
					if time.Now().Before(up) {
						return status.Error(code, "no")
					}
					return nil
				}}
				d := start(t, Config{}, conn)
				d.put(t, "a", "1", 0)
				d.put(t, "a", "2", 1)
				time.Sleep(3*time.Hour - time.Minute)
				if s := d.Stats(); s.Retries[code] < 1000 || s.Messages != 0 || d.count() != 0 {
					t.Errorf("during the outage: %+v", s)
				}
				time.Sleep(time.Minute + 6*time.Second)
				d.once(t, 2)
				if err := d.end(t); err != nil {
					t.Error(err)
				}
				conn.check(t)
			})
		})
	}
}

// TestOutageKeepsFewTrying: with every key failing, only max_in_flight of them
// are tried, with back-off.
func TestOutageKeepsFewTrying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error { return unavailable }}
		d := start(t, Config{MaxInFlight: 10}, conn)
		for i := range 1000 {
			d.put(t, fmt.Sprint(i), "1", uint64(i))
		}
		time.Sleep(time.Minute)
		before := conn.callCount()
		time.Sleep(time.Minute)
		if n := conn.callCount() - before; n < 60 || n > 600 {
			t.Errorf("%d attempts in a minute", n)
		}
		d.cancel()
		<-d.ended
	})
}

func TestAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		conn := &fakeConn{answer: func(ctx context.Context, _ *pubsubpb.PublishRequest) error {
			if attempts.Add(1) > 1 {
				return nil
			}
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}}
		d := start(t, Config{AttemptTimeout: 7 * time.Second}, conn)
		d.put(t, "a", "1", 0)
		time.Sleep(7*time.Second - time.Nanosecond)
		synctest.Wait()
		if s := d.Stats(); s.InFlight != 1 || s.Requests != 1 {
			t.Errorf("before the timeout: %+v", s)
		}
		time.Sleep(time.Second)
		d.once(t, 1)
		if s := d.Stats(); s.Retries[codes.DeadlineExceeded] != 1 {
			t.Errorf("after it: %+v", s)
		}
		if err := d.end(t); err != nil {
			t.Error(err)
		}
	})
}

// TestOtherCodesStop: Run ends with a code and a fix, nothing later of the key
// is sent, and Publish says the same.
func TestOtherCodesStop(t *testing.T) {
	for _, code := range []codes.Code{
		codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition,
		codes.Unimplemented, codes.AlreadyExists, codes.OutOfRange, codes.DataLoss, codes.Code(99),
	} {
		t.Run(code.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := &fakeConn{answer: func(ctx context.Context, r *pubsubpb.PublishRequest) error {
					key := r.GetMessages()[0].GetOrderingKey()
					if key != "public.t|secret" {
						<-ctx.Done() // in flight: cancelled and waited for
						time.Sleep(time.Second)
						return status.FromContextError(ctx.Err()).Err()
					}
					time.Sleep(time.Millisecond)
					return status.Error(code, "no such thing: "+key)
				}}
				d := start(t, Config{}, conn)
				d.put(t, "other", "1", 0)
				for i := range uint64(5) {
					d.put(t, "public.t|secret", "1", i)
				}
				err := <-d.ended
				calls := conn.callCount()
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Code() == "" || e.Fix() == "" || e.GRPC != code {
					t.Fatalf("Run returned %v", err)
				}
				if strings.Contains(err.Error()+e.Fix(), "secret") {
					t.Errorf("error shows the key: %v", err)
				}
				time.Sleep(time.Hour)
				if n := conn.callCount(); n != calls || len(conn.flying) != 0 {
					t.Errorf("%d requests after Run had returned, %d in flight", n-calls, len(conn.flying))
				}
				if got := d.Publish(t.Context(), testMessage("b", "1"), 9, d.call); !errors.Is(got, err) {
					t.Errorf("Publish afterwards: %v", got)
				}
				if d.count() != 0 || len(conn.stored) != 0 {
					t.Errorf("accepted %d, stored %v", d.count(), conn.stored)
				}
			})
		})
	}
}

// TestCancelInEachState: Run returns nil, promptly, and nothing is sent afterwards.
func TestCancelInEachState(t *testing.T) {
	block := func(ctx context.Context, _ *pubsubpb.PublishRequest) error {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	for name, test := range map[string]struct {
		cfg    Config
		answer func(context.Context, *pubsubpb.PublishRequest) error
		set    func(t *testing.T, d *running)
	}{
		"idle":    {set: func(*testing.T, *running) {}},
		"drained": {set: func(t *testing.T, d *running) { d.put(t, "a", "1", 0); time.Sleep(time.Second) }},
		"flying":  {answer: block, set: func(t *testing.T, d *running) { d.put(t, "a", "1", 0) }},
		"ready": {cfg: Config{MaxInFlight: 1}, answer: block, set: func(t *testing.T, d *running) {
			d.put(t, "a", "1", 0)
			d.put(t, "b", "1", 1)
		}},
		"retry": {
			answer: func(context.Context, *pubsubpb.PublishRequest) error { return unavailable },
			set:    func(t *testing.T, d *running) { d.put(t, "a", "1", 0) },
		},
		"resting": {set: func(t *testing.T, d *running) {
			d.put(t, "a", strings.Repeat("x", 900_000), 0)
			synctest.Wait()
			d.put(t, "a", "2", 1)
		}},
		"shut": {set: func(t *testing.T, d *running) { d.SetOpen(false); d.put(t, "a", "1", 0) }},
		"publish blocked": {cfg: Config{MaxQueuedBytes: 2000}, answer: block, set: func(t *testing.T, d *running) {
			d.put(t, "a", strings.Repeat("x", 1000), 0)
			go func() {
				if err := d.Publish(t.Context(), testMessage("a", strings.Repeat("x", 1000)), 1, d.call); !errors.Is(err, ErrStopped) {
					t.Errorf("blocked Publish: %v", err)
				}
			}()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := &fakeConn{answer: test.answer}
				d := start(t, test.cfg, conn)
				test.set(t, d)
				synctest.Wait()
				begin := time.Now()
				if err := d.end(t); err != nil {
					t.Errorf("Run: %v", err)
				}
				if took := time.Since(begin); took > 0 {
					t.Errorf("took %v", took)
				}
				calls, accepted := conn.callCount(), d.count()
				if err := d.Publish(t.Context(), testMessage("c", "1"), 9, d.call); !errors.Is(err, ErrStopped) {
					t.Errorf("Publish afterwards: %v", err)
				}
				time.Sleep(time.Hour)
				if conn.callCount() != calls || d.count() != accepted {
					t.Error("something was sent or accepted after Run had returned")
				}
				if err := d.Run(t.Context()); err == nil {
					t.Error("second Run")
				}
			})
		})
	}
}

func TestPublishBlocksOnBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error { <-open; return nil }}
		d := start(t, Config{MaxQueuedBytes: 5000}, conn)
		d.put(t, "a", "1", 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		big := testMessage("b", strings.Repeat("x", 100_000)) // twenty times the limit
		if err := d.Publish(ctx, big, 1, d.call); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Publish while full: %v", err)
		}
		done := make(chan error)
		go func() { done <- d.Publish(t.Context(), big, 1, d.call) }()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("didn't block")
		default:
		}
		close(open)
		if err := <-done; err != nil {
			t.Error(err)
		}
		for i := range uint64(100) { // everything was given back
			d.put(t, fmt.Sprint("c", i), strings.Repeat("x", 500), 2+i)
		}
		time.Sleep(time.Second)
		d.once(t, 102)
		if err := d.end(t); err != nil {
			t.Error(err)
		}
		conn.check(t)
	})
}

// TestGate: while it is shut nothing is sent and an answer doesn't count.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error {
			time.Sleep(time.Second)
			return nil
		}}
		d := start(t, Config{}, conn)
		d.SetOpen(false)
		d.put(t, "a", "1", 0)
		time.Sleep(time.Minute)
		if conn.callCount() != 0 {
			t.Fatal("sent through a shut gate")
		}
		d.SetOpen(true)
		time.Sleep(time.Second / 2) // a=1 is in flight
		d.SetOpen(false)
		d.put(t, "a", "2", 1)
		time.Sleep(time.Minute)
		if conn.callCount() != 1 || d.count() != 0 || d.Stats().Open {
			t.Fatalf("%d calls, %d accepted", conn.callCount(), d.count())
		}
		d.SetOpen(true)
		time.Sleep(3 * time.Second)
		d.once(t, 2)
		if want := "[a=1 a=1 a=2]"; fmt.Sprint(conn.stored) != want {
			t.Errorf("stored %v", conn.stored)
		}
		if err := d.end(t); err != nil {
			t.Error(err)
		}
	})
}

// TestGateShutAndOpenedMeanwhile: an answer doesn't count either if the gate is
// open again when it comes: the message may have been stored for nobody.
func TestGateShutAndOpenedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error {
			time.Sleep(time.Second)
			return nil
		}}
		d := start(t, Config{}, conn)
		d.put(t, "a", "1", 0)
		time.Sleep(time.Second / 4)
		d.SetOpen(false)
		time.Sleep(time.Second / 4)
		d.SetOpen(true)
		time.Sleep(time.Second)
		if d.count() != 0 {
			t.Error("accepted what was sent before the gate was shut")
		}
		time.Sleep(time.Second)
		d.once(t, 1)
		if want := "[a=1 a=1]"; fmt.Sprint(conn.stored) != want {
			t.Errorf("stored %v", conn.stored)
		}
		if err := d.end(t); err != nil {
			t.Error(err)
		}
		conn.check(t)
	})
}

// TestHotKey: one key is held to 0.9 MB/s and doesn't slow the others.
func TestHotKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{answer: func(context.Context, *pubsubpb.PublishRequest) error {
			time.Sleep(5 * time.Millisecond)
			return nil
		}}
		d := start(t, Config{}, conn)
		begin := time.Now()
		const hot = 900
		for i := range uint64(hot) {
			d.put(t, "hot", strings.Repeat("x", 10_000), i)
		}
		var slowest atomic.Int64
		for i := range uint64(100) {
			pushed := time.Now()
			if err := d.Publish(t.Context(), testMessage(fmt.Sprint(i), "1"), hot+i, func(tag uint64) {
				slowest.Store(max(slowest.Load(), int64(time.Since(pushed))))
				d.call(tag)
			}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Duration(slowest.Load()); d > 10*time.Millisecond {
			t.Errorf("another key waited %v", d)
		}
		for d.count() < hot+100 {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(begin); took < 9*time.Second || took > 11500*time.Millisecond {
			t.Errorf("9 MB of one key took %v", took)
		}
		time.Sleep(2 * time.Second)
		if s := d.Stats(); s.Resting != 0 || s.QueuedBytes != 0 {
			t.Errorf("afterwards %+v", s)
		}
		if err := d.end(t); err != nil {
			t.Error(err)
		}
		conn.check(t)
	})
}

// largest returns a message that makes a request of the most bytes, and extra.
func largest(t *testing.T, d *Dispatcher, extra int) *schema.Message {
	t.Helper()
	m := testMessage("a", "")
	_, bytes, err := d.encode(m)
	if err != nil {
		t.Fatal(err)
	}
	// The length of the body takes three bytes more than that of an empty one.
	m.Data = make([]byte, MaxRequestBytes-len(d.topic)-bytes-3+extra)
	return m
}

func TestPublishRefuses(t *testing.T) {
	d := start(t, Config{}, &fakeConn{})
	for name, test := range map[string]struct {
		m    *schema.Message
		code string
	}{
		"largest":    {largest(t, d.Dispatcher, 0), ""},
		"oversize":   {largest(t, d.Dispatcher, 1), "oversize"},
		"no key":     {testMessage("", "1"), "publish_no_key"},
		"long key":   {testMessage(strings.Repeat("k", 1025), "1"), "oversize"},
		"widest key": {testMessage(strings.Repeat("k", 1024), "1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.Publish(t.Context(), test.m, 0, d.call)
			if test.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Code() != test.code || e.Fix() == "" {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := d.end(t); err != nil {
		t.Error(err)
	}
}

// TestAnswerThatIsNone: an answer with other than one ID a message proves nothing.
func TestAnswerThatIsNone(t *testing.T) {
	for name, bytes := range map[string][]byte{"too few IDs": nil, "not an answer": {0xff}, "cut": {0x0a, 5, 'x'}} {
		t.Run(name, func(t *testing.T) {
			d := start(t, Config{}, &fakeConn{})
			r := &wireResponse{bytes}
			err := d.accept(request{Items: make([]queue.Item[item], 1)}, r)
			if _, fatal := classify(err, testTopic, ""); fatal == nil || fatal.Code() != "publish_unexpected_answer" {
				t.Errorf("got %v", fatal)
			}
			if err := d.end(t); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryCodeIsClassified(t *testing.T) {
	for code := codes.Code(1); code <= codes.Unauthenticated; code++ {
		v, ok := verdicts[code]
		if !ok || v.retry == (v.code != "") || v.retry == (v.fix != "") {
			t.Errorf("%v: %+v", code, v)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for us := range 100_000 {
		d := time.Duration(us) * time.Microsecond
		if up := bound(bucket(uint64(us))); up < d || us > 4 && float64(up) > 1.26*float64(d) {
			t.Fatalf("%v is counted up to %v", d, up)
		}
		h.add(d)
	}
	h.add(-1)
	h.add(1 << 62)
	for _, q := range []struct {
		q    float64
		want time.Duration
	}{{0.5, 50 * time.Millisecond}, {0.99, 99 * time.Millisecond}} {
		if got := h.quantile(q.q); got < q.want-time.Millisecond || float64(got) > 1.26*float64(q.want) {
			t.Errorf("p%v: %v", 100*q.q, got)
		}
	}
	if !slices.IsSortedFunc([]int{0, 1, 50, 159}, func(a, b int) int { return int(bound(a) - bound(b)) }) {
		t.Error("bounds don't rise")
	}
}
