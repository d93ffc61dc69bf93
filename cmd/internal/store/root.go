package store

import (
	"errors"
	"os"

	"github.com/accession-ingest/accession/internal/crash"
)

// The modes of what this package makes: for the user of the service alone, since manifests
// hold signed URLs, and objects may not be meant for every user of the machine.
const (
	privateFile = 0o600
	privateDir  = 0o700
)

// root is a directory. Each change below it stands between the crash points
// store/OPERATION/before and store/OPERATION/after. Paths are relative to it.
type root struct{ *os.Root }

func (r root) mkdir(operation, path string) error {
	return crash.Around("store/"+operation, func() error { return r.Mkdir(path, privateDir) })
}

func (r root) mkdirAll(operation, path string) error {
	return crash.Around("store/"+operation, func() error { return r.MkdirAll(path, privateDir) })
}

// create creates a file that is not there yet.
func (r root) create(operation, path string) (f *os.File, err error) {
	err = crash.Around("store/"+operation, func() (err error) {
		f, err = r.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, privateFile)
		return err
	})
	return f, err
}

func (r root) rename(operation, from, to string) error {
	return crash.Around("store/"+operation, func() error { return r.Rename(from, to) })
}

// link fails with fs.ErrExist when its new name is taken; rename would replace it.
func (r root) link(operation, from, to string) error {
	return crash.Around("store/"+operation, func() error { return r.Link(from, to) })
}

func (r root) remove(operation, path string) error {
	return crash.Around("store/"+operation, func() error { return r.Remove(path) })
}

func (r root) removeAll(operation, path string) error {
	return crash.Around("store/"+operation, func() error { return r.RemoveAll(path) })
}

// syncDir puts the entries of a directory on disk, "." for the root itself.
func (r root) syncDir(path string) error {
	f, err := r.Open(path)
	if err != nil {
		return err
	}
	return syncFile("directory/sync", f)
}

// syncFile puts a file or directory on disk and closes it.
func syncFile(operation string, f *os.File) error {
	return crash.Around("store/"+operation, func() error { return errors.Join(f.Sync(), f.Close()) })
}
