package wire

import (
	"context"
	"sync"
)

// part is something that is opened when it is first asked for. A try that failed
// is made again.
type part[T any] struct {
	mu   sync.Mutex
	have *T
}

func (p *part[T]) get(ctx context.Context, open func(context.Context) (T, error)) (v T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.have == nil {
		if v, err = open(ctx); err != nil {
			return v, err
		}
		p.have = &v
	}
	return *p.have, nil
}

// close ends the part if it was opened.
func (p *part[T]) close(end func(T) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.have == nil {
		return nil
	}
	v := *p.have
	p.have = nil
	return end(v)
}
