package publish

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"cdc/schema"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// discard is a log that nobody reads.
var discard = slog.New(slog.DiscardHandler)

const testTopic = "projects/p/topics/ordered"

// fakeConn is a connection without a network, for synctest: it decodes each
// request with the generated types and lets answer decide.
type fakeConn struct {
	answer func(ctx context.Context, r *pubsubpb.PublishRequest) error

	mu     sync.Mutex
	calls  int
	flying map[string]int
	errs   []error // broken rules
	stored []string
}

func (c *fakeConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, fmt.Errorf("no streams here")
}

func (c *fakeConn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	pieces, err := codec{}.Marshal(args)
	if err != nil {
		return err
	}
	var r pubsubpb.PublishRequest
	if err := proto.Unmarshal(pieces.Materialize(), &r); err != nil {
		return err
	}
	key := r.GetMessages()[0].GetOrderingKey()
	c.mu.Lock()
	c.calls++
	if c.flying == nil {
		c.flying = make(map[string]int)
	}
	if c.flying[key]++; c.flying[key] > 1 {
		c.errs = append(c.errs, fmt.Errorf("two in flight for %s", key))
	}
	if method != publishMethod || r.GetTopic() != testTopic {
		c.errs = append(c.errs, fmt.Errorf("method %s, topic %s", method, r.GetTopic()))
	}
	for _, m := range r.GetMessages() {
		if m.GetOrderingKey() != key || m.GetAttributes()[schema.AttrSent] == "" {
			c.errs = append(c.errs, fmt.Errorf("message with key %s, attributes %v in a request of %s", m.GetOrderingKey(), m.GetAttributes(), key))
		}
	}
	c.mu.Unlock()
	if c.answer != nil {
		err = c.answer(ctx, &r)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flying[key]--; c.flying[key] == 0 {
		delete(c.flying, key)
	}
	if err != nil {
		return err
	}
	var resp pubsubpb.PublishResponse
	for range r.GetMessages() {
		resp.MessageIds = append(resp.MessageIds, fmt.Sprint(len(c.stored)))
	}
	for _, m := range r.GetMessages() {
		c.stored = append(c.stored, key+"="+string(m.GetData()))
	}
	bytes, err := proto.Marshal(&resp)
	if err != nil {
		return err
	}
	return codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes)}, reply)
}

func (c *fakeConn) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.errs {
		t.Error(err)
	}
}

func (c *fakeConn) callCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// testMessage has its number as its data.
func testMessage(key string, data string) *schema.Message {
	return &schema.Message{
		OrderingKey: []byte(key),
		Attributes:  schema.Attributes{Version: 1, Database: "shop", Schema: "public", Table: "orders", Op: schema.Create, Count: 1, ContentType: schema.ContentJSON, SourceID: "7"},
		Data:        []byte(data),
	}
}

// accepts collects the calls of accepted.
type accepts struct {
	mu   sync.Mutex
	tags map[uint64]int
}

func (a *accepts) call(tag uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tags == nil {
		a.tags = make(map[uint64]int)
	}
	a.tags[tag]++
}

func (a *accepts) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.tags)
}

// once reports a tag that wasn't accepted exactly once.
func (a *accepts) once(t *testing.T, tags uint64) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for tag := range tags {
		if a.tags[tag] != 1 {
			t.Errorf("tag %d accepted %d times", tag, a.tags[tag])
		}
	}
}

// running is a Dispatcher whose Run is going.
type running struct {
	*Dispatcher
	accepts
	cancel context.CancelFunc
	ended  chan error
}

func start(t *testing.T, cfg Config, conn grpc.ClientConnInterface) *running {
	t.Helper()
	if cfg.Topic == "" {
		cfg.Topic = testTopic
	}
	d, err := NewDispatcher(cfg, conn, discard)
	if err != nil {
		t.Fatal(err)
	}
	d.idle = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{Dispatcher: d, cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- d.Run(ctx) }()
	return r
}

// stopped cancels Run and returns its error.
func (r *running) end(t *testing.T) error {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("Run doesn't return")
		return nil
	}
}

// put publishes data under key with the next tag.
func (r *running) put(t *testing.T, key, data string, tag uint64) {
	t.Helper()
	if err := r.Publish(t.Context(), testMessage(key, data), tag, r.call); err != nil {
		t.Fatal(err)
	}
}
