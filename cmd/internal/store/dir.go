package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/internal/crash"
)

// dir makes the writes into a bucket that is a directory durable, which its
// driver does not. All paths are keys, relative to the directory.
type dir struct {
	root root
	mu   sync.Mutex
	// Directories whose entry in their parent is known to be on disk.
	synced map[string]bool
}

// maxSynced bounds the memory of dir; beyond it directories are synced again.
const maxSynced = 10_000

// openDir opens a directory, which it creates durably when it is not there.
func openDir(path string) (*dir, error) {
	r, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	return &dir{root: r, synced: make(map[string]bool)}, nil
}

// check returns fs.ErrNotExist when the path no longer leads to the directory that
// is held open.
func (d *dir) check() error {
	open, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	now, err := os.Stat(d.root.Name())
	if err == nil && !os.SameFile(open, now) {
		err = fs.ErrNotExist
	}
	return err
}

// openRoot opens a directory, which it creates durably, parents included.
func openRoot(path string) (root, error) {
	top := path // the lowest directory that is there
	for top != filepath.Dir(top) {
		if _, err := os.Stat(top); err == nil {
			break
		}
		top = filepath.Dir(top)
	}
	err := crash.Around("store/directory/make", func() error { return os.MkdirAll(path, privateDir) })
	for parent := path; err == nil && parent != top; {
		parent = filepath.Dir(parent)
		err = syncPath(parent)
	}
	if err != nil {
		return root{}, err
	}
	r, err := os.OpenRoot(path)
	return root{r}, err
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return syncFile("path/sync", f)
}

// move moves the object tmp, whose bytes are on disk, to key. With absent set it
// fails with fs.ErrExist when key is taken, atomically also between processes. The
// new entry is synced, or added to unsynced.
func (d *dir) move(tmp, key string, absent bool, unsynced *entries) error {
	parent := path.Dir(key)
	if err := d.mkdirs(parent); err != nil {
		return err
	}
	err := d.enter(tmp, key, absent)
	if errors.Is(err, fs.ErrNotExist) { // a directory that was there has been removed
		d.forget()
		if err = d.mkdirs(parent); err == nil {
			err = d.enter(tmp, key, absent)
		}
	}
	if absent {
		err = errors.Join(err, d.root.remove("put/unlink", tmp))
	}
	// The process that made an existing entry may not have synced it yet.
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if unsynced != nil {
		unsynced.add(parent)
		return err
	}
	return errors.Join(err, d.root.syncDir(parent))
}

// enter makes the entry of a key.
func (d *dir) enter(tmp, key string, absent bool) error {
	if absent {
		return d.root.link("put/link", tmp, key)
	}
	return d.root.rename("put/rename", tmp, key)
}

// forget makes every directory one that may be missing.
func (d *dir) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.synced)
}

// mkdirs creates a directory and its parents, and syncs each new entry.
func (d *dir) mkdirs(name string) error {
	if name == "." || d.known(name) {
		return nil
	}
	parent := path.Dir(name)
	if err := d.mkdirs(parent); err != nil {
		return err
	}
	if err := d.root.mkdir("put/make-directory", name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := d.root.syncDir(parent); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.synced) >= crash.Remembered(maxSynced) {
		clear(d.synced)
	}
	d.synced[name] = true
	return nil
}

func (d *dir) known(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced[name]
}

// entries are directories with entries that are not known to be on disk. Many files
// that go into one directory together need only one sync of it.
type entries struct {
	mu   sync.Mutex
	dirs map[string]bool
}

func (e *entries) add(dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dirs == nil {
		e.dirs = map[string]bool{}
	}
	e.dirs[dir] = true
}

// sync puts them on disk.
func (e *entries) sync(r root) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(parallelFiles)
	for dir := range e.dirs {
		g.Go(func() error { return r.syncDir(dir) })
	}
	return g.Wait()
}
