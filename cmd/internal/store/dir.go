package store

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

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

// put writes an object, whose key keyOf returns once it is measured. With absent set it fails
// with fs.ErrExist when the key is taken. It is on disk when it returns, or its entries are those
// that o.in is to sync.
func (d *dir) put(ctx context.Context, r io.Reader, o putOptions, keyOf func(Blob) string) (got Blob, err error) {
	in := o.in
	if in == nil {
		in = d.folders()
		defer in.close()
	}
	err = in.in(path.Clean(tmpPrefix), func(tmp folder) (err error) {
		name := rand.Text()
		if got, err = tmp.write(name, until{ctx, r}, o.want); err != nil {
			return err
		}
		got.Key = keyOf(got)
		return in.move(tmp, name, got.Key, o.absent)
	})
	if o.in == nil && (err == nil || errors.Is(err, fs.ErrExist)) {
		err = errors.Join(err, in.sync())
	}
	return got, err
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r until) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// open opens an object.
func (d *dir) open(key string) (*os.File, error) {
	f, err := os.Open(d.path(key))
	if err != nil {
		return nil, err
	}
	if _, err := isFile(f.Stat()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (d *dir) stat(key string) (fs.FileInfo, error) { return isFile(os.Stat(d.path(key))) }

// isFile returns fs.ErrNotExist for a directory: it is no object.
func isFile(info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	return info, err
}

func (d *dir) path(key string) string { return filepath.Join(d.root.Name(), filepath.FromSlash(key)) }

// forget makes every directory one that may be missing.
func (d *dir) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.synced)
}

// remember makes a directory one whose entry is known to be on disk.
func (d *dir) remember(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.synced) >= crash.Remembered(maxSynced) {
		clear(d.synced)
	}
	d.synced[name] = true
}

func (d *dir) known(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced[name]
}
