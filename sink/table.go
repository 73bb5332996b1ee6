package sink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/googleapis/gax-go/v2"

	"cdc/schema"
	"cdc/sink/deadletter"
	"cdc/sink/storagewrite"
	"cdc/sink/tables"
)

// destinations is sink/tables. An error with a Code and a Fix needs a person, any
// other a retry.
type destinations interface {
	Plan(s *schema.Table) (*tables.Destination, error)
	Ensure(ctx context.Context, s *schema.Table) (*tables.Destination, error)
	Find(ctx context.Context, s *schema.Table) (d *tables.Destination, found bool, err error)
	Exists(ctx context.Context, d *tables.Destination) (bool, error)
}

// appender is a storagewrite.Stream: one attempt, nil if the rows are written, a
// *storagewrite.AppendError that says what else, or ctx's error.
type appender interface {
	Append(ctx context.Context, rows [][]byte) error
	Close()
}

// letters is sink/deadletter: nil once all letters are stored.
type letters interface {
	Send(ctx context.Context, l []deadletter.Letter) error
}

// host is what the tables of a sink share.
type host struct {
	cfg          Config
	log          *slog.Logger
	destinations destinations
	letters      letters
	stream       func(*storagewrite.Layout) appender
	done         func(*inbound)      // everything in it is settled
	hold         func(*inbound)      // it won't be settled
	givenBack    func(*inbound) bool // it comes again and mustn't be written any more
	stop         func(error)         // ends the sink: a person must act
	stats        *stats
	backoff      gax.Backoff
	now          func() time.Time
}

// appendsInFlight is how many appends of a table are under way at once. What
// gathers meanwhile goes into the next one: a group commit without a timer.
const appendsInFlight = 2

// table writes the messages of one source table.
type table struct {
	*host
	name  string
	queue *queue
	brake brake
	aside aside
	waits waits
	// holds is why the table holds messages; nil if it holds none.
	holds atomic.Pointer[heldMessage]

	appends sync.WaitGroup // those under way, and what waits aside

	// The rest belongs to the goroutine of run.
	decoder schema.Decoder
	current *inbound // being decoded
	next    int      // number of the change in it that comes next
	change  schema.Change
	pending bool // change is decoded and not in a batch yet

	target  *target
	plans   map[*schema.Table]*planned
	waiting []change // deletes that came before their table
	asked   time.Time
	arenas  chan []byte
}

// target is a destination with its stream.
type target struct {
	destination *tables.Destination
	layout      *storagewrite.Layout
	stream      appender
}

// planned is how rows of one schema.Table are written.
type planned struct {
	*storagewrite.Plan
	target *target
}

const maxPlans = 64

func newTable(h *host, name string) *table {
	return &table{host: h, name: name, queue: newQueue(), plans: make(map[*schema.Table]*planned), arenas: make(chan []byte, appendsInFlight)}
}

// run writes what comes until ctx is cancelled.
func (t *table) run(ctx context.Context) {
	slots := make(chan struct{}, appendsInFlight)
	defer t.appends.Wait()
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		b, to, err := t.gather(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.stop(err)
			}
			return
		}
		t.appends.Go(func() {
			defer func() { <-slots }()
			w := write{table: t, batch: b, target: to}
			if err := w.run(ctx); err != nil && ctx.Err() == nil {
				t.stop(err)
			}
		})
	}
}

