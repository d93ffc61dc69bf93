package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/accession-ingest/accession/internal/crash"
)

// folder is a directory that is held open, so that what is done in it walks no path. Names in
// it have one part. Each change stands between the crash points store/OPERATION/before and
// store/OPERATION/after.
type folder struct{ *os.File }

func (f folder) fd() int { return int(f.Fd()) }

func (f folder) failed(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: doing, Path: path.Join(f.Name(), name), Err: err}
}

// uninterrupted calls do again while a signal interrupts it, as package os does.
func uninterrupted(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// folder opens a directory in it.
func (f folder) folder(name string) (is folder, err error) {
	is.File, err = f.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	return is, err
}

func (f folder) open(name string, flags int, mode uint32) (*os.File, error) {
	fd := -1
	err := uninterrupted(func() (err error) {
		fd, err = unix.Openat(f.fd(), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	if err != nil {
		return nil, f.failed("open", name, err)
	}
	return os.NewFile(uintptr(fd), path.Join(f.Name(), name)), nil
}

func (f folder) mkdir(operation, name string) error {
	return f.failed("mkdir", name, crash.Around("store/"+operation, func() error {
		return uninterrupted(func() error { return unix.Mkdirat(f.fd(), name, privateDir) })
	}))
}

// create creates a file that is not there yet.
func (f folder) create(operation, name string) (file *os.File, err error) {
	err = crash.Around("store/"+operation, func() (err error) {
		file, err = f.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, privateFile)
		return err
	})
	return file, err
}

func (f folder) rename(operation, name string, to folder, as string) error {
	return to.failed("rename", as, crash.Around("store/"+operation, func() error {
		return uninterrupted(func() error { return unix.Renameat(f.fd(), name, to.fd(), as) })
	}))
}

// link fails with fs.ErrExist when its new name is taken; rename would replace it.
func (f folder) link(operation, name string, to folder, as string) error {
	return to.failed("link", as, crash.Around("store/"+operation, func() error {
		return uninterrupted(func() error { return unix.Linkat(f.fd(), name, to.fd(), as, 0) })
	}))
}

func (f folder) remove(operation, name string) error {
	return f.failed("unlink", name, crash.Around("store/"+operation, func() error {
		return uninterrupted(func() error { return unix.Unlinkat(f.fd(), name, 0) })
	}))
}

// sync puts its entries on disk.
func (f folder) sync() error { return crash.Around("store/folder/sync", f.Sync) }

// write writes a new file, to the disk, and measures it. One that is not what is wanted, nil =
// anything, is removed.
func (f folder) write(name string, r io.Reader, want *Blob) (got Blob, err error) {
	file, err := f.create("put/create", name)
	if err != nil {
		return got, err
	}
	if err = crash.DiskFull(crash.StoreDisk); err == nil {
		got, err = measured(r, file)
	}
	if err == nil {
		err = got.check(want)
	}
	if err == nil {
		err = crash.Around("store/put/sync", file.Sync)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = unix.Unlinkat(f.fd(), name, 0)
	}
	return got, err
}

// lacks reports that there is nothing of that name in it.
func (f folder) lacks(name string) bool {
	var is unix.Stat_t
	err := uninterrupted(func() error { return unix.Fstatat(f.fd(), name, &is, unix.AT_SYMLINK_NOFOLLOW) })
	return errors.Is(err, fs.ErrNotExist)
}

// walk opens the directory at a path below it.
func (f folder) walk(name string) (is folder, err error) {
	is = f
	for part := range strings.SplitSeq(name, "/") {
		in := is
		is, err = in.folder(part)
		if in != f {
			_ = in.Close()
		}
		if err != nil {
			return folder{}, err
		}
	}
	return is, nil
}

// folders are the directories of a store, or below another directory, in which one operation
// works. Each of them is made by one of its goroutines, held open while they are few, and put on
// disk once for all entries that it has got.
type folders struct {
	d    *dir // without a root: they are below that which is held as "."
	mu   sync.Mutex
	held map[string]folder
	// Those that were there or made; true = some of its entries may not be on disk.
	unsynced map[string]bool
}

// maxHeld is how many directories an operation holds open.
const maxHeld = 32

func (d *dir) folders() *folders {
	return &folders{d: d, held: map[string]folder{}, unsynced: map[string]bool{}}
}

// foldersIn returns those below a directory, which is closed with them.
func foldersIn(base folder) *folders {
	return &folders{d: &dir{synced: map[string]bool{}}, held: map[string]folder{".": base}, unsynced: map[string]bool{}}
}

// folders returns the directories for one operation, nil = the bucket has none.
func (s *Store) folders() *folders {
	if s.dir == nil {
		return nil
	}
	return s.dir.folders()
}

// in calls do with a directory, which it makes if need be.
func (f *folders) in(name string, do func(folder) error) error {
	f.mu.Lock()
	is, held, err := f.find(name)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if !held {
		defer is.Close()
	}
	return do(is)
}

// find returns a directory, which it makes if need be; the caller closes it unless it is held.
func (f *folders) find(name string) (is folder, held bool, err error) {
	if is, held = f.held[name]; held {
		return is, true, nil
	}
	if is, err = f.reach(name); err != nil {
		return is, false, err
	}
	if _, passed := f.unsynced[name]; !passed {
		f.unsynced[name] = false
	}
	if held = len(f.held) < maxHeld; held {
		f.held[name] = is
	}
	return is, held, nil
}

func (f *folders) reach(name string) (is folder, err error) {
	if _, passed := f.unsynced[name]; name == "." || passed || f.d.known(name) {
		is, err = f.open(name)
		if err == nil || name == "." || !errors.Is(err, fs.ErrNotExist) {
			return is, err
		}
		f.d.forget() // it has been removed
	}
	parent, held, err := f.find(path.Dir(name))
	if err != nil {
		return is, err
	}
	if !held {
		defer parent.Close()
	}
	if err := parent.mkdir("put/make-directory", path.Base(name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return is, err
	}
	f.unsynced[path.Dir(name)] = true // also if another process has made it, and not synced it yet
	return parent.folder(path.Base(name))
}

// open opens one that is there, and is not held.
func (f *folders) open(name string) (is folder, err error) {
	if f.d.root.Root == nil {
		return f.held["."].walk(name)
	}
	is.File, err = f.d.root.Open(name)
	return is, err
}

// move moves a file, whose bytes are on disk, to a key. With absent set it fails with
// fs.ErrExist when the key is taken, atomically also between processes.
func (f *folders) move(from folder, name, key string, absent bool) error {
	parent := path.Dir(key)
	return f.in(parent, func(to folder) error {
		err := enter(from, name, to, path.Base(key), absent)
		if absent {
			err = errors.Join(err, from.remove("put/unlink", name))
		}
		if err == nil || errors.Is(err, fs.ErrExist) { // the process that made it may not have synced it yet
			f.enters(parent)
		}
		return err
	})
}

// enters says that a directory has got an entry.
func (f *folders) enters(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsynced[name] = true
}

// enter makes the entry of a key.
func enter(from folder, name string, to folder, as string, absent bool) error {
	if absent {
		return from.link("put/link", name, to, as)
	}
	return from.rename("put/rename", name, to, as)
}

// sync puts the entries that were made on disk.
func (f *folders) sync() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(parallelFiles)
	for name, unsynced := range f.unsynced {
		if is, held := f.held[name]; unsynced && held {
			g.Go(is.sync)
		} else if unsynced {
			g.Go(func() error {
				is, err := f.open(name)
				if err != nil {
					return err
				}
				return errors.Join(is.sync(), is.Close())
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for name := range f.unsynced {
		f.unsynced[name] = false
		f.d.remember(name)
	}
	return nil
}

func (f *folders) close() {
	if f == nil {
		return
	}
	for _, is := range f.held {
		_ = is.Close()
	}
}
