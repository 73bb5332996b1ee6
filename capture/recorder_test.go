package capture

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"cdc/schema"
)

// recorder is a Publisher that keeps what it is given and accepts it in random
// order and with a random delay.
type recorder struct {
	tb    testing.TB
	delay time.Duration // at most; 0 accepts before Publish returns

	mu       sync.Mutex
	rng      *rand.Rand
	messages []recorded
	blocked  chan struct{} // not nil: Publish waits until it is closed
	hold     bool          // accept nothing
	held     []func()
	pending  sync.WaitGroup
}

// recorded is one message.
type recorded struct {
	key      string
	attrs    schema.Attributes
	data     []byte
	accepted bool
}

func newRecorder(tb testing.TB, delay time.Duration) *recorder {
	seed := uint64(time.Now().UnixNano())
	tb.Logf("seed %d", seed)
	return &recorder{tb: tb, delay: delay, rng: rand.New(rand.NewPCG(seed, 0))}
}

func (r *recorder) Publish(ctx context.Context, m *schema.Message, tag uint64, accepted func(uint64)) error {
	r.mu.Lock()
	blocked := r.blocked
	r.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.messages)
	r.messages = append(r.messages, recorded{key: string(m.OrderingKey), attrs: m.Attributes, data: bytes.Clone(m.Data)})
	accept := func() {
		r.mu.Lock()
		r.messages[i].accepted = true
		r.mu.Unlock()
		accepted(tag)
	}
	switch {
	case r.hold:
		r.held = append(r.held, accept)
	case r.delay == 0:
		r.messages[i].accepted = true
		accepted(tag)
	default:
		r.pending.Add(1)
		time.AfterFunc(time.Duration(r.rng.Int64N(int64(r.delay))), func() { defer r.pending.Done(); accept() })
	}
	return nil
}

// release accepts what was held, in random order, and holds nothing more.
func (r *recorder) release() {
	r.mu.Lock()
	held := r.held
	r.held, r.hold = nil, false
	r.rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	r.mu.Unlock()
	for _, accept := range held {
		accept()
	}
}

func (r *recorder) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.messages)
}

// lastKey returns the ordering key of the last message.
func (r *recorder) lastKey() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.messages) == 0 {
		return ""
	}
	return r.messages[len(r.messages)-1].key
}

func (r *recorder) snapshot() []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.messages)
}

// decoded is a change with its own memory, in text.
type decoded struct {
	op          schema.Op
	position    schema.Position
	table       string
	key         string
	previousKey string
	after       map[string]string // a null is <null>
	before      map[string]string // nil if it wasn't sent
	xid         uint64
	commitTime  schema.Micros
	types       map[string]string
	version     int64
	source      schema.Source
}

func (m recorded) decode(tb testing.TB) decoded {
	tb.Helper()
	var dec schema.Decoder
	if err := dec.Changes(&m.attrs, m.data); err != nil {
		tb.Fatalf("decode: %v\n%s", err, m.data)
	}
	var c schema.Change
	if !dec.Next(&c) {
		tb.Fatalf("decode: %v\n%s", dec.Err(), m.data)
	}
	d := decoded{
		op: c.Op, position: c.Position, table: c.Table.String(), key: string(schema.AppendKey(nil, c.Key)),
		after: texts(c.Table, c.After), before: texts(c.Table, c.Before), xid: c.XID, commitTime: c.CommitTime,
		version: c.Table.Version, source: c.Table.Source, types: map[string]string{},
	}
	if c.PreviousKey != nil {
		d.previousKey = string(schema.AppendKey(nil, c.PreviousKey))
	}
	for _, col := range c.Table.Columns {
		d.types[col.Name] = col.Type
	}
	if got := string(schema.AppendOrderingKey(nil, c.Table, c.Key)); got != m.key {
		tb.Fatalf("ordering key %q, of the row %q", m.key, got)
	}
	return d
}

func texts(t *schema.Table, row schema.Row) map[string]string {
	if row == nil {
		return nil
	}
	m := map[string]string{}
	for i, v := range row {
		switch v.State {
		case schema.Text:
			m[t.Columns[i].Name] = string(v.Text)
		case schema.Unchanged:
			m[t.Columns[i].Name] = "<unchanged>"
		default:
			m[t.Columns[i].Name] = "<null>"
		}
	}
	return m
}

// rows returns each table's rows as someone has them who keeps, of each key, the
// change with the highest Position: table → key → column → text.
func (r *recorder) rows() map[string]map[string]map[string]string {
	newest := map[string]decoded{}
	for _, m := range r.snapshot() {
		d := m.decode(r.tb)
		id := d.table + "|" + d.key
		if have, ok := newest[id]; !ok || have.position.Less(d.position) {
			newest[id] = d
		}
	}
	rows := map[string]map[string]map[string]string{}
	for _, d := range newest {
		if rows[d.table] == nil {
			rows[d.table] = map[string]map[string]string{}
		}
		if d.op != schema.Delete {
			rows[d.table][d.key] = d.after
		}
	}
	return rows
}

// checkOrder checks that first occurrences of each ordering key are in the order
// of their Positions, and that a message that comes again is the same.
func (r *recorder) checkOrder() {
	r.tb.Helper()
	type seen struct {
		last schema.Position
		data map[schema.Position]string
	}
	keys := map[string]*seen{}
	for _, m := range r.snapshot() {
		s := keys[m.key]
		if s == nil {
			s = &seen{data: map[schema.Position]string{}}
			keys[m.key] = s
		}
		d := m.decode(r.tb)
		text := fmt.Sprint(d.op, d.key, d.previousKey, d.after, d.before, d.xid, d.commitTime)
		if old, ok := s.data[d.position]; ok {
			if old != text {
				r.tb.Errorf("position %s came twice and differs", d.position)
			}
			continue
		}
		if !s.last.Less(d.position) {
			r.tb.Errorf("key %q: %s came after %s", m.key, d.position, s.last)
		}
		s.last, s.data[d.position] = d.position, text
	}
}

// running is a Capture that runs.
type running struct {
	tb      testing.TB
	capture *Capture
	cancel  context.CancelFunc
	done    chan error
}

// start runs a Capture until the test ends.
func start(tb testing.TB, cfg Config, p Publisher) *running {
	tb.Helper()
	c, err := New(cfg, p)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	r := &running{tb, c, cancel, make(chan error, 1)}
	go func() { r.done <- c.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		select {
		case <-r.done:
		case <-time.After(15 * time.Second):
			tb.Error("Run doesn't end")
		}
	})
	return r
}

// wait returns what Run returned.
func (r *running) wait() error {
	r.tb.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(20 * time.Second):
		r.tb.Fatal("Run doesn't end")
		return nil
	}
}

func (r *running) stop() {
	r.tb.Helper()
	r.cancel()
	if err := r.wait(); err != nil {
		r.tb.Fatalf("stop: %v", err)
	}
}

func mustInit(tb testing.TB, cfg Config) {
	tb.Helper()
	if _, err := Init(tb.Context(), cfg); err != nil {
		tb.Fatal(err)
	}
}