// gather waits for something to write and takes what is there, up to the limits
// of a batch. All rows of a batch are for one target.
func (t *table) gather(ctx context.Context) (*batch, *target, error) {
	b := newBatch(t.arena())
	var to *target
	for !t.isFull(b) {
		full, err := t.takeWaiting(ctx, b, &to)
		if full || err != nil {
			return b, to, err
		}
		ready, err := t.decode(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		if !ready {
			if b.count() == 0 {
				if err := t.wait(ctx); err != nil {
					return nil, nil, err
				}
				continue
			}
			return b, to, nil
		}
		of := change{t.current, t.next - 1}
		if full, err = t.add(ctx, b, &to, of, &t.change); full || err != nil {
			return b, to, err
		}
		t.pending = false
	}
	return b, to, nil
}

func (t *table) arena() []byte {
	select {
	case a := <-t.arenas:
		return a
	default:
		return make([]byte, 0, 64<<10)
	}
}

// wait blocks until the queue has something, or until it is time to look again
// for the table of a waiting delete.
func (t *table) wait(ctx context.Context) error {
	var again <-chan time.Time
	if len(t.waiting) > 0 {
		defer t.waits.begin(phaseTable)()
		again = time.After(findAgain)
	}
	select {
	case <-t.queue.signal:
	case <-again:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// decode makes t.change the next change, if there is one.
func (t *table) decode(ctx context.Context, b *batch) (ready bool, err error) {
	for !t.pending {
		if t.current == nil {
			if t.current = t.queue.pop(); t.current == nil {
				return false, nil
			}
			t.next = 0
			if err := t.begin(t.current); err != nil {
				if err := t.undecodable(b, t.current, err); err != nil {
					return false, err
				}
				t.current = nil
			}
			continue
		}
		if t.decoder.Next(&t.change) {
			t.next++
			t.pending = true
			return true, nil
		}
		in := t.current
		t.current = nil
		if err := t.decoder.Err(); err != nil {
			if err := t.undecodable(b, in, err); err != nil {
				return false, err
			}
			continue
		}
		t.settle(in)
	}
	return true, ctx.Err()
}

// errNewer ends the decoding of a message whose attribute v isn't ours. A message
// without one isn't newer but foreign.
var errNewer = errors.New("another wire format version than this cdc-sink knows")

// errForeign ends the decoding of a message of another database: its tables may
// have the names of ours.
var errForeign = errors.New("a message of another database")

// errControl ends the decoding of a message that isn't row changes and is done.
var errControl = errors.New("control message")

// begin starts the decoding of a message.
func (t *table) begin(in *inbound) error {
	in.left.Store(1)
	for name, value := range in.message.Attributes() {
		if err := t.decoder.Attribute(&in.attributes, name, value); errors.Is(err, schema.ErrVersion) {
			return errNewer
		} else if err != nil {
			return err
		}
	}
	if database := in.attributes.Database; database != "" && t.cfg.Database != "" && database != t.cfg.Database {
		return errForeign
	}
	switch op := in.attributes.Op; op {
	case schema.ControlOp:
		return t.control(in)
	case schema.LogicalOp, schema.RequestOp, schema.Read:
		return unsupported(in, "op "+op.String())
	}
	return t.decoder.Changes(&in.attributes, in.message.Data)
}

// control handles a control message. Heartbeats need nothing; the others come
// with later releases and must not be lost until then.
func (t *table) control(in *inbound) error {
	c, err := t.decoder.Control(&in.attributes, in.message.Data)
	if err != nil {
		return err
	}
	if c.Kind != schema.Heartbeat {
		return unsupported(in, "control message "+string(c.Kind))
	}
	return errControl
}

func unsupported(in *inbound, what string) error {
	return &Error{
		what: what + " in message " + string(in.message.ID), code: "message_unsupported",
		fix: "upgrade cdc-sink: this version can't handle it; the message stays in the subscription",
	}
}

// undecodable says what becomes of a message that ended with err. The changes
// before the error may be in b: writing them does no harm.
func (t *table) undecodable(b *batch, in *inbound, err error) error {
	switch {
	case errors.Is(err, errControl):
		t.settle(in)
	case needsPerson(err):
		return err
	case errors.Is(err, errNewer):
		t.holdFor(in, &Error{"decode message", "wire_version", "upgrade cdc-sink to the version of cdc-publisher; the message is written then", err})
	case errors.Is(err, errForeign):
		t.holdFor(in, &Error{"decode message", "wrong_database", "give each database a topic and subscription of its own; correct pubsub.ordered of one of the two", err})
	default:
		// settle is called for it when the letter is stored.
		b.refused = append(b.refused, refusal{change: change{in, wholeMessage}, code: "undecodable", reason: err.Error()})
	}
	return nil
}

// wholeMessage is the number of a change that stands for all of a message.
const wholeMessage = -1

// settle says that one change of in is done, or its decoding.
func (t *table) settle(in *inbound) {
	if in.left.Add(-1) == 0 {
		t.done(in)
	}
}
