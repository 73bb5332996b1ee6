package service

import "sync"

// Readiness is what /readyz answers. Ready means moving: changes flow, or there
// are none. The zero value says that the service is starting. It is safe for
// concurrent use.
type Readiness struct {
	mu       sync.Mutex
	ask      func() (ready bool, reason string)
	stopping bool
}

// Watch makes ask the source of the answer. It is called at each request and
// must not block; reason says what is waited for, in words.
func (r *Readiness) Watch(ask func() (ready bool, reason string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ask = ask
}

// State returns the answer of now.
func (r *Readiness) State() (ready bool, reason string) {
	r.mu.Lock()
	ask, stopping := r.ask, r.stopping
	r.mu.Unlock()
	switch {
	case stopping:
		return false, "stopping"
	case ask == nil:
		return false, "starting"
	}
	return ask()
}

// stop makes the answer no for good.
func (r *Readiness) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}
