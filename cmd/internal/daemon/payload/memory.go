package payload

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

// ErrBusy is the error of a step that would take more memory for its manifest than the
// other steps of this process leave: it is tried again later.
var ErrBusy = errors.New("the manifests of other steps take the memory of this process")

// Memory bounds the bytes of manifests that the steps of this process hold at once. What
// is made of a manifest takes about three times as much.
type Memory struct {
	budget int64

	mu   sync.Mutex
	used int64
}

// NewMemory returns a budget of so many bytes.
func NewMemory(budget int64) *Memory { return &Memory{budget: budget} }

// smallManifest is up to which size a manifest may use the last eighth of the budget, so
// that large ones do not stop small ones.
const smallManifest = 1 << 20

type leaseKey struct{}

// lease is what one step holds.
type lease struct {
	of    *Memory
	bytes int64
}

// Step returns the context of a step, whose manifests count until release is called.
func (m *Memory) Step(ctx context.Context) (step context.Context, release func()) {
	l := &lease{of: m}
	return context.WithValue(ctx, leaseKey{}, l), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.used, l.bytes = m.used-l.bytes, 0
	}
}

// take adds bytes to the lease. A step that is alone gets them in any case: the limit of
// its profile bounds it.
func (l *lease) take(n int64) error {
	if l == nil {
		return nil
	}
	m := l.of
	m.mu.Lock()
	defer m.mu.Unlock()
	most := m.budget
	if l.bytes+n > smallManifest {
		most -= m.budget / 8
	}
	if m.used+n > most && m.used > l.bytes {
		return ErrBusy
	}
	m.used, l.bytes = m.used+n, l.bytes+n
	return nil
}

// leased is a buffer whose bytes count in the lease of a step.
type leased struct {
	bytes.Buffer
	lease *lease
}

// newLeased returns a buffer for the step of ctx; without one it is not bounded.
func newLeased(ctx context.Context) *leased {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	return &leased{lease: l}
}

// Write implements io.Writer.
func (b *leased) Write(p []byte) (int, error) {
	if err := b.lease.take(int64(len(p))); err != nil {
		return 0, err
	}
	return b.Buffer.Write(p)
}
