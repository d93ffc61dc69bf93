package wire

import (
	"context"
	"sync"
)

// lazy is a value that is opened on first use. An open that failed is tried again by
// the next use.
type lazy[T any] struct {
	mu     sync.Mutex
	opened bool
	value  T
}

// get returns the value, opened by open when it is not yet.
func (l *lazy[T]) get(ctx context.Context, open func(context.Context) (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.opened {
		v, err := open(ctx)
		if err != nil {
			return v, err
		}
		l.value, l.opened = v, true
	}
	return l.value, nil
}

// close ends the value if it was opened.
func (l *lazy[T]) close(end func(T) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.opened {
		return nil
	}
	l.opened = false
	return end(l.value)
}

// openAll runs the steps up to the first that fails.
func openAll(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// into returns the step of [openAll] that opens a value and stores it in to.
func into[T any](to *T, open func(context.Context) (T, error)) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		*to, err = open(ctx)
		return err
	}
}

// opening returns the step of [openAll] that opens a value for later.
func opening[T any](open func(context.Context) (T, error)) func(context.Context) error {
	return into(new(T), open)
}
