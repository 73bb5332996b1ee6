package capture

import (
	"context"
	"sync"

	"cdc/capture/confirm"
	"cdc/schema"
)

// flight is the confirm window shared between the goroutine that receives, those
// on which the publisher reports acceptance, and the one that confirms.
type flight struct {
	mu      sync.Mutex
	w       *confirm.Window
	changed chan struct{} // has a token when room or Confirmable may have grown
}

func newFlight(limitBytes int64, start schema.LSN) *flight {
	return &flight{w: confirm.New(limitBytes, start), changed: make(chan struct{}, 1)}
}

func (f *flight) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w.Begin()
}

func (f *flight) commit(end schema.LSN) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w.Commit(end)
}

func (f *flight) keepalive(walEnd schema.LSN) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.w.Keepalive(walEnd)
}

// tryAdd adds a message unless the window is full.
func (f *flight) tryAdd(bytes int) (confirm.Tag, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w.Full() {
		return 0, false
	}
	return f.w.Add(bytes), true
}

func (f *flight) accepted(tag uint64) {
	f.mu.Lock()
	changed := f.w.Accepted(confirm.Tag(tag))
	f.mu.Unlock()
	if changed {
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}

// confirmable returns what may be confirmed, and what of it transactions moved.
func (f *flight) confirmable() (lsn, published schema.LSN) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Confirmable(), f.w.Published()
}

func (f *flight) load() (bytes, messages int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.w.Bytes(), f.w.Messages()
}

// wait returns when the state may have changed. One goroutine waits at a time.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle waits until every transaction that was committed on the stream is
// accepted.
func (f *flight) settle(ctx context.Context) error {
	for {
		f.mu.Lock()
		settled := f.w.Settled()
		f.mu.Unlock()
		if settled {
			return nil
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
}
