package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/accession-ingest/accession/internal/crash"
)

// dir makes the writes into a bucket that is a directory durable, which its
// driver does not. All names are keys, relative to the directory.
type dir struct {
	root *os.Root
	mu   sync.Mutex
	// Directories whose entry in their parent is known to be on disk.
	synced map[string]bool
}

// maxSynced bounds the memory of dir; beyond it directories are synced again.
const maxSynced = 10_000

// openDir opens a directory, which it creates durably when it is not there.
func openDir(p string) (*dir, error) {
	root, err := openRoot(p)
	if err != nil {
		return nil, err
	}
	return &dir{root: root, synced: make(map[string]bool)}, nil
}

// check tells whether the path still leads to the directory that is held open.
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

// openRoot opens the directory p, which it creates durably, parents included.
func openRoot(p string) (*os.Root, error) {
	for parent := p; ; parent = filepath.Dir(parent) {
		if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
			crash.Point("store/directory/before-make")
			if err := os.MkdirAll(p, 0o777); err != nil {
				return nil, err
			}
			crash.Point("store/directory/after-make")
			return syncDown(parent, p)
		}
	}
}

// syncDown syncs every directory above p, up to top, and opens p.
func syncDown(top, p string) (*os.Root, error) {
	for q := p; q != top; {
		q = filepath.Dir(q)
		if err := syncPath(q); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(p)
}

func syncPath(p string) error {
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	crash.Point("store/path/before-sync")
	err = errors.Join(f.Sync(), f.Close())
	crash.Point("store/path/after-sync")
	return err
}

// syncIn syncs the directory name, "." for the root itself.
func syncIn(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	crash.Point("store/directory/before-sync")
	err = errors.Join(f.Sync(), f.Close())
	crash.Point("store/directory/after-sync")
	return err
}

func (d *dir) close() error { return d.root.Close() }

func (d *dir) syncParent(key string) error { return syncIn(d.root, path.Dir(key)) }

// place moves the object tmp, whose bytes are on disk, to key. With absent set it
// fails with fs.ErrExist when key is taken, atomically also between processes. The
// new entry is synced, or noted in unsynced.
func (d *dir) place(tmp, key string, absent bool, unsynced *entries) error {
	sync := func() error { return d.syncParent(key) }
	if unsynced != nil {
		sync = func() error { unsynced.note(path.Dir(key)); return nil }
	}
	if err := d.mkdirs(path.Dir(key)); err != nil {
		return err
	}
	if !absent {
		crash.Point("store/put/before-rename")
		renamed := d.root.Rename(tmp, key)
		crash.Point("store/put/after-rename")
		return errors.Join(renamed, sync())
	}
	// A link fails when its name is taken; a rename would replace it.
	crash.Point("store/put/before-link")
	linked := d.root.Link(tmp, key)
	crash.Point("store/put/after-link")
	removed := d.root.Remove(tmp)
	crash.Point("store/put/after-unlink")
	if linked != nil && !errors.Is(linked, fs.ErrExist) {
		return errors.Join(linked, removed)
	}
	// Whoever made the entry may not have synced it yet.
	return errors.Join(linked, removed, sync())
}

// mkdirs creates name and its parents, and syncs each new entry.
func (d *dir) mkdirs(name string) error {
	if name == "." || d.known(name) {
		return nil
	}
	if err := d.mkdirs(path.Dir(name)); err != nil {
		return err
	}
	crash.Point("store/put/before-make-directory")
	if err := d.root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	crash.Point("store/put/after-make-directory")
	if err := d.syncParent(name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.synced) >= maxSynced {
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
