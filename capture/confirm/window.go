package confirm

import "cdc/schema"

// Tag names one message in flight: the number of its transaction in the upper
// 48 bits, its size in units of 256 bytes in the lower 16. The publisher hands it
// back as it came.
type Tag uint64

const (
	unitBytes = 256
	sizeBits  = 16
	maxUnits  = 1<<sizeBits - 1
)

// MaxTransactions is how many transactions may wait behind an unaccepted one.
const MaxTransactions = 1 << 20

// transaction is 16 bytes, so that MaxTransactions of them cost 16 MiB.
type transaction struct {
	end         schema.LSN // zero while the transaction is open on the stream
	outstanding uint64     // messages that aren't accepted yet
}

// Window counts what is in flight. Make one with New.
type Window struct {
	limit     int64
	bytes     int64 // in flight
	messages  int64
	published schema.LSN // end of the accepted prefix of transactions
	keepalive schema.LSN
	open      bool

	first uint64 // number of the transaction at ring[head]
	ring  []transaction
	head  int
	n     int
}

// New returns a Window that is full once limitBytes are in flight. start is
// what is confirmed already.
func New(limitBytes int64, start schema.LSN) *Window {
	return &Window{limit: limitBytes, published: start, ring: make([]transaction, 64)}
}

// Full reports whether the next message has to wait: limitBytes or more are in
// flight (one message may exceed it), or MaxTransactions transactions wait.
func (w *Window) Full() bool { return w.bytes >= w.limit || w.n >= MaxTransactions }

// Bytes returns how many bytes are in flight, each message rounded up to 256.
func (w *Window) Bytes() int64 { return w.bytes }

// Messages returns how many messages are in flight.
func (w *Window) Messages() int64 { return w.messages }

// Transactions returns how many transactions aren't confirmable yet, an open one
// included.
func (w *Window) Transactions() int { return w.n }

// Open reports whether a transaction is open on the stream.
func (w *Window) Open() bool { return w.open }

// Settled reports whether every transaction that was committed on the stream is
// accepted: waiting longer confirms nothing more.
func (w *Window) Settled() bool { return w.n == 0 || (w.n == 1 && w.open) }

// Begin opens a transaction.
func (w *Window) Begin() {
	if w.open {
		panic("confirm: Begin inside a transaction")
	}
	if w.n == len(w.ring) {
		w.grow()
	}
	*w.at(w.n) = transaction{}
	w.n++
	w.open = true
}

// Add counts a message of the open transaction as in flight and returns its tag.
// It has to be called before the message is handed over.
func (w *Window) Add(bytes int) Tag {
	if !w.open {
		panic("confirm: Add outside of a transaction")
	}
	units := min((max(bytes, 1)+unitBytes-1)/unitBytes, maxUnits)
	w.at(w.n-1).outstanding++
	w.bytes += int64(units) * unitBytes
	w.messages++
	return Tag((w.first+uint64(w.n-1))<<sizeBits | uint64(units))
}

// Commit closes the open transaction, which ends at end.
func (w *Window) Commit(end schema.LSN) {
	if !w.open {
		panic("confirm: Commit outside of a transaction")
	}
	w.open = false
	last := w.at(w.n - 1)
	last.end = end
	// One that waits for nothing is joined with the one before it: transactions
	// without a change of ours don't add up behind a slow one.
	if last.outstanding == 0 && w.n > 1 {
		w.at(w.n - 2).end = end
		w.n--
		return
	}
	w.settle()
}

// Accepted counts the message of tag as accepted. It reports whether that made
// more confirmable or ended Full. A tag that isn't in flight is a broken caller:
// it panics rather than confirm what wasn't accepted.
func (w *Window) Accepted(tag Tag) bool {
	number, units := uint64(tag>>sizeBits), int64(tag&maxUnits)
	i := number - w.first // wraps to a huge number below first
	if i >= uint64(w.n) || w.at(int(i)).outstanding == 0 {
		panic("confirm: accepted a message that isn't in flight")
	}
	full := w.Full()
	w.at(int(i)).outstanding--
	w.bytes -= units * unitBytes
	w.messages--
	before := w.published
	w.settle()
	return w.published != before || full && !w.Full()
}

// Keepalive notes a keepalive's WAL end. It counts only if nothing is in flight
// and no transaction is open at this moment.
func (w *Window) Keepalive(walEnd schema.LSN) {
	if w.n == 0 && walEnd > w.keepalive {
		w.keepalive = walEnd
	}
}

// Confirmable returns the LSN up to which everything is accepted. It never falls.
func (w *Window) Confirmable() schema.LSN { return max(w.published, w.keepalive) }

// Published returns the part of Confirmable that transactions alone have moved.
func (w *Window) Published() schema.LSN { return w.published }

// settle takes accepted transactions off the front.
func (w *Window) settle() {
	for w.n > 0 {
		t := w.at(0)
		if t.end == 0 || t.outstanding > 0 {
			return
		}
		w.published = max(w.published, t.end)
		w.head = (w.head + 1) & (len(w.ring) - 1)
		w.first++
		w.n--
	}
}

func (w *Window) at(i int) *transaction { return &w.ring[(w.head+i)&(len(w.ring)-1)] }

func (w *Window) grow() {
	ring := make([]transaction, 2*len(w.ring))
	for i := range w.n {
		ring[i] = *w.at(i)
	}
	w.ring, w.head = ring, 0
}
