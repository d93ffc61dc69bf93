package session

import (
	"context"
	"sync"

	"github.com/go-zookeeper/zk"
)

// Watched is a node that is read again and again, with one watch at a time: a watch lasts
// until the node changes, however often it is read before.
type Watched struct {
	conn    *Conn
	path    string
	changed func()

	mu      sync.Mutex
	pending <-chan zk.Event // the watch that has not fired, nil = there is none
}

// Watch returns a watched node. changed is called when it may have changed since it was
// read.
func (c *Conn) Watch(path string, changed func()) *Watched {
	return &Watched{conn: c, path: path, changed: changed}
}

// Get reads the node. Two calls must not run at once.
func (w *Watched) Get(ctx context.Context) (View, error) {
	w.mu.Lock()
	watch := w.pending
	w.mu.Unlock()
	if watch != nil {
		v, err := w.conn.Get(ctx, w.path)
		v.Watch = watch
		return v, err
	}
	v, err := w.conn.WatchData(ctx, w.path)
	if err != nil {
		return v, err
	}
	w.mu.Lock()
	w.pending = v.Watch
	w.mu.Unlock()
	w.conn.Spawn(func() {
		select {
		case <-v.Watch:
			w.mu.Lock()
			w.pending = nil
			w.mu.Unlock()
			w.changed()
		case <-w.conn.Context().Done():
		}
	})
	return v, nil
}

// Heard reports whether a change since a reading is going to be heard of: its watch has
// not fired. If it has, changed was called perhaps before the reading.
func (w *Watched) Heard(v View) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return v.Watch != nil && w.pending == v.Watch
}
