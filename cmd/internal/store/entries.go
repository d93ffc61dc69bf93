package store

import (
	"os"
	"sync"

	"golang.org/x/sync/errgroup"
)

// entries are directories with entries that are not known to be on disk. Many files
// that go into one directory together need only one sync of it.
type entries struct {
	mu   sync.Mutex
	dirs map[string]bool
}

func (e *entries) note(dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dirs == nil {
		e.dirs = map[string]bool{}
	}
	e.dirs[dir] = true
}

// sync puts them on disk.
func (e *entries) sync(root *os.Root) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(parallelFiles)
	for dir := range e.dirs {
		g.Go(func() error { return syncIn(root, dir) })
	}
	return g.Wait()
}
