package drop

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/accession-ingest/accession/internal/crash"
)

// What is dropped is for the user of the service alone.
const (
	privateFile = 0o600
	privateDir  = 0o700
)

// root is a directory. Each change below it stands between the crash points
// drop/OPERATION/before and drop/OPERATION/after. Paths are relative to it.
type root struct{ *os.Root }

func (r root) mkdirAll(operation, path string) error {
	return crash.Around("drop/"+operation, func() error { return r.MkdirAll(path, privateDir) })
}

func (r root) rename(operation, from, to string) error {
	return crash.Around("drop/"+operation, func() error { return r.Rename(from, to) })
}

func (r root) remove(operation, path string) error {
	return crash.Around("drop/"+operation, func() error { return r.Remove(path) })
}

func (r root) removeAll(operation, path string) error {
	return crash.Around("drop/"+operation, func() error { return r.RemoveAll(path) })
}

// write writes a new file and puts it on disk.
func (r root) write(operation, path string, from io.Reader) (n int64, err error) {
	err = crash.Around("drop/"+operation, func() error {
		f, err := r.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateFile)
		if err != nil {
			return err
		}
		n, err = io.Copy(f, from)
		return errors.Join(err, f.Sync(), f.Close())
	})
	return n, err
}

// extend writes what follows the first at bytes of a file, which must be all that it has, and
// puts it on disk, also when from ends with an error.
func (r root) extend(operation, path string, at int64, from io.Reader, also io.Writer) (n int64, err error) {
	err = crash.Around("drop/"+operation, func() error {
		f, err := r.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil && info.Size() != at {
			err = errors.New("another process writes to the file")
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		n, err = io.Copy(io.MultiWriter(f, also), from)
		if wrong := f.Sync(); wrong != nil { // what is on disk is not known any more
			n, err = 0, errors.Join(err, wrong, f.Truncate(at))
		}
		return errors.Join(err, f.Close())
	})
	return n, err
}

// sync puts the entries of a directory on disk, "." for the root itself.
func (r root) sync(path string) error {
	f, err := r.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process has removed it since
	}
	if err != nil {
		return err
	}
	return crash.Around("drop/directory/sync", func() error { return errors.Join(f.Sync(), f.Close()) })
}

// list returns the names in a directory, none if it is not there.
func (r root) list(path string) ([]string, error) {
	f, err := r.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if errors.Is(err, fs.ErrNotExist) { // it is removed meanwhile
		err = nil
	}
	return names, errors.Join(err, f.Close())
}
